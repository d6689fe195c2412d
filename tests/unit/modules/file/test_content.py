"""Contents of files: pieces, ends and times."""

from __future__ import annotations

import os

import pytest

from saltlite.config.minion import MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.modules.file import content


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
