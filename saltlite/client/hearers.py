"""How many minions can have heard a job: no more than had a connection to the publish port.

A minion that is not connected does not get a job, and every other has one connection. So when as
many minions have returned as there were connections, the others need not be waited for. Addresses
do not matter, so neither does what stands between; where the numbers do not fit, nothing is
concluded. Source: docs/api.md, "Minions that are not there".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeAlias

SETTLE_S: Final = 0.25
"""A minion that is just coming back is given that long."""

LOOK_EVERY_S: Final = 0.5

Connections: TypeAlias = frozenset[str] | None
"""The connections there are, ``None`` if that cannot be known."""


class HearerCount:
    """What looks at the connections tell of one job. Pure; times are of a clock that goes on.

    Make it before the job is published, and look then for the first time.
    """

    def __init__(self, now_s: float) -> None:
        self._seen: Connections = frozenset()
        self._look_at_s = now_s + SETTLE_S
        self.has_begun = False

    def patience(self, patience_s: float, now_s: float) -> float:
        """How long to wait before it is time to look again, at most ``patience_s``."""
        if self._seen is None:
            return patience_s
        return max(0.0, min(patience_s, self._look_at_s - now_s))

    def is_time(self, now_s: float) -> bool:
        """Whether to look now; then not again for a while."""
        if self._seen is None or now_s < self._look_at_s:
            return False
        self._look_at_s = now_s + LOOK_EVERY_S
        return True

    def begin(self, connections: Connections) -> None:
        """Note what was there before the job was published."""
        self.has_begun = True
        self._seen = connections

    def may_be_all(self, returned: int) -> bool:
        """Whether a further look can show that nobody else is to be waited for."""
        return self._seen is not None and len(self._seen) <= returned

    def are_all(self, now: Connections, returned: int) -> bool:
        """Whether by a look of now nobody but the ``returned`` can have heard the job.

        One that came anew counts too.
        """
        # One that is gone by now may have heard the job, so it stays counted.
        self._seen = None if now is None or self._seen is None else self._seen | now
        # More returns than connections: the numbers do not fit, and say nothing.
        return self._seen is not None and len(self._seen) == returned


class BlockingHearers:
    """The connections that there were since a job was published, for who waits by blocking.

    Make it before the job is published. ``clock`` gives seconds and does not go backwards.
    """

    def __init__(
        self, look: Callable[[], Connections], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._look = look
        self._clock = clock
        self._count = HearerCount(clock())
        self._count.begin(look())

    def patience(self) -> float:
        """How long to wait before :meth:`are_all` is asked again."""
        return self._count.patience(LOOK_EVERY_S, self._clock())

    def are_all(self, returned: int) -> bool:
        """Whether nobody but the ``returned`` minions can have heard the job."""
        count = self._count
        if not count.is_time(self._clock()) or not count.may_be_all(returned):
            return False
        return count.are_all(self._look(), returned)
