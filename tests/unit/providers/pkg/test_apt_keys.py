"""Keys of apt, in directories of the test's own."""

from __future__ import annotations

import os
import shutil
import stat

import pytest
from no_commands import make

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry

KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"


@pytest.mark.skipif(not (shutil.which("gpg") and os.path.exists(KEY)), reason="no gpg, or no key")
def test_keys_of_files_are_shown_for_real(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GNUPGHOME", raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "keys").mkdir()
    shutil.copy(KEY, tmp_path / "keys/debian.gpg")
    ctx = MinionContext(
        config=MinionConfig(), host=Host(), grains={"os_family": "Debian"}, pillar={}
    )
    keys = Registry(ctx).call("pkg.get_repo_keys", aptkey=False, keydir=str(tmp_path / "keys"))
    assert keys
    for keyid, key in keys.items():
        assert key["keyid"] == keyid
        assert key["fingerprint"].endswith(keyid)
    assert os.listdir(tmp_path / "home") == []


def test_a_key_becomes_a_file(tmp_path):
    apt = make("Debian")
    keys = tmp_path / "keys"
    (tmp_path / "x.gpg").write_bytes(b"key")
    given = {"aptkey": False, "keydir": str(keys)}
    assert apt("add_repo_key", text="armoured", keyfile="t.asc", **given) is True
    assert apt("add_repo_key", str(tmp_path / "x.gpg"), **given) is True
    assert sorted(os.listdir(keys)) == ["t.asc", "x.gpg"]
    assert stat.S_IMODE((keys / "x.gpg").stat().st_mode) == 0o644
    assert apt("add_repo_key", text="x", keyfile="../out", **given) is False
    assert not (tmp_path / "out").exists()
