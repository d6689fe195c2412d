"""Directories, links and pipes are made."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.host import Host
from saltlite.modules.file import looking, making, ownership


def make(host):
    return MinionContext(config=MinionConfig(), host=host, grains={}, pillar={})


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
