"""Stops reactions that cause themselves: too many runs of one of them in a second."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from saltlite.core.dataclasses import dataclass, field

RUNS_PER_S: Final = 100
PAUSE_S: Final = 10.0
KEYS_MOST: Final = 10_000


@dataclass(slots=True)
class _Count:
    """Runs of one key since a moment, and until when it is paused."""

    since_s: float
    runs: int = 0
    paused_until_s: float = 0.0
    is_told: bool = False


@dataclass(slots=True)
class LoopGuard:
    """Counts runs by key: the reaction, and whom its event is about."""

    _counts: dict[Hashable, _Count] = field(default_factory=dict)

    def allows(self, key: Hashable, now_s: float) -> bool:
        """Whether a reaction may run now; counts it if so."""
        count = self._count(key, now_s)
        if now_s < count.paused_until_s:
            return False
        if now_s - count.since_s >= 1.0:
            count.since_s, count.runs = now_s, 0
        count.runs += 1
        if count.runs <= RUNS_PER_S:
            return True
        count.paused_until_s, count.is_told = now_s + PAUSE_S, False
        return False

    def begins_pause(self, key: Hashable) -> bool:
        """Whether the refusal just given is the first one of a pause; asked once for each."""
        count = self._counts[key]
        is_first, count.is_told = not count.is_told, True
        return is_first

    def _count(self, key: Hashable, now_s: float) -> _Count:
        found = self._counts.get(key)
        if found is None:
            if len(self._counts) >= KEYS_MOST:
                self._forget(now_s)
            found = self._counts[key] = _Count(now_s)
        return found

    def _forget(self, now_s: float) -> None:
        """Keep those that are paused, and those of this second."""
        self._counts = {
            key: count
            for key, count in self._counts.items()
            if now_s < count.paused_until_s or now_s - count.since_s < 1.0
        }
