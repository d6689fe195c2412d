"""Two workers at one file at the same moment: both changes hold, the later answer stays."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltlite import disk
from saltlite.master import minioncache
from saltlite.master.autosign import AutoSign
from saltlite.master.datacache import DataCache
from saltlite.master.maintenance import LEFTOVER_AGE_S, remove_leftovers
from saltlite.master.minioncache import GRAINS, MINE, PILLAR, MinionCache

GRACE_S = 0.3
"""Another process that does not stand in line is done by then."""


def in_another_process(work: Callable[[], Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def let_it_try(pid: int) -> None:
    """Until the other one has ended, or evidently waits."""
    handle = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.poll(GRACE_S * 1000)
    os.close(handle)


@pytest.fixture
def minions(tmp_path: Path) -> MinionCache:
    return MinionCache(tmp_path)


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda kept: {one: value for one, value in kept.items() if one != name}


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda kept: {**kept, "b": 2}, {"a": 1, "b": 2, "c": 3}),
        (without("a"), {"c": 3}),
    ],
    ids=["store", "delete"],
)
def test_of_two_changes_of_a_mine_none_is_lost(
    minions: MinionCache, change: Callable[[dict[str, Any]], dict[str, Any]], left: dict[str, int]
) -> None:
    minions.write(MINE, "m", {"a": 1})
    pids = []

    def slowly(kept: dict[str, Any]) -> dict[str, Any]:
        pids.append(in_another_process(lambda: minions.update(MINE, "m", change)))
        let_it_try(pids[0])
        return {**kept, "c": 3}

    minions.update(MINE, "m", slowly)
    assert os.waitpid(pids[0], 0)[1] == 0
    assert minions.read(MINE, "m") == left


def test_a_flush_waits_for_a_store(minions: MinionCache) -> None:
    minions.write(MINE, "m", {"a": 1})
    pids = []

    def slowly(kept: dict[str, Any]) -> dict[str, Any]:
        pids.append(in_another_process(lambda: minions.forget("m")))
        let_it_try(pids[0])
        return {**kept, "c": 3}

    minions.update(MINE, "m", slowly)
    assert os.waitpid(pids[0], 0)[1] == 0
    assert minions.read(MINE, "m") is None


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda cache: cache.drop(MINE, "m", "a"), {"b": 1, "c": 3}),
        (lambda cache: cache.flush(MINE, "m"), None),
        (lambda cache: cache.store(MINE, "m", {"own": 1}), {"own": 1}),
    ],
    ids=["drop", "flush", "store"],
)
def test_runners_wait_for_a_worker(
    minions: MinionCache,
    tmp_path: Path,
    change: Callable[[DataCache], None],
    left: dict[str, int] | None,
) -> None:
    """``cache.clear_mine_func`` and its kin change what workers change."""
    minions.write(MINE, "m", {"a": 1, "b": 1})
    pids = []

    def slowly(kept: dict[str, Any]) -> dict[str, Any]:
        pids.append(in_another_process(lambda: change(DataCache(tmp_path))))
        let_it_try(pids[0])
        return {**kept, "c": 3}

    minions.update(MINE, "m", slowly)
    assert os.waitpid(pids[0], 0)[1] == 0
    assert minions.read(MINE, "m") == left


def test_a_worker_waits_for_a_runner(
    minions: MinionCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minions.write(MINE, "m", {"a": 1, "b": 1})
    cache, pids = DataCache(tmp_path), []
    fetch = cache.fetch

    def fetch_slowly(bank: str, key: str) -> Any:
        found = fetch(bank, key)
        pids.append(in_another_process(lambda: minions.update(MINE, "m", with_c)))
        let_it_try(pids[0])
        return found

    monkeypatch.setattr(cache, "fetch", fetch_slowly)
    cache.drop(MINE, "m", "a")
    assert os.waitpid(pids[0], 0)[1] == 0
    assert minions.read(MINE, "m") == {"b": 1, "c": 3}


def with_c(kept: dict[str, Any]) -> dict[str, Any]:
    return {**kept, "c": 3}


def test_another_minion_does_not_wait(minions: MinionCache) -> None:
    def meanwhile(kept: dict[str, Any]) -> dict[str, Any]:
        other = in_another_process(lambda: minions.update(MINE, "other", lambda _kept: {"b": 2}))
        assert os.waitpid(other, 0)[1] == 0
        return {"a": 1}

    minions.update(MINE, "m", meanwhile)
    assert minions.read(MINE, "other") == {"b": 2}


def test_an_answer_to_an_older_question_replaces_nothing(minions: MinionCache) -> None:
    now_ns = time.time_ns()
    with minions.hold_lock("m"):
        assert minions.write_newest(PILLAR, "m", {"x": "new"}, now_ns, now_ns)
        assert not minions.write_newest(PILLAR, "m", {"x": "old"}, now_ns - 1, now_ns)
        assert minions.write_newest(PILLAR, "m", {"x": "newer"}, now_ns + 1, now_ns + 1)
    assert minions.read(PILLAR, "m") == {"x": "newer"}


def test_a_file_of_the_future_is_of_a_clock_that_was_wrong(
    minions: MinionCache, tmp_path: Path
) -> None:
    minions.write(GRAINS, "m", {"x": 1})
    os.utime(tmp_path / GRAINS / "m.p", (time.time() + 9999,) * 2)
    with minions.hold_lock("m"):
        assert minions.write_newest(GRAINS, "m", {"x": 2}, time.time_ns(), time.time_ns())
    assert minions.read(GRAINS, "m") == {"x": 2}


# --- what vanishes during a sweep ----------------------------------------------------------


class Vanishing:
    """An entry whose file goes between its listing and the look at it."""

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self.name, self.path, self._entry = entry.name, entry.path, entry

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        if "vanishes" in self.name:
            raise FileNotFoundError(2, "No such file or directory", self.path)
        return self._entry.stat(follow_symlinks=follow_symlinks)


@pytest.fixture
def vanishing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir

    class Entries(list[Any]):
        def __enter__(self) -> Entries:
            return self

        def __exit__(self, *_error: object) -> None:
            pass

    def scandir(path: Any) -> Entries:
        with real(path) as entries:
            return Entries(Vanishing(one) for one in entries)

    monkeypatch.setattr(disk.os, "scandir", scandir)


def make_old(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()
        os.utime(folder / name, (0, time.time() - 2 * LEFTOVER_AGE_S))


def test_a_sweep_goes_on_past_what_vanishes(tmp_path: Path, vanishing: None) -> None:
    make_old(tmp_path, ".a.1.tmp", ".vanishes.2.tmp", ".z.3.tmp", "stays")
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".vanishes.2.tmp", "stays"]
    remove_leftovers(tmp_path / "nowhere")


def test_so_do_markers_of_autosign(tmp_path: Path, vanishing: None) -> None:
    from saltlite.config.master import KeyOptions

    signing = AutoSign(KeyOptions(), tmp_path)
    folder = signing._markers
    folder.mkdir()
    make_old(folder, "a", "vanishes", "z")
    for name in ("a", "vanishes", "z"):
        os.utime(folder / name, (0, 0))
    signing.sweep(time.time())
    assert os.listdir(folder) == ["vanishes"]


def test_files_by_age_without_what_vanishes(tmp_path: Path, vanishing: None) -> None:
    for age, name in enumerate(["new.p", "vanishes.p", "old.p", "other"]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 1000 - age))
    assert [path.name for path in disk.newest_first(tmp_path, ".p")] == ["new.p", "old.p"]


# --- what a worker keeps in memory ---------------------------------------------------------


def test_decoded_files_are_bounded_in_bytes(
    minions: MinionCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minioncache, "DECODED_BYTES", 100_000)
    for number in range(50):
        minions.write(MINE, f"m{number}", {"x": "y" * 10_000})
        assert minions.read(MINE, f"m{number}") == {"x": "y" * 10_000}
    assert len(minions._decoded) == 9
    assert minions._decoded_bytes <= 100_000
    minions.write(MINE, "m49", {"x": 1})  # another file of the same minion takes its place
    minions.read(MINE, "m49")
    assert len(minions._decoded) == 9
    minions.write(MINE, "large", {"x": "y" * 200_000})
    assert minions.read(MINE, "large") is minions.read(MINE, "large")
    assert len(minions._decoded) == 1
    minions.delete("large", MINE)
    assert minions.read(MINE, "large") is None
    assert (len(minions._decoded), minions._decoded_bytes) == (0, 0)


def test_a_column_forgets_minions_that_are_gone(minions: MinionCache) -> None:
    names = [f"m{number}" for number in range(100)]
    for name in names:
        minions.write(GRAINS, name, {"os": "Debian"})
    assert all(facts.grains and facts.grains.get("os") for facts in minions.facts(names))
    for name in names[:50]:
        minions.delete(name, GRAINS)
    others = [f"n{number}" for number in range(minioncache.SAVE_FROM)]
    for name in others:
        minions.write(GRAINS, name, {"os": "Debian"})
    for facts in minions.facts([*names[50:], *others]):
        assert facts.grains is not None
        facts.grains.get("os")
    assert set(minions._columns[GRAINS, "os"]) == {*names[50:], *others}
