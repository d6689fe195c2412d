"""``salt-run fileserver.*``, as Salt 3006.30 answers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.config.master import FileOptions
from saltlite.fileserver.roots import Roots
from saltlite.runners import fileserver


@pytest.fixture
def ctx(tmp_path: Path) -> Any:
    (tmp_path / "srv/sub").mkdir(parents=True)
    (tmp_path / "srv/empty").mkdir()
    (tmp_path / "srv/a").write_text("")
    (tmp_path / "srv/sub/b").write_text("")
    (tmp_path / "srv/link").symlink_to("a")
    roots = {"base": [f"{tmp_path}/srv"], "dev": []}
    config = SimpleNamespace(
        files=FileOptions(file_roots=roots),
        paths=SimpleNamespace(cachedir=str(tmp_path / "cache")),
        extra={},
    )
    return SimpleNamespace(config=config)


def test_lists(ctx: Any) -> None:
    assert fileserver.envs(ctx) == ["base", "dev"]
    assert fileserver.envs(ctx, sources=True) == ["roots"]
    assert fileserver.envs(ctx, backend="git") == []
    assert fileserver.file_list(ctx) == ["a", "link", "sub/b"]
    assert fileserver.file_list(ctx, prefix="su") == ["sub/b"]
    assert fileserver.file_list(ctx, "dev") == []
    assert fileserver.file_list(ctx, backend=["git"]) == []
    assert fileserver.dir_list(ctx, backend="roots,git") == ["empty", "sub"]
    assert fileserver.empty_dir_list(ctx) == ["empty"]
    assert fileserver.symlink_list(ctx) == {"link": "a"}


def test_what_there_is_nothing_to_do_for(ctx: Any) -> None:
    assert fileserver.update(ctx, backend="roots") is True
    assert fileserver.clear_cache(ctx) == "No cache was cleared"
    assert fileserver.clear_file_list_cache(ctx) == {}
    assert fileserver.lock(ctx) == "No locks were set"
    assert fileserver.clear_lock(ctx) == "No locks were removed"


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_the_copies_of_gitfs_are_cleared_and_made_again(ctx: Any, tmp_path: Path) -> None:
    work = tmp_path / "work"
    for words in (["init", "-qb", "master"], ["commit", "-qm", "x", "--allow-empty"]):
        work.mkdir(exist_ok=True)
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(work), *words]
        subprocess.run(command, check=True)
    ctx.config.files = FileOptions(fileserver_backend=["gitfs", "roots"])
    ctx.config.extra = {"gitfs_remotes": [f"file://{work}"]}
    copies = tmp_path / "cache/gitfs"
    assert fileserver.envs(ctx, backend="git") == ["base"]
    (copies / "of-a-remote-that-is-gone").mkdir()
    (copy,) = copies.glob("*/repository")
    assert fileserver.clear_cache(ctx, backend="roots") == "No cache was cleared"
    assert fileserver.clear_cache(ctx, backend="nope") == "No cache was cleared"
    assert copy.is_dir()
    told = {"cleared": ["The git fileserver cache was successfully cleared"]}
    assert fileserver.clear_cache(ctx, backend="git,roots") == told
    assert [path.name for path in copies.glob("*/*")] == [".lock"]
    assert not (copies / "of-a-remote-that-is-gone").exists()
    told = {"cleared": ["The gitfs fileserver cache was successfully cleared"]}
    assert fileserver.clear_cache(ctx) == told
    assert fileserver.envs(ctx, backend="git") == ["base"]
    assert copy.is_dir()


def test_what_cannot_be_removed_is_told(ctx: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_roots: Roots) -> bool:
        raise PermissionError(13, "Permission denied", "/x")

    monkeypatch.setattr(Roots, "clear", fail)
    told = {"errors": ["roots: /x: Permission denied"]}
    assert fileserver.clear_cache(ctx) == told
