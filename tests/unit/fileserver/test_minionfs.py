"""What minions have pushed, as files of an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltlite.config.master import FileOptions
from saltlite.fileserver.server import FileServer, Surroundings


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    for name in ("web1/files/etc/hosts", "web1/files/a", "db1/files/b", "db1/other", "x y/files/c"):
        path = tmp_path / "minions" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "minions/web1/files/out").symlink_to("/etc/passwd")
    (tmp_path / "minions/web1/files/over").symlink_to("../../db1/files/b")
    return tmp_path


def server(cache: Path, **extra: Any) -> FileServer:
    return FileServer(FileOptions(fileserver_backend=["minionfs"]), Surroundings(cache, extra))


def test_files_by_the_minions_ids(cache: Path) -> None:
    files = server(cache)
    assert files.envs() == ["base"]
    assert files.files("base") == ["db1/b", "web1/a", "web1/etc/hosts"]
    assert files.dirs("base") == ["db1", "web1", "web1/etc"]
    assert files.piece("web1/etc/hosts", "base", 0) == b"web1/files/etc/hosts"
    assert files.files("dev") == []
    assert files.piece("web1/a", "dev", 0) is None


def test_environment_mountpoint_and_lists(cache: Path) -> None:
    files = server(
        cache,
        minionfs_env="pushed",
        minionfs_mountpoint="salt://m",
        minionfs_whitelist=["web*", "db.*"],
        minionfs_blacklist=["db1"],
    )
    assert files.envs() == ["pushed"]
    assert files.files("pushed") == ["m/web1/a", "m/web1/etc/hosts"]
    assert files.piece("m/db1/b", "pushed", 0) is None
    assert files.piece("web1/a", "pushed", 0) is None


@pytest.mark.parametrize(
    "path",
    ["web1/out", "web1/over", "web1/../db1/files/b", "../web1/a", "web1", "db1/../other", "x y/c"],
)
def test_nothing_else_is_served(cache: Path, path: str) -> None:
    assert server(cache).piece(path, "base", 0) is None
