"""A tree of a master: few requests for many files, none for each file of an unchanged one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.fileserver import bundle
from saltlite.fileserver.server import FileServer
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve

COUNT = 30


class Master:
    """Answers the file server's requests, and counts them."""

    def __init__(self, root: Path, *, bundles: bool) -> None:
        self.files = FileServer(FileOptions(file_roots={"base": [str(root)]}))
        self.offer = {bundle.OFFER: bundle.FILES_LIMIT} if bundles else {}
        self.asked: Counter[str] = Counter()

    def request(self, load: dict[str, Any]) -> Any:
        self.asked[load["cmd"]] += 1
        saltenv = load.get("saltenv", "base")
        match load["cmd"]:
            case "_master_opts":
                return self.offer
            case "_file_bundle":
                return bundle.pack(self.files, saltenv, load["paths"], load["hashes"])
            case "_file_list":
                return self.files.files(saltenv, load["prefix"])
            case "_dir_list":
                return self.files.dirs(saltenv, load["prefix"])
            case "_file_hash_and_stat":
                found = self.files.hash_and_status(load["path"], saltenv)
                if found is None:  # the tree itself
                    return ["", None]
                return [{"hash_type": "sha256", "hsum": found[0]}, list(found[1])]
            case "_serve_file":
                return {"data": self.files.piece(load["path"], saltenv, load["loc"]) or b""}
        raise AssertionError(load)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "srv"
    for number in range(COUNT):
        place = root / f"tree/d{number % 3}/f{number}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{number}\n")
    return root


def run(tmp_path: Path, master: Master, *, test: bool = False, **given: Any) -> Verdict:
    """As a job does: a context of its own."""
    config = MinionConfig(
        paths=PathOptions(cachedir=str(tmp_path / "cache")), files=FileOptions(file_client="remote")
    )
    ctx = MinionContext(config=config, host=Host(), grains={"id": "x"}, pillar={}, master=master)
    ctx.functions = Registry(ctx)
    master.asked.clear()
    call = resolve("file.recurse", ctx).call
    said = realise(call(name=str(tmp_path / "to"), source="salt://tree", **given), ctx, test=test)
    assert isinstance(said, Verdict)
    return said


def test_a_tree_takes_as_many_requests_as_one_file(tmp_path: Path, source: Path) -> None:
    master = Master(source, bundles=True)
    assert len(run(tmp_path, master).changes) >= COUNT
    assert (tmp_path / "to/d1/f1").read_text() == "1\n"
    assert master.asked["_file_hash_and_stat"] <= 1
    unchanged = run(tmp_path, master)
    assert (unchanged.result, unchanged.changes) == (True, {})
    assert master.asked["_file_bundle"] == 1
    assert sum(master.asked.values()) <= 6
    (source / "tree/d1/f1").write_text("new\n")
    foreseen = run(tmp_path, master, test=True)
    done = run(tmp_path, master)
    assert foreseen.changes == done.changes
    assert list(done.changes) == [str(tmp_path / "to/d1/f1")]
    assert (tmp_path / "to/d1/f1").read_text() == "new\n"


def test_a_master_without_bundles_is_asked_for_each(tmp_path: Path, source: Path) -> None:
    master = Master(source, bundles=False)
    assert run(tmp_path, master).result
    assert (tmp_path / "to/d2/f2").read_text() == "2\n"
    assert not run(tmp_path, master).changes
    assert master.asked["_file_hash_and_stat"] >= COUNT


def test_copies_are_not_kept_where_the_source_is_not(tmp_path: Path, source: Path) -> None:
    master = Master(source, bundles=True)
    for test in (True, False, False):
        assert run(tmp_path, master, test=test, keep_source=False).result is not False
        assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert (tmp_path / "to/d1/f1").read_text() == "1\n"
