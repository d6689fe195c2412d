"""How often one minion may do a thing: budgets that refill with time. Source: security.md 3.2."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

EVENTS_PER_S: Final = 100.0
UNASKED_PER_S: Final = 10.0
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
        gain = max(per_s * self._share, 1.0)
        most = max(gain, float(count))
        left, seen_s = self._buckets.pop((kind, minion_id), (most, now_s))
        left = min(most, left + (now_s - seen_s) * gain)
        allowed = left >= count
        self._buckets[kind, minion_id] = (left - count if allowed else left, now_s)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return allowed
