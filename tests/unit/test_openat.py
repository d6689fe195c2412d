"""Paths that others may have a hand in: which links are followed, and what is held."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from saltlite import disk, openat
from saltlite.errors import FunctionError, UntrustedPath
from saltlite.openat import reach, reach_folder, remove_tree

USER, OTHER = 4242, 4343

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of other users")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory of a user, beside one of root."""
    (tmp_path / "outside").mkdir(mode=0o755)
    (tmp_path / "outside" / "file").write_text("root's")
    (tmp_path / "home").mkdir(mode=0o755)
    if os.geteuid() == 0:
        os.chown(tmp_path / "home", USER, USER)
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) == before


def link(path: Path, target: Path | str, uid: int = USER) -> Path:
    path.symlink_to(target)
    os.lchown(path, uid, uid)
    return path


def place_of(path: Path | str, *, follow: bool = False, user: int | None = None) -> str:
    """The path that a name in the open directory really has."""
    with reach(str(path), follow=follow, user=user) as spot:
        return os.path.join(os.readlink(spot.folder), spot.name)


def test_a_path_without_links_is_itself(home):
    assert place_of(home / "x") == str(home / "x")
    assert place_of(f"{home}//x/") == str(home / "x")
    assert place_of(home / "x", follow=True) == str(home / "x")


def test_the_root_dots_and_relative_paths(home, monkeypatch):
    monkeypatch.chdir(home)
    assert place_of("x") == str(home / "x")
    assert place_of("/") == "/."
    assert place_of(f"{home}/./x") == str(home / "x")
    assert place_of(f"{home}/../outside/file") == str(home.parent / "outside" / "file")
    assert place_of(f"{home}/..") == f"{home.parent}/."


def test_a_missing_directory_is_told_with_the_path(home):
    with pytest.raises(FileNotFoundError, match="missing/x"):
        reach(str(home / "missing" / "x"))
    with pytest.raises(NotADirectoryError):
        reach(str(home.parent / "outside" / "file" / "x"))


def test_our_own_links_are_followed(home):
    (home / "away").symlink_to("../outside")
    (home / "file").symlink_to("away/file")
    outside = home.parent / "outside"
    assert place_of(home / "away" / "file") == str(outside / "file")
    assert place_of(home / "file", follow=True) == str(outside / "file")
    assert place_of(home / "file") == str(home / "file")
    (home / "new").symlink_to(outside / "new")
    assert place_of(home / "new", follow=True) == str(outside / "new")


@needs_root
@pytest.mark.parametrize("user", [None, USER, OTHER])
def test_a_link_of_a_user_that_leads_out_is_refused(home, user):
    link(home / "away", "../outside")
    link(home / "file", "../outside/file")
    with pytest.raises(UntrustedPath, match=r"away/x: a link .*4242"):
        reach(str(home / "away" / "x"), user=user)
    with pytest.raises(UntrustedPath, match=r"file: a link .*4242"):
        reach(str(home / "file"), follow=True, user=user)
    assert place_of(home / "file", user=user) == str(home / "file")


@needs_root
def test_the_declared_user_may_lead_to_what_is_his(home):
    (home / "real").mkdir()
    os.chown(home / "real", USER, USER)
    link(home / "away", "real")
    assert place_of(home / "away" / "x", user=USER) == str(home / "real" / "x")
    with pytest.raises(UntrustedPath):
        reach(str(home / "away" / "x"), user=OTHER)
    with pytest.raises(UntrustedPath):
        reach(str(home / "away" / "x"))


@needs_root
def test_a_file_of_the_user_elsewhere_is_his_but_not_a_hard_link(home):
    mine = home.parent / "mine"
    mine.write_text("")
    os.chown(mine, USER, USER)
    link(home / "x", mine)
    assert place_of(home / "x", follow=True, user=USER) == str(mine)
    home.parent.chmod(0o1777)
    os.link(mine, home.parent / "another")
    with pytest.raises(UntrustedPath, match="does not belong"):
        reach(str(home / "x"), follow=True, user=USER)


@needs_root
def test_whoever_owns_a_link_that_only_root_could_make(home):
    outside = home.parent / "outside"
    link(outside / "away", home, uid=OTHER)
    assert place_of(outside / "away" / "x") == str(home / "x")
    for mode in (0o775, 0o757, 0o1777):
        outside.chmod(mode)
        with pytest.raises(UntrustedPath, match="4343"):
            reach(str(outside / "away" / "x"))


def test_loops_end(home):
    (home / "loop").symlink_to("loop")
    for follow, path in ((True, "loop"), (False, "loop/x")):
        with pytest.raises(OSError, match="symbolic links") as raised:
            reach(str(home / path), follow=follow)
        assert raised.value.errno == errno.ELOOP


def test_without_proc_every_component_is_looked_at(home, monkeypatch):
    (home / "away").symlink_to("../outside")
    walked = []
    walk = openat._PathWalk
    monkeypatch.setattr(openat, "_open_without_links", lambda folder: None)
    monkeypatch.setattr(openat, "_PathWalk", lambda *args: walked.append(args) or walk(*args))
    assert place_of(home / "x") == str(home / "x")
    assert place_of(home / "away" / "x") == str(home.parent / "outside" / "x")
    assert len(walked) == 2


def test_an_untrusted_path_is_an_error_of_both_kinds():
    error = UntrustedPath("/x", "why")
    assert isinstance(error, FunctionError)
    assert isinstance(error, PermissionError)
    assert (str(error), error.errno, error.filename) == ("/x: why", errno.EPERM, "/x")


def test_what_is_held_stays_the_same_file(home):
    (home / "x").write_text("old")
    (home / "y").write_text("new")
    with reach(str(home / "x")) as spot, spot.hold() as held:
        os.rename(home / "y", home / "x")
        held.chmod(0o600)
        assert stat.S_IMODE(held.status().st_mode) == 0o600
    assert stat.S_IMODE((home / "x").stat().st_mode) != 0o600


@needs_root
@pytest.mark.parametrize("proc", [True, False])
def test_owner_and_mode_never_go_through_a_link(home, monkeypatch, proc):
    monkeypatch.setattr(openat, "has_proc", lambda: proc)
    path = link(home / "x", "../outside/file")
    before = os.stat(home.parent / "outside" / "file")
    with reach(str(path)) as spot, spot.hold() as held:
        assert held.is_link
        held.chown(OTHER, OTHER)
    assert path.lstat().st_uid == OTHER
    assert os.stat(home.parent / "outside" / "file") == before


@needs_root
def test_without_proc_a_swapped_file_is_noticed(home, monkeypatch):
    monkeypatch.setattr(openat, "has_proc", lambda: False)
    (home / "x").touch()
    (home / "y").touch()
    with reach(str(home / "x")) as spot, spot.hold() as held:
        held.chmod(0o640)
        held.chown(OTHER, OTHER)
        os.rename(home / "y", home / "x")
        with pytest.raises(UntrustedPath, match="replaced"):
            held.chmod(0o666)
        with pytest.raises(UntrustedPath, match="replaced"):
            held.chown(USER, USER)


@needs_root
@pytest.mark.parametrize(
    ("folder", "owner", "refused"),
    [
        (0o755, 0, True),  # root's file in the user's directory
        (0o755, OTHER, True),
        (0o755, USER, False),  # the user's own
        (0o775, USER, True),  # somebody of his group may have put it there
    ],
)
def test_other_names_of_files(home, folder, owner, refused):
    home.chmod(folder)
    file = home.parent / "outside" / "file"
    os.chown(file, owner, owner)
    os.link(file, home / "x")
    with reach(str(home / "x")) as spot, spot.hold() as held:
        assert spot.is_foreign(held.status()) is refused
        if refused:
            with pytest.raises(UntrustedPath, match="hard links"):
                held.chmod(0o666)
            with pytest.raises(UntrustedPath, match="hard links"):
                held.chown(USER, USER)
        else:
            held.chmod(0o666)
    with reach(str(file)) as spot, spot.hold() as held:  # the same file where only root writes
        held.chmod(0o600)


@needs_root
def test_a_program_of_a_user_does_not_become_roots(home):
    for name, owner in (("mine", USER), ("roots", 0)):
        (home / name).touch()
        os.chown(home / name, owner, owner)
        with reach(str(home / name)) as spot, spot.hold() as held:
            held.chown(OTHER, OTHER)
            held.chmod(0o755)
            if name == "mine":
                with pytest.raises(UntrustedPath, match="4755"):
                    held.chmod(0o4755)
            else:
                held.chmod(0o4755)
    (home / "still").touch()
    os.chown(home / "still", USER, USER)
    with reach(str(home / "still")) as spot, spot.hold() as held:
        held.chmod(0o4755)  # nothing was given away


def test_removal_does_not_follow(home):
    outside = home.parent / "outside"
    (home / "d" / "e").mkdir(parents=True)
    (home / "d" / "e" / "file").touch()
    (home / "d" / "away").symlink_to(outside)
    with reach(str(home / "d")) as spot:
        spot.remove()
    assert not (home / "d").exists()
    (home / "away").symlink_to(outside)
    with reach(str(home / "away")) as spot:
        with pytest.raises(NotADirectoryError):
            remove_tree(spot.fd, "away")
        spot.remove()
        with pytest.raises(FileNotFoundError):
            spot.remove()
    assert sorted(os.listdir(outside)) == ["file"]
    with reach_folder(str(home)) as spot, pytest.raises(OSError, match="Invalid"):
        spot.remove()


def test_a_fifo_is_no_regular_file_and_nobody_waits(home):
    os.mkfifo(home / "pipe")
    with reach(str(home / "pipe")) as spot, pytest.raises(OSError, match="Invalid"):
        spot.open_regular(os.O_RDONLY)


@needs_root
def test_a_file_is_written_under_its_name_with_its_owner_from_the_first_moment(home):
    os.link(home.parent / "outside" / "file", home / "x")
    with reach(str(home / "x")) as spot:
        disk.write_at(spot, b"new", mode=0o4750, owner=(USER, OTHER))
    found = (home / "x").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (USER, OTHER, 0o4750)
    assert (home.parent / "outside" / "file").read_text() == "root's"
    assert os.listdir(home) == ["x"]


@needs_root
def test_a_planted_temporary_file_is_not_written(home):
    import threading

    name = f".x.{threading.get_native_id()}.tmp"
    link(home / name, "../outside/file")
    with reach(str(home / "x")) as spot:
        disk.write_at(spot, b"new")
    assert (home.parent / "outside" / "file").read_text() == "root's"
    assert os.listdir(home) == ["x"]


def test_a_mounted_file_is_written_in_place(home, monkeypatch):
    path = home / "hosts"
    path.write_text("a long old text")
    before = path.stat().st_ino

    def busy(*args, **keywords):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(os, "rename", busy)
    disk.rewrite(path, b"new")
    assert path.read_text() == "new"
    assert path.stat().st_ino == before


@needs_root
def test_a_mounted_file_of_many_names_is_left_alone(home, monkeypatch):
    os.link(home.parent / "outside" / "file", home / "x")

    def busy(*args, **keywords):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(os, "rename", busy)
    with pytest.raises(UntrustedPath):
        disk.rewrite(home / "x", b"new")
    assert (home / "x").read_text() == "root's"


@needs_root
def test_directories_on_the_way(home):
    disk.make_way(home / "a" / "b", 0o700, owner=(USER, USER))
    assert (home / "a").stat().st_uid == 0
    found = (home / "a" / "b").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (USER, 0o700)
    link(home / "away", "../outside")
    with pytest.raises(UntrustedPath):
        disk.make_way(home / "away" / "new")
