"""What files are, whose, and where links lead."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path

import pytest

from saltlite.errors import FunctionError, UsageError
from saltlite.modules.file import content, looking, making, moving, ownership, sums

USER = pwd.getpwuid(os.geteuid()).pw_name
GROUP = grp.getgrgid(os.getegid()).gr_name


def test_what_is_there(tmp_path):
    regular, link, broken = (str(tmp_path / name) for name in ("a", "link", "broken"))
    Path(regular).write_text("abc")
    os.symlink("a", link)
    os.symlink("none", broken)
    assert looking.file_exists(link)
    assert not looking.file_exists(broken)
    assert looking.directory_exists(str(tmp_path))
    assert looking.path_exists_glob(f"{tmp_path}/[a-c]")
    assert looking.is_link(broken)
    assert looking.is_hardlink(regular) is False
    assert looking.is_hardlink(str(tmp_path / "none")) == {}
    assert looking.is_chrdev("/dev/null")
    assert not looking.is_blkdev("/dev/null")
    assert looking.get_devmm("/dev/null") == (1, 3)
    assert looking.get_devmm(regular) == (0, 0)
    assert looking.readdir(str(tmp_path))[:2] == [".", ".."]
    assert looking.readlink(link) == "a"
    assert looking.readlink(link, canonicalize=True) == os.path.realpath(regular)
    assert looking.access(regular, "f")
    assert not looking.access(regular, "x")
    assert looking.access(regular, 0)
    assert looking.statvfs(regular)["f_namemax"] == 255


def test_status(tmp_path):
    path = tmp_path / "a"
    path.write_text("abc")
    path.chmod(0o4751)
    link = tmp_path / "link"
    link.symlink_to(path)
    found = looking.stats(str(link), "md5")
    assert found["sum"] == "900150983cd24fb0d6963f7d28e17f72"
    assert (found["user"], found["group"], found["uid"]) == (USER, GROUP, os.geteuid())
    assert (found["mode"], found["size"], found["type"]) == ("4751", 3, "file")
    assert found["target"] == str(path)
    assert looking.stats(str(link), follow_symlinks=False)["type"] == "link"
    assert ownership.get_mode(str(link), follow_symlinks=False) == "0777"
    assert looking.lstat(str(path))["st_size"] == 3
    assert looking.lstat(str(tmp_path / "none")) == {}
    (tmp_path / "gone").symlink_to("none")
    assert looking.stats(str(tmp_path / "gone"))["type"] == "link"
    for function in (looking.stats, ownership.get_mode, ownership.get_user, ownership.get_gid):
        with pytest.raises(FunctionError, match=r"^Path not found: "):
            function(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (lambda: looking.access("a", "f"), "Path to link must be absolute."),
        (lambda: looking.access("/a", "q"), "Invalid mode specified."),
        (lambda: looking.lstat("a"), "Path to file must be absolute."),
        (lambda: looking.readdir("a"), "Dir path must be absolute."),
        (lambda: looking.readdir("/no/such"), "A valid directory was not specified: /no/such"),
        (lambda: looking.readlink("a"), "Path to link must be absolute: a"),
        (lambda: looking.readlink("/dev/null"), "A valid link was not specified: /dev/null"),
        (lambda: making.symlink("a", "b"), "Link path must be absolute: b"),
        (lambda: moving.move("a", "/b"), "Source path must be absolute."),
        (lambda: moving.move("/a", "b"), "Destination path must be absolute."),
        (lambda: moving.remove("a"), "File path must be absolute: a"),
        (lambda: moving.rmdir("/no/such"), "A valid directory was not specified: /no/such"),
        (lambda: content.touch("/no/such", atime="x"), "atime and mtime must be integers"),
        (lambda: making.makedirs("a/b"), "Recursive creation for path '' would result in an"),
        (lambda: sums.check_hash("/a", 5), "hash must be a string"),
    ],
)
def test_wrong_use_is_refused(function, complaint):
    with pytest.raises(UsageError) as caught:
        function()
    assert str(caught.value).startswith(complaint)


def test_each_file_counts_once(tmp_path):
    (tmp_path / "a").write_text("12345")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").symlink_to("none")
    os.link(tmp_path / "a", tmp_path / "h")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "e").write_text("123")
    assert looking.diskusage(str(tmp_path)) == 8
    assert looking.diskusage(str(tmp_path / "a")) == 5


def test_open_files_of_this_process(tmp_path):
    with (tmp_path / "held").open("w") as held:
        path = os.path.realpath(held.name)
        assert os.getpid() in looking.open_files()[path]
        assert path in looking.open_files(by_pid=True)[os.getpid()]
