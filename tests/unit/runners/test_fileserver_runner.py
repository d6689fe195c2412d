"""``salt-run fileserver.*``, as Salt 3006.30 answers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.config.master import FileOptions
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
