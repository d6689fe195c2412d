"""What the master keeps of minions: grains, pillar and mine, and targeting by them."""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltlite.core.targets import Target, find_expected
from saltlite.errors import StoreError
from saltlite.master import minioncache
from saltlite.master.datacache import DataCache
from saltlite.master.minioncache import GRAINS, MINE, PILLAR, SAVE_FROM, MinionCache


def test_minion_data_come_back(tmp_path: Path) -> None:
    cache = MinionCache(tmp_path)
    assert cache.read(GRAINS, "web1") is None
    assert cache.write(GRAINS, "web1", {"os": "Debian", "raw": b"\xff"})
    assert not cache.write(GRAINS, "web1", {"os": "Debian", "raw": b"\xff"})
    assert MinionCache(tmp_path).read(GRAINS, "web1") == {"os": "Debian", "raw": b"\xff"}
    assert stat.S_IMODE((tmp_path / "grains/web1.p").stat().st_mode) == 0o600
    cache.write(PILLAR, "web1", {"role": "web"})
    (facts,) = cache.facts(["web1"], grains=False)
    assert (facts.grains, facts.pillar) == (None, {"role": "web"})
    assert cache.ids(GRAINS) == ["web1"]
    cache.forget("web1")
    assert cache.read(GRAINS, "web1") is None
    assert cache.ids(PILLAR) == []


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x05", b"\x81"])
def test_damaged_minion_data_count_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "grains").mkdir()
    (tmp_path / "grains/web1.p").write_bytes(content)
    assert MinionCache(tmp_path).read(GRAINS, "web1") is None


# --- columns -----------------------------------------------------------------------------------


def meant(cache: MinionCache, tgt: str, kind: str = "grain", *, greedy: bool = False) -> set[str]:
    return find_expected(Target(tgt, kind), cache.facts(["a", "b", "c"]), greedy=greedy).minions


def asked(cache: MinionCache, tgt: str) -> set[str]:
    return find_expected(Target(tgt, "grain"), cache.facts(["a", "b", "c"])).all_asked


def test_targeting_sees_what_has_changed(tmp_path: Path) -> None:
    cache = MinionCache(tmp_path)
    cache.write(GRAINS, "a", {"os": "Debian", "deep": {"x": {"y": 1}}})
    cache.write(GRAINS, "b", {"os": "Arch"})
    assert meant(cache, "os:debian") == {"a"}
    assert meant(cache, "os:debian", greedy=True) == {"a"}
    assert asked(cache, "os:debian") == {"a", "c"}
    cache.write(GRAINS, "b", {"os": "Debian", "7": 8})
    assert meant(cache, "os:debian") == {"a", "b"}
    assert meant(cache, "nope:*") == set()
    assert meant(cache, "7:8") == {"b"}
    assert meant(cache, "deep:x:y:1") == {"a"}
    assert meant(cache, "*:x:y:1") == {"a"}
    cache.write(PILLAR, "c", {"role": "web", "n": {5: 6}})
    assert meant(cache, "role:web", "pillar") == {"c"}
    assert meant(cache, "n:5:6", "pillar") == {"c"}
    assert meant(cache, "G@os:debian or I@role:web", "compound") == {"a", "b", "c"}
    cache.delete("a", GRAINS)
    assert meant(cache, "os:debian") == {"b"}


def test_damaged_grains_are_not_known(tmp_path: Path) -> None:
    cache = MinionCache(tmp_path)
    cache.write(GRAINS, "a", {"os": "Arch"})
    (tmp_path / "grains/b.p").write_bytes(b"\xc1")
    for tgt in ("os:debian", "*:debian:x", "nope:x"):
        assert asked(cache, tgt) == {"b", "c"}
        assert meant(cache, tgt, greedy=True) == set()
        assert meant(cache, tgt) == set()


def _stamp_of(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_ino


def test_columns_are_kept_for_other_processes(tmp_path: Path) -> None:
    cache, ids = MinionCache(tmp_path), [f"m{number}" for number in range(SAVE_FROM + 1)]
    for number, minion in enumerate(ids):
        cache.write(GRAINS, minion, {"n": number} if number else {})
    target = Target("n:5", "grain")
    assert find_expected(target, cache.facts(ids)).minions == {"m5"}
    [column] = (tmp_path / "columns").iterdir()
    assert stat.S_IMODE(column.stat().st_mode) == 0o600
    cache.write(GRAINS, "m7", {"n": 5})
    other = MinionCache(tmp_path)
    assert find_expected(target, other.facts(ids)).minions == {"m5", "m7"}
    assert other.value(GRAINS, "m6", _stamp_of(tmp_path / "grains/m6.p"), "n") == 6
    column.write_bytes(b"\xc1")
    assert find_expected(target, MinionCache(tmp_path).facts(ids)).minions == {"m5", "m7"}


@pytest.mark.parametrize("minion_id", ["..", "../x", "a/b", ""])
def test_minion_data_stay_where_they_belong(tmp_path: Path, minion_id: str) -> None:
    with pytest.raises(ValueError, match="no such bank or id"):
        MinionCache(tmp_path).write(GRAINS, minion_id, {})


def test_a_mine_has_a_limit(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="at most 10485760 bytes"):
        MinionCache(tmp_path).write(MINE, "web1", {"x": "y" * 11_000_000})


# Two workers at one file at the same moment: both changes hold, the later answer stays.

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
