"""A key is deleted while a request of its minion is being worked on: nothing of it is stored."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.config.master import FileOptions, PillarOptions
from saltlite.errors import WireError
from saltlite.master import pushed_files
from saltlite.master.commands import files, mine, pillar
from saltlite.master.minioncache import BANKS, GRAINS, PILLAR, MinionCache
from saltlite.master.pillarcache import PillarCache


class World:
    """One minion, whose key goes when it is told to."""

    def __init__(self, cachedir: Path) -> None:
        self.cachedir = cachedir
        self.minions = MinionCache(cachedir)
        self.key: object | None = object()
        self.refused: list[str] = []
        self.ctx: Any = SimpleNamespace(
            minions=self.minions,
            keys=SimpleNamespace(load_accepted=lambda _minion: self.key),
            wall_s=lambda: 2.0,
            config=SimpleNamespace(
                files=FileOptions(file_recv=True),
                paths=SimpleNamespace(cachedir=str(cachedir)),
                targets=SimpleNamespace(minion_data_cache=True),
            ),
            refusals=SimpleNamespace(refuse=lambda *words: self.refused.append(" ".join(words))),
        )

        self.pillars = PillarCache(
            PillarOptions(pillar_cache=True),
            self.minions,
            lambda: 2.0,
            lambda minion: self.ctx.keys.load_accepted(minion),
        )

    def delete_key(self) -> None:
        """As KeyActions does: first the key, then what is known of the minion."""
        self.key = None
        self.minions.forget("web1")

    def request(self, **load: Any) -> Any:
        return SimpleNamespace(id="web1", load=load)

    def kept(self) -> list[str]:
        """What is on disk of the minion."""
        banks = [bank for bank in BANKS if self.minions.read(bank, "web1") is not None]
        return [*banks, *os.listdir(self.cachedir / "minions/web1")] if self.has_folder() else banks

    def has_folder(self) -> bool:
        return (self.cachedir / "minions/web1").is_dir()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def store_mine(world: World) -> None:
    mine.store(world.ctx, world.request(data={"test.ping": True}))


def remember_pillar(world: World) -> None:
    pillar._cache_facts(world.ctx, "web1", {GRAINS: {"os": "x"}, PILLAR: {"a": 1}}, 10**9)


def keep_compiled(world: World) -> None:
    world.pillars.put("web1", None, {"a": 1}, 1.0)


def clean_compiled(world: World) -> None:
    world.pillars.clean("web1")


def push_file(world: World) -> None:
    files.file_recv(world.ctx, world.request(path=["a", "b"], loc=0, data=b"x", size=1))


STORES = pytest.mark.parametrize(
    "store", [store_mine, remember_pillar, keep_compiled, clean_compiled, push_file]
)


@STORES
def test_with_a_key_it_is_stored_and_goes_with_it(
    world: World, store: Callable[[World], None]
) -> None:
    store(world)
    assert world.kept()
    world.delete_key()
    assert world.kept() == []


@STORES
def test_nothing_is_stored_after_the_key_is_gone(
    world: World, store: Callable[[World], None]
) -> None:
    world.delete_key()
    try:
        store(world)
    except WireError as error:
        world.refused.append(str(error))
    assert world.kept() == []
    assert world.refused in ([], ["key was removed"], ["_file_recv minion web1: key was removed"])


@STORES
def test_the_key_is_looked_at_once_nobody_else_can_delete_what_is_stored(
    world: World, store: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question comes while the lock is held that deleting needs, so that none falls between."""
    held: list[str] = []
    seen: list[list[str]] = []

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        @contextlib.contextmanager
        def locked(*given: Any) -> Iterator[None]:
            with real(*given):
                held.append("lock")
                yield
                held.clear()

        return locked

    def load_accepted(_minion: str) -> object:
        seen.append(list(held))
        return world.key

    monkeypatch.setattr(world.minions, "hold_lock", watched(world.minions.hold_lock))
    monkeypatch.setattr(pushed_files, "_lock_minion", watched(pushed_files._lock_minion))
    world.ctx.keys.load_accepted = load_accepted
    store(world)
    assert seen == [["lock"]]
