"""Files and directories are moved, copied and removed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from saltlite.errors import FunctionError, UsageError
from saltlite.modules.file import moving


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
    monkeypatch.setattr(moving.paths, "remove_tree", lambda path: pytest.fail(f"removes {path}"))
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
