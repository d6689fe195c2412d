"""Pillar that is kept: for how long, for whom, and what ends it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from saltlite.config.master import PillarOptions
from saltlite.master import pillarcache
from saltlite.master.minioncache import COMPILED, MinionCache
from saltlite.master.pillarcache import ENVS_KEPT, PillarCache

BACKENDS = ["disk", "memory"]


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def one_key(_minion: str) -> object:
    return "key"


def cache(
    tmp_path: Path, backend: str, clock: Clock, key: Callable[[str], object] = one_key
) -> PillarCache:
    options = PillarOptions(pillar_cache=True, pillar_cache_ttl=60, pillar_cache_backend=backend)
    return PillarCache(options, MinionCache(tmp_path), clock, key)


def kept_in_memory(kept: PillarCache) -> list[str]:
    return [minion for minion, _env in kept._memory]


@pytest.mark.parametrize("backend", BACKENDS)
def test_kept_for_its_minion_and_environment_until_its_time_is_over(
    tmp_path: Path, backend: str
) -> None:
    clock = Clock()
    kept = cache(tmp_path, backend, clock)
    kept.put("a", None, {"x": 1}, clock.now_s)
    kept.put("a", "dev", {"x": 2}, clock.now_s)
    assert kept.get("a", None) == {"x": 1}
    assert kept.get("a", "dev") == {"x": 2}
    assert kept.get("a", "prod") is None
    assert kept.get("b", None) is None
    clock.now_s += 61
    assert kept.get("a", None) is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_clock_that_was_set_back_keeps_nothing_for_ever(tmp_path: Path, backend: str) -> None:
    clock = Clock()
    kept = cache(tmp_path, backend, clock)
    kept.put("a", None, {"x": 1}, clock.now_s)
    clock.now_s -= 500
    assert kept.get("a", None) is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_cleaned_by_one_worker_is_cleaned_for_all(tmp_path: Path, backend: str) -> None:
    clock = Clock()
    one, other = cache(tmp_path, backend, clock), cache(tmp_path, backend, clock)
    one.put("a", None, {"x": 1}, clock.now_s)
    one.put("b", None, {"y": 1}, clock.now_s)
    clock.now_s += 1
    other.clean("a")
    assert one.get("a", None) is None
    assert one.get("b", None) == {"y": 1}
    clock.now_s += 1
    one.put("a", None, {"x": 2}, clock.now_s)
    assert one.get("a", None) == {"x": 2}


def test_the_disk_serves_all_workers_and_memory_leaves_no_secret_there(tmp_path: Path) -> None:
    clock = Clock()
    cache(tmp_path, "disk", clock).put("a", None, {"x": "s3cr3t"}, clock.now_s)
    assert cache(tmp_path, "disk", clock).get("a", None) == {"x": "s3cr3t"}
    file = tmp_path / COMPILED / "a.p"
    assert file.stat().st_mode & 0o777 == 0o600
    file.unlink()
    kept = cache(tmp_path, "memory", clock)
    kept.put("a", None, {"x": "s3cr3t"}, clock.now_s)
    kept.clean("a")
    assert b"s3cr3t" not in file.read_bytes()


def test_it_goes_with_the_minion(tmp_path: Path) -> None:
    clock = Clock()
    kept = cache(tmp_path, "disk", clock)
    kept.put("a", None, {"x": 1}, clock.now_s)
    MinionCache(tmp_path).forget("a")
    assert kept.get("a", None) is None


def test_many_environments_do_not_fill_the_disk(tmp_path: Path) -> None:
    kept = cache(tmp_path, "disk", Clock())
    for number in range(100):
        kept.put("a", f"env{number}", {"x": number}, Clock.now_s)
    found = [number for number in range(100) if kept.get("a", f"env{number}")]
    assert found == list(range(100 - ENVS_KEPT, 100))


@pytest.mark.parametrize("junk", [b"", b"\xc1", b"\x80", b"\x81\xa4envs\x01", b"\xa1x"])
def test_a_damaged_file_counts_as_none(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / COMPILED).mkdir()
    (tmp_path / COMPILED / "a.p").write_bytes(junk)
    kept = cache(tmp_path, "disk", Clock())
    assert kept.get("a", None) is None
    kept.put("a", None, {"x": 1}, Clock.now_s)
    assert kept.get("a", None) == {"x": 1}


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_old_compilation_does_not_replace_what_is_newer(tmp_path: Path, backend: str) -> None:
    clock = Clock()
    kept = cache(tmp_path, backend, clock)
    slow_began_s = clock.now_s
    clock.now_s += 5
    kept.clean("a")  # a refresh, of newer files
    kept.put("a", None, {"x": "new"}, clock.now_s)
    clock.now_s += 5
    kept.put("a", None, {"x": "old"}, slow_began_s)
    assert kept.get("a", None) == {"x": "new"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_old_compilation_does_not_undo_a_refresh(tmp_path: Path, backend: str) -> None:
    clock = Clock()
    kept, other = cache(tmp_path, backend, clock), cache(tmp_path, backend, clock)
    slow_began_s = clock.now_s
    clock.now_s += 5
    other.clean("a")
    kept.put("a", None, {"x": "old"}, slow_began_s)
    assert kept.get("a", None) is None
    kept.put("a", None, {"x": "new"}, clock.now_s)
    assert kept.get("a", None) == {"x": "new"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_next_one_of_that_name_does_not_inherit_it(tmp_path: Path, backend: str) -> None:
    """The key is deleted by another process, and another one is accepted for the same id."""
    keys: dict[str, object] = {"a": "first"}
    kept = cache(tmp_path, backend, Clock(), keys.get)
    kept.put("a", None, {"x": "s3cr3t"}, Clock.now_s)
    assert kept.get("a", None) == {"x": "s3cr3t"}
    MinionCache(tmp_path).forget("a")
    keys["a"] = "second"
    assert kept.get("a", None) is None


def test_memory_lets_go_of_who_is_deleted_and_of_what_is_old(tmp_path: Path) -> None:
    clock, keys = Clock(), {"a": "key", "b": "key", "c": "key"}
    kept = cache(tmp_path, "memory", clock, keys.get)
    for minion in keys:
        kept.put(minion, None, {"x": 1}, clock.now_s)
    del keys["a"]
    kept.drop_gone()
    assert kept_in_memory(kept) == ["b", "c"]
    clock.now_s += 59
    kept.put("c", None, {"x": 1}, clock.now_s)
    clock.now_s += 2
    kept.drop_gone()
    assert kept_in_memory(kept) == ["c"]
    kept.put("gone", None, {"x": 1}, clock.now_s)
    assert kept_in_memory(kept) == ["c"]


def test_memory_is_bounded_by_bytes_and_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pillarcache, "BYTES_IN_MEMORY", 5000)
    kept = cache(tmp_path, "memory", Clock())
    for number in range(10):
        kept.put(f"m{number}", None, {"x": "y" * 1000}, Clock.now_s)
    assert kept_in_memory(kept) == ["m6", "m7", "m8", "m9"]
    kept.put("m8", None, {"x": "y" * 6000}, Clock.now_s)
    assert kept_in_memory(kept) == ["m6", "m7", "m9"]
    monkeypatch.setattr(pillarcache, "KEPT_IN_MEMORY", 2)
    kept.put("small", None, {"x": 1}, Clock.now_s)
    assert kept_in_memory(kept) == ["m9", "small"]
    assert kept.get("small", None) == {"x": 1}
