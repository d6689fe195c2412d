"""Modes and owners: read, changed and refused."""

from __future__ import annotations

import grp
import os
import pwd

import pytest

from saltlite.errors import FunctionError
from saltlite.modules.file import ownership
from saltlite.providers.file import permissions

USER = pwd.getpwuid(os.geteuid()).pw_name
GROUP = grp.getgrgid(os.getegid()).gr_name
ROOT = os.geteuid() == 0
by_root = pytest.mark.skipif(not ROOT, reason="only root gives files away")


def test_names_and_ids():
    assert ownership.uid_to_user(0) == "root"
    assert ownership.uid_to_user(987654) == 987654
    assert ownership.user_to_uid("root") == 0
    assert ownership.user_to_uid("no such user") == ""
    assert ownership.user_to_uid(None) == os.geteuid()
    assert ownership.gid_to_group("0") == "root"
    assert ownership.gid_to_group("x") == ""
    assert ownership.group_to_gid("no such group") == ""


@pytest.mark.parametrize(
    ("given", "shown"),
    [("644", "0644"), (644, "0644"), ("0o644", "0644"), ("'0750'", "0750"), ("", "0000")],
)
def test_modes_are_written_as_salt_writes_them(given, shown):
    assert permissions.normalize_mode(given) == shown


def test_modes_are_set(tmp_path):
    path = tmp_path / "a"
    path.write_text("")
    assert ownership.set_mode(str(path), "4711") == "4711"
    assert ownership.set_mode(str(path), 600) == "0600"
    assert ownership.set_mode(str(path), "999") == "Invalid Mode 999"
    with pytest.raises(FunctionError, match=r"none: File not found"):
        ownership.set_mode(str(tmp_path / "none"), "600")


@by_root
def test_files_are_given_away(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_text("")
    link.symlink_to("a")
    assert ownership.chown(str(link), "daemon", "") is None
    assert ownership.lchown(str(link), 1, 1) is None
    assert ownership.chgrp(str(path), "daemon") is None
    assert (path.stat().st_uid, path.stat().st_gid) == (1, 1)
    assert (link.lstat().st_uid, link.lstat().st_gid) == (1, 1)


def test_nobody_gets_nothing(tmp_path):
    path = tmp_path / "a"
    path.write_text("")
    both = "User does not exist\nGroup does not exist\n"
    assert ownership.chown(str(path), "no such user", "no such group") == both
    assert ownership.chown(str(tmp_path / "none"), USER, GROUP) == "File not found"
    with pytest.raises(FunctionError, match=r"^Path not found"):
        ownership.chgrp(str(tmp_path / "none"), GROUP)
