"""Who can have heard a job, in a loop where many wait: the looks are taken in threads and shared.

What they tell is :class:`saltlite.client.hearers.HearerCount`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from saltlite.client.hearers import Connections, HearerCount

FRESH_S: Final = 0.2
"""How long a look serves for the next jobs, too; one may read thousands of lines."""


class Lookout:
    """Looks at the connections in a thread, once for all who want to know at a time."""

    def __init__(self, look: Callable[[], Connections]) -> None:
        self._look = look
        self._looking: asyncio.Task[Connections] | None = None
        self._since_s = 0.0

    def look(self) -> Awaitable[Connections]:
        """The connections that there are now, or were a moment ago."""
        now_s = time.monotonic()
        if self._looking is None or (self._looking.done() and now_s - self._since_s > FRESH_S):
            self._since_s = now_s
            self._looking = asyncio.get_running_loop().create_task(asyncio.to_thread(self._look))
        return asyncio.shield(self._looking)


class Hearers:
    """The connections that there were since a job was published.

    Make it before the job is published. ``clock`` gives seconds and does not go backwards.
    """

    def __init__(
        self,
        look: Callable[[], Awaitable[Connections]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._clock = clock
        self._first = look()
        self._count = HearerCount(clock())

    def patience(self, patience_s: float) -> float:
        """How long to wait before :meth:`are_all` is asked again, at most ``patience_s``."""
        return self._count.patience(patience_s, self._clock())

    async def are_all(self, returned: int) -> bool:
        """Whether nobody but the ``returned`` minions can have heard the job."""
        count = self._count
        if not count.is_time(self._clock()):
            return False
        if not count.has_begun:
            count.begin(await self._first)
        return count.may_be_all(returned) and count.are_all(await self._look(), returned)
