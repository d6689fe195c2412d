"""``data``: what recorded commands do not show.

Their answers are compared with real Salt's in tests/cases/data/differential/render.yaml.
"""

from __future__ import annotations


def test_what_is_stored_is_private_and_survives_rubbish(call, tmp_path):
    assert call("data.update", "token", "s3cr3t")
    stored = tmp_path / "cache" / "datastore"
    assert stored.stat().st_mode & 0o777 == 0o600
    assert call("data.get", "token") == "s3cr3t"
    stored.write_bytes(b"\x81\xa1")
    assert call("data.load") == {}
