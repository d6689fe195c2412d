"""Repositories of dnf and zypper, and keys of apt, in directories of the test's own."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry
from saltlite.providers.pkg import dnf, zypper

ROCKY = """\
# kept
[baseos]
name=Rocky BaseOS
mirrorlist=https://m/x
enabled=1

[dbg]
name=D
baseurl=https://d/x
enabled=0
"""


class NoCommands(Host):
    """Reads files, and finds every program; what is run says nothing."""

    def run(self, command, **how):
        return Completed(pid=1, exit_code=0, stdout="", stderr="")

    def which(self, name):
        return f"/usr/bin/{name}"


def make(os_family):
    ctx = MinionContext(
        config=MinionConfig(), host=NoCommands(), grains={"os_family": os_family}, pillar={}
    )
    ctx.functions = Registry(ctx)

    def call(function, *args, **kwargs):
        return ctx.functions.call(f"pkg.{function}", *args, **kwargs)

    return call


@pytest.fixture
def yum(tmp_path, monkeypatch):
    monkeypatch.setattr(dnf, "REPOSITORIES", str(tmp_path))
    (tmp_path / "rocky.repo").write_text(ROCKY)
    return make("RedHat")


def test_dnf_shows_its_repositories(yum, tmp_path):
    repos = yum("list_repos")
    assert sorted(repos) == ["baseos", "dbg"]
    assert repos["dbg"]["file"] == f"{tmp_path}/rocky.repo"
    assert yum("get_repo", "dbg") == {"name": "D", "baseurl": "https://d/x", "enabled": "0"}
    assert yum("get_repo", "nosuch") == {}


def test_dnf_makes_changes_and_removes_one(yum, tmp_path):
    file = tmp_path / "new.repo"
    made = yum("mod_repo", "new", name="New", baseurl="https://n/x", gpgcheck=False)
    assert made == {
        str(file): {"new": {"name": "New", "baseurl": "https://n/x", "gpgcheck": False}}
    }
    assert file.read_text() == "[new]\nname=New\nbaseurl=https://n/x\ngpgcheck=0\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    yum("mod_repo", "new", mirrorlist="https://n/m", comments=["two words"])
    assert file.read_text() == (
        "[new]\nname=New\ngpgcheck=0\nmirrorlist=https://n/m\n# two words\n"
    )
    assert yum("del_repo", "new") == f"File {file} containing repo new has been removed"
    assert not file.exists()


def test_dnf_leaves_the_rest_of_a_file(yum, tmp_path):
    file = tmp_path / "rocky.repo"
    yum("mod_repo", "dbg", enabled=True)
    assert file.read_text() == ROCKY.replace("enabled=0", "enabled=1")
    yum("mod_repo", "baseos", disabled=True)
    assert yum("get_repo", "baseos")["enabled"] == "0"
    assert yum("del_repo", "dbg") == f"Repo dbg has been removed from {file}"
    assert file.read_text().startswith("# kept\n[baseos]\n")
    assert "dbg" not in file.read_text()
    assert yum("del_repo", "dbg").startswith("Error: the dbg repo does not exist in ['")


@pytest.mark.parametrize(
    ("repo", "kwargs", "text"),
    [
        ("new", {"baseurl": "x"}, "needs to be created, but a name was not given"),
        ("new", {"name": "x"}, "none of the following required attributes were passed"),
        ("dbg", {"baseurl": ""}, "Cannot delete baseurl without specifying mirrorlist"),
    ],
)
def test_dnf_wants_an_address(yum, repo, kwargs, text):
    with pytest.raises(UsageError, match=text):
        yum("mod_repo", repo, **kwargs)


def test_a_value_is_no_section(yum, tmp_path):
    yum("mod_repo", "new", name="N\n[evil]", baseurl=["https://a", "https://b"])
    assert sorted(yum("list_repos")) == ["baseos", "dbg", "new"]
    assert yum("get_repo", "new")["baseurl"] == "https://a\nhttps://b"


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


def test_comments_of_a_repository_are_told_and_not_written_twice(yum, tmp_path):
    yum("mod_repo", "dbg", comments=["why it is", "so"])
    yum("mod_repo", "dbg", comments="why it is")
    text = (tmp_path / "rocky.repo").read_text()
    assert text.count("why it is") == 1
    assert yum("get_repo", "dbg")["comments"] == "why it is\nso"
    assert "comments" not in yum("get_repo", "baseos")
