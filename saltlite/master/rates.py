"""How often one minion may do a thing: budgets that refill with time.

A budget is one for all workers, since one worker may get all requests of a quiet master. Source:
docs/security.md#limits.
"""

from __future__ import annotations

from typing import Final

from saltlite.master.shared import SharedPairs

EVENTS_PER_S: Final = 100.0
UNASKED_PER_S: Final = 10.0
SLOW_TARGETS_S: Final = 20.0
"""So long targets that may take long may take in a minute, of one minion or limited user."""


class Rates:
    """Token buckets by (kind, id)."""

    def __init__(self, pairs: SharedPairs) -> None:
        self._pairs = pairs

    def allows(
        self, kind: str, minion_id: str, per_s: float, now_s: float, *, count: int = 1
    ) -> bool:
        """Whether ``count`` more are in the budget; if so they are taken from it.

        The budget holds what one second gives, and at least ``count`` when it is full.
        """
        # A group that is larger than the budget passes when it is full, not never.
        most = max(per_s, float(count))
        allowed = False

        def take(left: float, seen_s: float) -> float:
            nonlocal allowed
            left = min(most, left + max(0.0, now_s - seen_s) * per_s)
            allowed = left >= count
            return left - count if allowed else left

        self._pairs.change(f"{kind}\0{minion_id}", now_s, most, take)
        return allowed


class TimeBudgets:
    """So many seconds a minute for each name."""

    def __init__(self, most_s: float, pairs: SharedPairs) -> None:
        self._most_s = most_s
        self._pairs = pairs

    def allows(self, name: str, now_s: float) -> bool:
        """Whether anything is left. What is begun then may take more than that."""
        return self._spend(name, 0.0, now_s) < self._most_s

    def spend(self, name: str, seconds: float, now_s: float) -> None:
        """Take note of what something took that has just ended."""
        self._spend(name, seconds, now_s)

    def _spend(self, name: str, seconds: float, now_s: float) -> float:
        """What has been spent, with ``seconds`` more; a minute gives back all of it."""
        spent_s = 0.0

        def add(before_s: float, noted_s: float) -> float:
            nonlocal spent_s
            back_s = max(0.0, now_s - noted_s) * self._most_s / 60.0
            spent_s = max(0.0, before_s - back_s) + seconds
            return spent_s

        self._pairs.change(f"time\0{name}", now_s, 0.0, add)
        return spent_s
