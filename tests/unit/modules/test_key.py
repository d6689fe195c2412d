"""``key``: what recorded commands do not show.

Their answers are compared with real Salt's in tests/cases/data/differential/render.yaml.
"""

from __future__ import annotations

import pytest

from saltlite.errors import FunctionError


def test_fingerprints(call, tmp_path):
    (tmp_path / "pki").mkdir()
    pem = "-----BEGIN PUBLIC KEY-----\r\nAAAA\nBBBB\n-----END PUBLIC KEY-----\n\n"
    (tmp_path / "pki" / "minion.pub").write_bytes(pem.encode())
    (tmp_path / "pki" / "minion_master.pub").write_text(pem)
    found = call("key.finger")
    assert found == call("key.finger_master")
    assert len(found.split(":")) == 32
    assert len(call("key.finger", "md5").split(":")) == 16
    with pytest.raises(FunctionError):
        call("key.finger", "nosuch")


def test_the_fingerprint_is_the_one_salt_key_shows(call, tmp_path):
    from saltlite.crypto.keys import pem_fingerprint

    pem = "-----BEGIN PUBLIC KEY-----\nAAAA\nBBBB\n-----END PUBLIC KEY-----"
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "minion.pub").write_text(pem)
    assert call("key.finger") == pem_fingerprint(pem, "sha256")
