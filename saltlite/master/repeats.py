"""What a Publisher that took over from a killed one publishes again, for those who come back later.

Subscribers come back when they like, up to ``recon_max`` after the loss, and a PUB socket sends to
those only that are there. So for a minute jobs are kept, and published once more after others have
connected, less and less often. Each time they get another serial; who has run them knows their
jids and does nothing.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, NamedTuple

WINDOW_S: Final = 60.0
"""Longer than any usual ``recon_default`` and ``recon_max``: 11 s by default."""

FIRST_S: Final = 0.25
GROWTH: Final = 1.5
SETTLE_S: Final = 0.1
"""From a connection to the subscription that follows it."""

MOST: Final = 50
"""Jobs that are kept; the oldest go first.

Real Salt's minions remember the last 100 jobs that they took, and run an older one again. After a
job that is kept, one may have taken those that came after it and, by a repeat, those kept before
it: less than twice as many as are kept.
"""


class Kept(NamedTuple):
    """A job as it was handed over."""

    job: dict[str, Any]
    topics: Any


class Repeats:
    """Which jobs are due again. Times are seconds of a clock that only goes forward."""

    def __init__(self, now_s: float) -> None:
        self._until_s = now_s + WINDOW_S
        self._pause_s = FIRST_S
        self._next_s = now_s + FIRST_S
        self._last_s = now_s
        self._arrival_s = now_s
        self._kept: deque[Kept] = deque(maxlen=MOST)

    def keep(self, job: dict[str, Any], topics: object) -> None:
        """Remember a job that has just been published."""
        self._kept.append(Kept(job, topics))

    def note_arrival(self, now_s: float) -> None:
        """Somebody has connected."""
        self._arrival_s = now_s

    def wait_s(self, now_s: float) -> float:
        """How long until there may be something due."""
        return max(0.01, self._next_s - now_s)

    def is_over(self, now_s: float) -> bool:
        """Whether everybody who comes back is there by now."""
        return now_s > self._until_s

    def due(self, now_s: float) -> list[Kept]:
        """What is to be published again now: all, if somebody has come since the last time."""
        if now_s < self._next_s:
            return []
        # Most come back early, and each time every minion is sent all of it.
        self._pause_s *= GROWTH
        self._next_s = now_s + self._pause_s
        # Nobody new; who connected just before may have subscribed only after it.
        if self._arrival_s < self._last_s - SETTLE_S:
            return []
        self._last_s = now_s
        return list(self._kept)
