"""What files are, whose, and where links lead; making, moving and removing them."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

import pytest
import yaml
from repository import DATA

from saltlite.config.minion import MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.host import Completed, Host
from saltlite.modules.file import content, labels, looking, making, moving, names, ownership, sums
from saltlite.providers.file import attributes, hashes, owners

CASES = DATA / "file"
USER = pwd.getpwuid(os.geteuid()).pw_name
GROUP = grp.getgrgid(os.getegid()).gr_name
ROOT = os.geteuid() == 0
by_root = pytest.mark.skipif(not ROOT, reason="only root gives files away")


class Recorded(Host):
    """A host that keeps commands and answers all alike."""

    def __init__(self, answer="", exit_code=0):
        self.ran, self.answer, self.exit_code = [], answer, exit_code

    def run(self, command, **options):
        self.ran.append(command)
        return Completed(7, self.exit_code, self.answer, "")

    def which(self, name):
        return f"/bin/{name}"


def make(host):
    return MinionContext(config=MinionConfig(), host=host, grains={}, pillar={})


def test_paths_are_cut_and_joined():
    assert names.basename("/a/b") == "b"
    assert names.dirname("/a/b/") == "/a/b"
    assert names.join("/", "usr", "x") == "/usr/x"
    assert names.normpath("a/b/c/..") == "a/b"
    assert names.pardir() == ".."


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
    assert owners.normalize_mode(given) == shown


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


def test_directories_are_made(tmp_path):
    path = tmp_path / "a" / "b"
    assert making.mkdir(str(path), mode="0750")
    assert making.mkdir(str(path), mode="0700")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert making.makedirs(f"{tmp_path}/x/y", mode="0711") is None
    assert not (tmp_path / "x" / "y").exists()
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o711
    assert making.makedirs(f"{tmp_path}/x/y") == f"Directory '{tmp_path}/x' already exists"
    (tmp_path / "f").write_text("")
    there = f"The path '{tmp_path}/f' already exists and is not a directory"
    assert making.makedirs(f"{tmp_path}/f/") == there
    assert making.makedirs_perms(f"{tmp_path}/p/q") is None
    with pytest.raises(FileExistsError):
        making.makedirs_perms(f"{tmp_path}/p/q")


def test_empty_directories_are_removed(tmp_path):
    root = tmp_path / "r"
    (root / "a" / "b").mkdir(parents=True)
    (root / "c").mkdir()
    (root / "c" / "f").write_text("")
    assert moving.rmdir(str(root)) is False
    done = moving.rmdir(str(root), recurse=True, verbose=True)
    assert sorted(done["deleted"]) == [str(root / "a"), str(root / "a" / "b")]
    assert [folder for folder, _ in done["errors"]] == [str(root / "c"), str(root)]
    assert done["result"] is False
    (root / "new").mkdir()
    assert moving.rmdir(str(root / "new"), older_than=1) is True
    assert (root / "new").exists()


def test_files_are_removed_but_never_what_a_link_points_to(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x").write_text("")
    link = tmp_path / "link"
    link.symlink_to("d")
    with pytest.raises(FunctionError, match=r"Not a directory"):
        moving.remove(f"{link}/")
    assert moving.remove(str(link))
    assert (tmp_path / "d" / "x").exists()
    assert moving.remove(str(tmp_path / "d"))
    assert moving.remove(str(tmp_path / "d")) is False


def test_the_root_is_not_removed(monkeypatch):
    monkeypatch.setattr(moving.place, "remove_tree", lambda path: pytest.fail(f"removes {path}"))
    with pytest.raises(FunctionError, match=r"Could not remove '/'"):
        moving.remove("/")
    with pytest.raises(FunctionError, match=r"Could not remove '/tmp/..'"):
        moving.remove("/tmp/..")


def test_files_are_moved_and_copied(tmp_path):
    a, b, c = (str(tmp_path / name) for name in "abc")
    Path(a).write_text("x")
    os.chmod(a, 0o4711)
    assert moving.copy(a, b)
    assert stat.S_IMODE(os.stat(b).st_mode) == 0o4711
    assert moving.move(b, c) == {"result": True, "comment": f"'{b}' moved to '{c}'"}
    assert moving.rename(c, b)
    with pytest.raises(FunctionError, match=rf"^Could not rename '{c}' to '{b}'$"):
        moving.rename(c, b)
    with pytest.raises(FunctionError, match=rf"^Could not copy '{a}' to '{a}'$"):
        moving.copy(a, a)
    assert Path(a).read_text() == "x"
    with pytest.raises(UsageError, match=r"without recurse flag"):
        moving.copy(str(tmp_path), str(tmp_path / "d"))


def test_directories_are_copied_over_others(tmp_path):
    for name, text in (("a/x", "1"), ("a/s/y", "2"), ("b/x", "old"), ("b/z", "3")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert moving.copy(str(tmp_path / "a"), str(tmp_path / "b"), recurse=True)
    assert (tmp_path / "b" / "x").read_text() == "1"
    assert (tmp_path / "b" / "z").exists()
    assert moving.copy(str(tmp_path / "a"), str(tmp_path / "b"), recurse=True, remove_existing=True)
    assert not (tmp_path / "b" / "z").exists()


def test_links_are_made(tmp_path):
    a, link = str(tmp_path / "a"), str(tmp_path / "link")
    Path(a).write_text("")
    assert making.symlink(a, link)
    assert making.symlink(a, link)
    with pytest.raises(FunctionError, match=rf"^Found existing symlink: {link}$"):
        making.symlink("other", link)
    assert making.symlink("other", link, force=True)
    assert os.readlink(link) == "other"
    with pytest.raises(FunctionError, match=rf"^Existing path is not a symlink: {a}$"):
        making.symlink("other", a)
    assert making.symlink("other", a, atomic=True)
    assert sorted(os.listdir(tmp_path)) == ["a", "link"]
    with pytest.raises(FunctionError, match=r"^Could not create"):
        making.symlink("x", str(tmp_path / "no" / "such"))
    Path(tmp_path / "f").write_text("")
    assert making.link(str(tmp_path / "f"), str(tmp_path / "h"))
    assert looking.is_hardlink(str(tmp_path / "h"))


def test_pipes_are_made(tmp_path):
    ctx, path = make(Host()), str(tmp_path / "p")
    made = making.mknod(ctx, path, "p", mode="0640")
    created = {"new": f"Fifo pipe {path} created."}
    assert made == {"name": path, "changes": created, "comment": "", "result": True}
    assert looking.is_fifo(path)
    assert ownership.get_mode(path) == "0640"
    again = making.mknod_fifo(ctx, path)
    assert again["result"] is False
    assert again["comment"] == f"File {path} exists and cannot be overwritten"
    with pytest.raises(UsageError, match=r"^Node type unavailable: 'q'"):
        making.mknod(ctx, path, "q")


def test_times_pieces_and_ends(tmp_path):
    path = str(tmp_path / "a")
    paths = PathOptions(cachedir=str(tmp_path / "cache"))
    ctx = MinionContext(config=MinionConfig(paths=paths), host=Host(), grains={}, pillar={})
    assert content.touch(path, atime=100, mtime="200")
    assert (os.stat(path).st_atime, os.stat(path).st_mtime) == (100, 200)
    with pytest.raises(FunctionError, match=r"^No such file or directory$"):
        content.touch(str(tmp_path / "no" / "such"))
    assert content.seek_write(ctx, path, "hello", 2) == 5
    assert content.seek_read(path, "3", 1) == b"\0he"
    assert content.truncate(ctx, path, "4") is None
    assert content.read(path) == "\0\0he"
    assert content.read(path, binary=True) == b"\0\0he"


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


@pytest.mark.parametrize("case", yaml.safe_load((CASES / "hashes.yaml").read_text()))
def test_hashes_are_found_in_lists(case, tmp_path):
    path = tmp_path / "list"
    path.write_text(case["list"])
    for asked in case["asked"]:
        found = sums.extract_hash(str(path), *asked["for"])
        assert (found or {}).get("hsum") == asked["found"], asked


def test_hashes_of_files(tmp_path):
    path = str(tmp_path / "e")
    Path(path).write_text("")
    assert sums.get_hash(path, "md5") == "d41d8cd98f00b204e9800998ecf8427e"
    assert sums.get_sum(str(tmp_path)) == "File not found"
    assert sums.check_hash(path, "d41d8cd98f00b204e9800998ecf8427e")
    assert sums.check_hash(path, "md5:d41d8cd98f00b204e9800998ecf8427e")
    assert not sums.check_hash(path, "md5=d41d")
    with pytest.raises(ValueError, match=r"^Invalid hash type: xx$"):
        sums.get_hash(path, "xx")
    with pytest.raises(UsageError, match=r"could not be matched to a supported hash type"):
        sums.check_hash(path, "aa")


@pytest.mark.parametrize("text", ["zzz", "md5=25cc", "md5:" + "a" * 32, ""])
def test_source_hashes_that_are_none(text):
    with pytest.raises(FunctionError, match=r"format is invalid"):
        hashes.from_expression(text)


def test_attributes_are_read_and_changed():
    shown = "----A---------e------- /x/a b\n--------------e------- /x/c\nlsattr: no /x/d\n"
    assert attributes.parse(shown) == {"/x/a b": ["A", "e"], "/x/c": ["e"]}
    assert attributes.differing(["A", "e"], "d") == ("d", "A")
    assert attributes.differing(["e"], "") == ("", "")
    host = Recorded()
    assert labels.chattr(make(host), "/a", "/b", operator="add", attributes="ai", version=5)
    assert host.ran == [["chattr", "+ai", "-v", "5", "/a", "/b"]]
    assert not attributes.change(Recorded(exit_code=1), ["/a"], "remove", "i")
    with pytest.raises(UsageError, match=r"Need an operator"):
        labels.chattr(make(host), "/a", attributes="a")
    with pytest.raises(UsageError, match=r"Need attributes"):
        labels.chattr(make(host), "/a", operator="add")


def test_contexts_of_selinux():
    host = Recorded("system_u:object_r:etc_t:s0 /etc/hosts\n")
    assert labels.get_selinux_context(make(host), "/etc/hosts") == "system_u:object_r:etc_t:s0"
    none = Recorded("? /etc/hosts\n")
    text = "No selinux context information is available for /etc/hosts"
    assert labels.get_selinux_context(make(none), "/etc/hosts") == text
    assert labels.set_selinux_context(make(host), "/etc/hosts") is False
    labels.set_selinux_context(make(host), "/etc/hosts", type="etc_t")
    assert ["chcon", "-t", "etc_t", "--", "/etc/hosts"] in host.ran
