"""Who was asked for the latest jobs: what is kept of it in memory."""

from __future__ import annotations

import tracemalloc

import pytest

from saltlite.master import asked
from saltlite.master.asked import JOBS_MOST, AskedMinions

MANY = [f"web-{number:05}.example.com" for number in range(10_000)]


def test_equal_sets_are_kept_once() -> None:
    kept = AskedMinions()
    first = kept.remember("1", MANY)
    assert kept.remember("2", list(MANY)) is first
    one = kept.size_bytes
    kept.remember("3", ["a"])
    assert kept.get("2") is first
    assert kept.get("4") is None
    kept.forget("1")
    assert kept.size_bytes > one
    kept.forget("2")
    assert kept.size_bytes < 1000
    kept.remember("3", ["b"])
    kept.forget("3")
    kept.forget("3")
    assert (kept.size_bytes, len(kept)) == (0, 0)


def test_as_many_jobs_as_are_bounded() -> None:
    kept = AskedMinions()
    for number in range(JOBS_MOST + 5):
        kept.remember(str(number), ["a"])
    assert len(kept) == JOBS_MOST
    assert kept.get("4") is None
    assert kept.get("5") == {"a"}


def test_as_many_bytes_as_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "MOST_BYTES", 3_000_000)
    kept = AskedMinions()
    for number in range(20):
        kept.remember(str(number), MANY[number:])
    assert kept.size_bytes <= 3_000_000
    assert kept.get("19") == frozenset(MANY[19:])
    assert kept.get("0") is None
    monkeypatch.setattr(asked, "MOST_BYTES", 1)
    kept.remember("20", MANY)
    assert kept.get("20") == frozenset(MANY)  # the latest, however large
    assert len(kept) == 1


def test_500_jobs_for_10000_minions_take_little_memory() -> None:
    """Each job had 1.3 MiB of its own."""
    kept = AskedMinions()
    tracemalloc.start()
    for number in range(JOBS_MOST):
        kept.remember(str(number), [str(one) for one in MANY])
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken < 4 * 1024 * 1024
