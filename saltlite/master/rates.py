"""How often one minion may do a thing: budgets that refill with time.

Source: docs/security.md#limits.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

EVENTS_PER_S: Final = 100.0
UNASKED_PER_S: Final = 10.0
SLOW_TARGETS_S: Final = 20.0
"""So long targets that may take long may take in a minute, of one minion or limited user."""

_REMEMBERED: Final = 10_000


class Rates:
    """Token buckets by (kind, id). ``share`` is this worker's part of every budget."""

    def __init__(self, *, share: float = 1.0) -> None:
        self._share = share
        self._buckets: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def allows(
        self, kind: str, minion_id: str, per_s: float, now_s: float, *, count: int = 1
    ) -> bool:
        """Whether ``count`` more are in the budget; if so they are taken from it.

        The budget holds what one second gives, and at least ``count`` when it is full.
        """
        # Below one a bucket would never hold enough for anything.
        gain = max(per_s * self._share, 1.0)
        # A group that is larger than the budget passes when it is full, not never.
        most = max(gain, float(count))
        # Put in anew at the end, so that the first one is of who was quiet for longest.
        left, seen_s = self._buckets.pop((kind, minion_id), (most, now_s))
        left = min(most, left + (now_s - seen_s) * gain)
        allowed = left >= count
        self._buckets[kind, minion_id] = (left - count if allowed else left, now_s)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return allowed


class TimeBudgets:
    """So many seconds a minute for each name; ``share`` is this worker's part of them."""

    def __init__(self, most_s: float, *, share: float = 1.0) -> None:
        self._most_s = most_s * share
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, name: str, now_s: float) -> bool:
        """Whether anything is left. What is begun then may take more than that."""
        return self._spent_by(name, now_s) < self._most_s

    def spend(self, name: str, seconds: float, now_s: float) -> None:
        """Take note of what something took that has just ended."""
        self._spent[name] = (self._spent_by(name, now_s) + seconds, now_s)
        self._spent.move_to_end(name)
        if len(self._spent) > _REMEMBERED:
            self._spent.popitem(last=False)

    def _spent_by(self, name: str, now_s: float) -> float:
        spent_s, noted_s = self._spent.get(name, (0.0, now_s))
        return max(0.0, spent_s - (now_s - noted_s) * self._most_s / 60.0)
