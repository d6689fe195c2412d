"""Files of repositories are changed in place."""

from __future__ import annotations

from saltlite.providers.pkg import ini_repos

REPO = "# top\n[a]\nname=A\ngpgkey=one\n  two\nenabled=1\n\n[b]\nenabled=0\n"


def test_repo_files_are_changed_in_place():
    changed = ini_repos.change(REPO, "a", {"gpgkey": "x", "enabled": "0", "priority": "9"})
    assert changed == "# top\n[a]\nname=A\ngpgkey=x\nenabled=0\npriority=9\n\n[b]\nenabled=0\n"
    assert ini_repos.change(REPO, "b", {"enabled": None}) == REPO.replace("enabled=0\n", "")
    assert ini_repos.parse(ini_repos.change(REPO, "c", {"name": "C"}))["c"] == {"name": "C"}
    assert ini_repos.without(REPO, "a") == "# top\n[b]\nenabled=0\n"
