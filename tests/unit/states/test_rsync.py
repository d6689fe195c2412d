"""Copies by rsync, with the real program in a directory of the test's own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError, UsageError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    (tmp_path / "srv/src/sub").mkdir(parents=True)
    (tmp_path / "srv/src/a").write_text("1\n")
    config = MinionConfig(
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        files=FileOptions(file_client="local", file_roots={"base": [str(tmp_path / "srv")]}),
    )
    found = MinionContext(config=config, host=Host(), grains={"id": "x"}, pillar={})
    found.functions = Registry(found)
    return found


def run(ctx: MinionContext, state: str, /, *, test: bool = False, **kwargs: Any) -> Verdict:
    try:
        return realise(resolve(state, ctx).call(**kwargs), ctx, test=test)
    except SaltliteError as error:
        return Verdict(result=False, comment=str(error))


needs_rsync = pytest.mark.skipif(shutil.which("rsync") is None, reason="needs rsync")


@needs_rsync
def test_a_copy(ctx: MinionContext, tmp_path: Path) -> None:
    source, target = tmp_path / "srv/src", tmp_path / "to"
    kwargs = {"name": str(target), "source": f"{source}/"}
    missing = run(ctx, "rsync.synchronized", **kwargs)
    assert missing.comment == f"Destination directory {target} was not found."
    foretold = run(ctx, "rsync.synchronized", prepare=True, test=True, **kwargs)
    assert not target.exists()
    done = run(ctx, "rsync.synchronized", prepare=True, **kwargs)
    assert foretold.changes == done.changes == {"copied": "a\nsub/", "deleted": "N/A"}
    assert done.comment.startswith("- sent ")
    assert run(ctx, "rsync.synchronized", **kwargs).changes == {}
    (target / "other").write_text("x")
    (source / "a").write_text("longer\n")
    only = run(ctx, "rsync.synchronized", dryrun=True, delete=True, **kwargs)
    assert only.result is None
    assert (target / "other").exists()
    more = run(ctx, "rsync.synchronized", delete=True, **kwargs)
    assert more.changes == {"copied": "a", "deleted": "other"}
    assert run(ctx, "rsync.synchronized", name=str(target), source="/nosuch/").result is False


@needs_rsync
def test_from_the_master(ctx: MinionContext, tmp_path: Path) -> None:
    call = ctx.functions.call
    assert call("rsync.rsync", "salt://src", str(tmp_path / "one"))["retcode"] == 0
    assert (tmp_path / "one/src/a").read_text() == "1\n"
    assert call("rsync.rsync", "salt://src/", str(tmp_path / "two"))["retcode"] == 0
    assert (tmp_path / "two/a").read_text() == "1\n"
    with pytest.raises(FunctionError, match="salt://none does not exist"):
        call("rsync.rsync", "salt://none", str(tmp_path / "x"))
    with pytest.raises(UsageError, match="src and dst cannot be empty"):
        call("rsync.rsync", "", "/x")
    with pytest.raises(FunctionError, match="does not exist"):
        call("rsync.config", str(tmp_path / "none"))
