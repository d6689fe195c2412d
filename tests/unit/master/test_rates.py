"""How often something may be done: budgets that refill with time."""

from __future__ import annotations

from saltlite.master.rates import Rates, TimeBudgets


def test_time_comes_back_with_time() -> None:
    budgets = TimeBudgets(12.0, share=0.5)
    budgets.spend("web1", 5.9, 100.0)
    assert budgets.allows("web1", 100.0)
    budgets.spend("web1", 6.1, 100.0)
    assert not budgets.allows("web1", 100.0)
    assert budgets.allows("web2", 100.0)
    assert not budgets.allows("web1", 159.0)
    assert budgets.allows("web1", 161.0)
    for number in range(20_000):
        budgets.spend(f"m{number}", 9.0, 161.0)
    assert len(budgets._spent) == 10_000


def test_a_budget_refills_with_time() -> None:
    rates = Rates()
    assert [rates.allows("x", "web1", 2.0, 0.0) for _ in range(3)] == [True, True, False]
    assert rates.allows("x", "web2", 2.0, 0.0)
    assert rates.allows("x", "web1", 2.0, 0.5)
    assert not rates.allows("x", "web1", 2.0, 0.6)
    assert Rates(share=0.1).allows("x", "web1", 5.0, 0.0)
