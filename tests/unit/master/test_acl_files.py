"""Access lists as the file system keeps them."""

import os
import struct
from pathlib import Path

import pytest

from saltlite.master.acl_files import PASS, access_list, let_in, user_ids


def test_the_attribute_has_its_entries_in_order():
    data = access_list(0o700, [33, 65534], PASS)
    assert struct.unpack_from("<I", data) == (2,)
    nobody = 0xFFFFFFFF
    assert list(struct.iter_unpack("<HHI", data[4:])) == [
        (0x01, 7, nobody),
        (0x02, 1, 33),
        (0x02, 1, 65534),
        (0x04, 0, nobody),
        (0x10, 1, nobody),
        (0x20, 0, nobody),
    ]


def test_who_has_an_account_and_is_not_us():
    assert user_ids(["no such user", ".*", "root"]) == ([] if os.geteuid() == 0 else [0])


def test_a_list_comes_and_goes(tmp_path):
    tmp_path.chmod(0o700)
    let_in(tmp_path, [], PASS)
    assert os.stat(tmp_path).st_mode & 0o777 == 0o700
    let_in(tmp_path, [12345], PASS)
    if "system.posix_acl_access" not in os.listxattr(tmp_path):
        pytest.skip("this file system keeps no access lists")
    assert os.stat(tmp_path).st_mode & 0o777 == 0o710
    let_in(tmp_path, [], PASS)
    assert os.stat(tmp_path).st_mode & 0o777 == 0o700


def test_a_file_system_without_lists_is_said(caplog):
    let_in(Path("/proc/self"), [12345], PASS)
    assert "cannot reach /proc/self" in caplog.text
