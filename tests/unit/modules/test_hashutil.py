"""``hashutil``: what recorded commands do not show.

Their answers are compared with real Salt's in tests/cases/data/differential/render.yaml.
"""

from __future__ import annotations


def test_a_decoded_file_keeps_its_mode(call, tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o600)
    assert call("hashutil.base64_decodefile", "bmV3", str(path)) is True
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert call("hashutil.base64_encodefile", str(path)) == "bmV3\n"
