"""Watched paths: the kernel's events of real files and directories."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import pytest

from saltlite.providers.watch import inotify
from saltlite.providers.watch.inotify import (
    Change,
    Told,
    WatchedPath,
    Watches,
    mask_of,
    name_of,
    parse,
)

ALL = mask_of(["create", "delete", "modify", "moved_from", "moved_to", "delete_self", "attrib"])


def seen(watches: Watches) -> list[tuple[str, str]]:
    """Names of changed paths, and how."""
    changes: list[Change] = [*watches.changes(), *watches.look_for_missing()]
    return [(os.path.basename(each.path), name_of(each.mask)) for each in changes]


def test_masks_are_made_of_words() -> None:
    assert mask_of(["create", "MODIFY"]) == 0x102
    with pytest.raises(ValueError, match="'nonsense' is none of"):
        mask_of(["nonsense"])
    assert name_of(0x40000100) == "IN_CREATE|IN_ISDIR"


def test_events_are_read_from_bytes() -> None:
    data = struct.pack("iIII", 1, 0x100, 0, 16) + b"name".ljust(16, b"\0")
    data += struct.pack("iIII", 2, 0x80, 7, 0)
    assert list(parse(data)) == [Told(1, 0x100, "name"), Told(2, 0x80, "", 7)]
    assert list(parse(data[:10])) == []


def test_a_directory_tells_what_is_made_changed_and_removed_in_it(tmp_path: Path) -> None:
    watches = Watches([WatchedPath(str(tmp_path), mask_of(inotify.DEFAULT))])
    path = tmp_path / "a"
    path.write_text("x")
    path.unlink()
    assert seen(watches) == [("a", "IN_CREATE"), ("a", "IN_MODIFY"), ("a", "IN_DELETE")]
    assert seen(watches) == []


def test_only_what_is_asked_for_is_told(tmp_path: Path) -> None:
    watches = Watches([WatchedPath(str(tmp_path), mask_of(["delete"]))])
    (tmp_path / "a").write_text("x")
    (tmp_path / "a").unlink()
    assert seen(watches) == [("a", "IN_DELETE")]


def test_directories_below_are_watched_with_recurse_and_new_ones_with_auto_add(
    tmp_path: Path,
) -> None:
    (tmp_path / "there").mkdir()
    mask = mask_of(["create"])
    watches = Watches([WatchedPath(str(tmp_path), mask, recurse=True, auto_add=True)])
    (tmp_path / "there" / "a").write_text("x")
    (tmp_path / "new").mkdir()
    assert seen(watches) == [("a", "IN_CREATE"), ("new", "IN_CREATE|IN_ISDIR")]
    (tmp_path / "new" / "b").write_text("x")
    (tmp_path / "new" / "deeper").mkdir()
    assert seen(watches) == [("b", "IN_CREATE"), ("deeper", "IN_CREATE|IN_ISDIR")]
    (tmp_path / "new" / "deeper" / "c").write_text("x")
    assert seen(watches) == [("c", "IN_CREATE")]


def test_without_them_nothing_below_is_told(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    watches = Watches([WatchedPath(str(tmp_path), mask_of(["create"]))])
    (tmp_path / "there" / "a").write_text("x")
    assert seen(watches) == []


def test_a_directory_that_came_by_a_move_is_watched_at_its_new_place(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    (outside / "deep").mkdir(parents=True)
    inside.mkdir()
    watches = Watches([WatchedPath(str(inside), ALL, recurse=True, auto_add=True)])
    (outside / "deep").rename(inside / "came")
    assert seen(watches) == [("came", "IN_MOVED_TO|IN_ISDIR")]
    (inside / "came" / "a").write_text("")
    assert ("a", "IN_CREATE") in seen(watches)
    (inside / "came").rename(outside / "gone")
    seen(watches)
    (outside / "gone" / "b").write_text("")
    assert seen(watches) == []


def test_a_path_that_comes_later_is_watched_then(tmp_path: Path) -> None:
    path = tmp_path / "later"
    watches = Watches([WatchedPath(str(path), mask_of(inotify.DEFAULT))])
    assert seen(watches) == []
    path.write_text("x")
    assert seen(watches) == [("later", "IN_CREATE")]
    path.write_text("y")
    assert seen(watches) == [("later", "IN_MODIFY")]


def test_a_file_that_is_replaced_as_editors_do_stays_watched(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    watches = Watches([WatchedPath(str(path), mask_of(inotify.DEFAULT))])
    (tmp_path / "other").write_text("y")
    (tmp_path / "other").rename(path)
    assert seen(watches) == [("file", "IN_CREATE")]
    path.write_text("z")
    assert seen(watches) == [("file", "IN_MODIFY")]


def test_a_moved_away_file_tells_nothing_more_under_its_old_name(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    watches = Watches([WatchedPath(str(path), mask_of(["modify"]))])
    path.rename(tmp_path / "away")
    seen(watches)
    (tmp_path / "away").write_text("y")
    assert seen(watches) == []


def test_a_directory_that_moves_within_what_is_watched_stays_watched(tmp_path: Path) -> None:
    (tmp_path / "a" / "deep").mkdir(parents=True)
    mask = mask_of(["create"])
    watches = Watches([WatchedPath(str(tmp_path), mask, recurse=True, auto_add=True)])
    for old, new in (("a", "b"), ("b", "c")):
        (tmp_path / old).rename(tmp_path / new)
        assert seen(watches) == []
        (tmp_path / new / new).write_text("x")
        (tmp_path / new / "deep" / new).write_text("x")
        changes = [(change.watched, change.path) for change in watches.changes()]
        moved = str(tmp_path / new)
        assert changes == [(moved, f"{moved}/{new}"), (f"{moved}/deep", f"{moved}/deep/{new}")]
        assert seen(watches) == []
    (tmp_path / "a").mkdir()
    assert seen(watches) == [("a", "IN_CREATE|IN_ISDIR")]
    (tmp_path / "a" / "new").write_text("x")
    assert seen(watches) == [("new", "IN_CREATE")]


def test_a_watched_path_with_two_names_is_told_of_as_new_once(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    names = ("real", "link")
    watches = Watches([WatchedPath(str(tmp_path / name), mask_of(["create"])) for name in names])
    assert seen(watches) == []
    (tmp_path / "real" / "a").write_text("x")
    assert seen(watches) == [("a", "IN_CREATE")]


def test_what_is_left_out_is_neither_told_nor_watched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    left_out = str(tmp_path / "out")
    wanted = WatchedPath(
        str(tmp_path), ALL, recurse=True, auto_add=True, is_left_out=lambda p: p == left_out
    )
    watches = Watches([wanted])
    (tmp_path / "out" / "a").write_text("x")
    assert seen(watches) == []


def test_two_configured_paths_may_be_one_directory(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    above = WatchedPath(str(tmp_path), mask_of(["create"]), recurse=True)
    itself = WatchedPath(str(tmp_path / "a"), mask_of(["delete"]))
    watches = Watches([above, itself])
    (tmp_path / "a" / "f").write_text("")
    (tmp_path / "a" / "f").unlink()
    assert seen(watches) == [("f", "IN_CREATE"), ("f", "IN_DELETE")]


def test_an_overflow_is_told_and_what_came_meanwhile_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watches = Watches(
        [WatchedPath(str(tmp_path), mask_of(["create"]), recurse=True, auto_add=True)]
    )
    (tmp_path / "came").mkdir()
    overflow = [Told(-1, inotify.OVERFLOW, "")]
    with monkeypatch.context() as patched:
        patched.setattr(inotify.Inotify, "read", lambda self: overflow)
        assert list(watches.changes()) == [Change("", "", inotify.OVERFLOW)]
    seen(watches)
    (tmp_path / "came" / "a").write_text("")
    assert seen(watches) == [("a", "IN_CREATE")]


def test_closing_lets_go_of_the_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        Watches([WatchedPath(str(tmp_path), ALL)]).close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_ten_thousand_files(tmp_path: Path) -> None:
    """No change is lost among 10,000 files in 100 directories, nor takes it long to look."""
    for number in range(100):
        (tmp_path / str(number)).mkdir()
        for file in range(100):
            (tmp_path / str(number) / str(file)).touch()
    watches = Watches([WatchedPath(str(tmp_path), mask_of(["modify"]), recurse=True)])
    for number in range(100):
        for file in range(100):
            with (tmp_path / str(number) / str(file)).open("a") as opened:
                opened.write("x")
    began_s = time.process_time()
    found = {each.path for _ in range(3) for each in watches.changes()}
    assert time.process_time() - began_s < 2
    assert len(found) == 10_000
    watches.close()
