"""Archives are unpacked aside where others may write, and come into place without being led."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from saltlite.errors import UntrustedPath
from saltlite.providers import staging
from saltlite.providers.staging import Existing, aside, is_shared

USER = 4242

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of other users")


def unpack(top: Path, files: dict[str, str], existing: Existing | None = None) -> None:
    with aside(str(top), user=None, existing=existing or Existing()) as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def tree(top: Path) -> dict[str, str]:
    return {
        str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()
    }


def test_all_comes_into_place_beside_what_is_there(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old").write_text("old")
    (tmp_path / "a" / "both").write_text("old")
    unpack(tmp_path, {"a/both": "new", "a/b/c": "deep", "top": "new"})
    assert tree(tmp_path) == {"a/old": "old", "a/both": "new", "a/b/c": "deep", "top": "new"}


def test_what_is_there_may_be_kept_or_an_error(tmp_path):
    (tmp_path / "a").write_text("old")
    unpack(tmp_path, {"a": "new", "b": "new"}, Existing(keep=True))
    assert tree(tmp_path) == {"a": "old", "b": "new"}
    with pytest.raises(FileExistsError):
        unpack(tmp_path, {"a": "new"}, Existing(refuse=True))
    assert tree(tmp_path) == {"a": "old", "b": "new"}


def test_a_file_does_not_replace_a_directory_nor_it_a_file(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError):
        unpack(tmp_path, {"a": "file"})
    (tmp_path / "b").write_text("old")
    with pytest.raises(NotADirectoryError):
        unpack(tmp_path, {"b/c": "new"})
    assert tree(tmp_path) == {"b": "old"}


def test_nothing_comes_into_place_after_an_error(tmp_path):
    def fail() -> None:
        with aside(str(tmp_path), user=None, existing=Existing()) as folder:
            Path(folder, "a").write_text("new")
            raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        fail()
    assert os.listdir(tmp_path) == []


def test_our_own_links_lead(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "a").symlink_to("../data")
    unpack(tmp_path / "top", {"a/b": "new"})
    assert tree(tmp_path / "data") == {"b": "new"}


@needs_root
def test_links_of_others_do_not(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "a").symlink_to("../data")
    os.lchown(tmp_path / "top" / "a", USER, USER)
    os.chown(tmp_path / "top", USER, USER)
    with pytest.raises(UntrustedPath):
        unpack(tmp_path / "top", {"a/b": "new"})
    assert tree(tmp_path) == {}


@needs_root
def test_a_private_directory_that_was_exchanged_is_noticed(tmp_path, monkeypatch):
    make = os.mkdir

    def exchanged(name, mode, *, dir_fd):
        make(name, mode, dir_fd=dir_fd)
        os.chown(name, USER, USER, dir_fd=dir_fd)

    monkeypatch.setattr(staging.os, "mkdir", exchanged)
    with pytest.raises(UntrustedPath, match="replaced"):
        unpack(tmp_path, {})


@needs_root
def test_where_others_may_write(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert not is_shared(str(tmp_path), ["a/b/c", "new/d"])
    os.chown(tmp_path / "a" / "b", USER, USER)
    assert is_shared(str(tmp_path), ["a/b/c"])
    assert not is_shared(str(tmp_path), ["a/c"])
    assert is_shared(str(tmp_path / "a" / "b"), [])
    (tmp_path / "a" / "link").symlink_to("/")
    assert is_shared(str(tmp_path), ["a/link/x"])
    os.chown(tmp_path / "a", USER, USER)
    (tmp_path / "a" / "closed").mkdir()
    assert is_shared(str(tmp_path / "a" / "closed"), [])
    assert is_shared(str(tmp_path / "a" / "link"), [])
