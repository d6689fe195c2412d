"""How often something may be done: budgets that refill with time, one for all workers."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from saltlite.master.rates import Rates, TimeBudgets
from saltlite.master.shared import SharedPairs


@pytest.fixture
def pairs() -> Iterator[SharedPairs]:
    found = SharedPairs()
    yield found
    found.close()


def test_time_comes_back_with_time(pairs: SharedPairs) -> None:
    budgets = TimeBudgets(6.0, pairs)
    budgets.spend("web1", 5.9, 100.0)
    assert budgets.allows("web1", 100.0)
    budgets.spend("web1", 6.1, 100.0)
    assert not budgets.allows("web1", 100.0)
    assert budgets.allows("web2", 100.0)
    assert not budgets.allows("web1", 159.0)
    assert budgets.allows("web1", 161.0)


def test_a_budget_refills_with_time(pairs: SharedPairs) -> None:
    rates = Rates(pairs)
    assert [rates.allows("x", "web1", 2.0, 0.0) for _ in range(3)] == [True, True, False]
    assert rates.allows("x", "web2", 2.0, 0.0)
    assert rates.allows("y", "web1", 2.0, 0.0)
    assert rates.allows("x", "web1", 2.0, 0.5)
    assert not rates.allows("x", "web1", 2.0, 0.6)


def test_a_group_larger_than_the_budget_passes_when_it_is_full(pairs: SharedPairs) -> None:
    rates = Rates(pairs)
    assert rates.allows("x", "web1", 5.0, 0.0, count=20)
    assert not rates.allows("x", "web1", 5.0, 1.0, count=20)
    assert rates.allows("x", "web1", 5.0, 4.0, count=20)


def test_a_clock_that_another_worker_read_sooner_takes_nothing(pairs: SharedPairs) -> None:
    rates = Rates(pairs)
    assert rates.allows("x", "web1", 1.0, 10.0)
    assert not rates.allows("x", "web1", 1.0, 9.99)
    assert rates.allows("x", "web1", 1.0, 11.0)


def test_workers_have_one_budget(pairs: SharedPairs) -> None:
    """Each had a share of its own: who met one worker alone had a fifth of what is promised."""
    rates = Rates(pairs)
    assert sum(rates.allows("x", "web1", 10.0, 0.0) for _ in range(4)) == 4
    pid = os.fork()
    if not pid:
        taken = sum(rates.allows("x", "web1", 10.0, 0.0) for _ in range(8))
        os._exit(taken)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 6
    assert not rates.allows("x", "web1", 10.0, 0.0)


def test_who_was_met_long_ago_gives_way_to_others(pairs: SharedPairs) -> None:
    """The memory is what it is, however many names come."""
    rates = Rates(pairs)
    for number in range(60_000):
        rates.allows("x", f"m{number}", 1.0, float(number))
    late = [not rates.allows("x", f"m{number}", 0.0, 60_000.0) for number in range(59_000, 60_000)]
    assert sum(late) > 900
    assert all(rates.allows("x", f"m{number}", 1.0, 60_000.0) for number in range(100))
