"""Repositories and locks of zypper, in directories of the test's own."""

from __future__ import annotations

import pytest
from no_commands import make

from saltlite.errors import FunctionError
from saltlite.providers.pkg import zypper


@pytest.fixture
def zypp(tmp_path, monkeypatch):
    monkeypatch.setattr(zypper, "REPOSITORIES", str(tmp_path))
    monkeypatch.setattr(zypper, "LOCKS", str(tmp_path / "locks"))
    (tmp_path / "main.repo").write_text(
        "[main]\nname=Main\nenabled=1\nautorefresh=0\nbaseurl=https://m/x\npriority=99\n"
    )
    return make("Suse")


def test_zypper_shows_and_changes_its_repositories(zypp, tmp_path):
    assert zypp("get_repo", "main") == {
        "name": "Main", "enabled": True, "autorefresh": False, "baseurl": "https://m/x",
        "priority": "99", "alias": "main",
    }  # fmt: skip
    assert zypp("mod_repo", "main", enabled=False)["enabled"] is False
    assert "enabled=0\n" in (tmp_path / "main.repo").read_text()
    same = zypp("mod_repo", "main", enabled=False)
    assert same["comment"] == "Specified arguments did not result in modification of repo"
    assert zypp("mod_repo", "new", url="https://n/x", humanname="N")["baseurl"] == "https://n/x"
    with pytest.raises(FunctionError, match="neither 'baseurl' nor 'mirrorlist' was specified"):
        zypp("mod_repo", "other")
    assert zypp("del_repo", "main") == {"main": True, "message": ""}
    with pytest.raises(FunctionError, match="Repository 'nosuch' not found"):
        zypp("del_repo", "nosuch")


def test_zypper_shows_its_locks(zypp, tmp_path):
    (tmp_path / "locks").write_text("\ntype: package\nsolvable_name: vim\n")
    assert zypp("list_locks") == {"vim": {"type": "package"}}
    assert zypp("list_holds") == ["vim"]
    assert zypp("hold", "vim")["vim"]["comment"] == "Package vim is already set to be held."
    assert zypp("unhold", "bash")["bash"]["comment"] == "Package bash was already unheld."
