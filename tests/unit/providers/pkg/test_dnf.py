"""Repositories of dnf, in directories of the test's own."""

from __future__ import annotations

import stat

import pytest
from no_commands import make

from saltlite.errors import UsageError
from saltlite.providers.pkg import dnf

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


def test_comments_of_a_repository_are_told_and_not_written_twice(yum, tmp_path):
    yum("mod_repo", "dbg", comments=["why it is", "so"])
    yum("mod_repo", "dbg", comments="why it is")
    text = (tmp_path / "rocky.repo").read_text()
    assert text.count("why it is") == 1
    assert yum("get_repo", "dbg")["comments"] == "why it is\nso"
    assert "comments" not in yum("get_repo", "baseos")
