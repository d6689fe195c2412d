"""A subscription that broke is made again soon: most masters are back within a second.

libzmq waits, once drawn for each socket, between ``recon_default`` and ``recon_default`` +
``recon_max``: up to eleven seconds in which a minion hears no job. Who has set one of these options
wants its waits as they are set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Final

FIRST_S: Final = 0.2
SPREAD_S: Final = 1.0
"""From the loss to the first try; all minions of a master are spread over the second."""

PAUSE_S: Final = 1.0
"""Then; it doubles, so that one who is far away has the time to shake hands."""

TRIES: Final = 4
"""Of each loss; after them it is left to libzmq."""

OPTIONS: Final = frozenset({"recon_default", "recon_max", "recon_randomize"})


def is_wanted(source: Collection[str]) -> bool:
    """Whether nobody has said how long to wait; ``source`` are the options that are set."""
    return not OPTIONS & set(source)


class Rejoin:
    """Calls ``connect`` a few times after a connection that was up broke."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connect: Callable[[], None],
        chance: Callable[[], float],
    ) -> None:
        """``chance`` draws from 0 to 1; ``connect`` must not raise."""
        self._loop = loop
        self._connect = connect
        self._chance = chance
        self._timer: asyncio.TimerHandle | None = None
        self._was_up = False
        self._tried = 0

    def note_up(self) -> None:
        """Hands are shaken."""
        self.stop()
        self._was_up = True

    def note_loss(self) -> None:
        """The connection broke, or ended before it was one."""
        # What takes connections and ends them, as a proxy without masters, is not asked more often.
        if self._was_up:
            self._was_up = False
            self._tried = 0
            self._wait(FIRST_S)

    def stop(self) -> None:
        """Try no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, least_s: float) -> None:
        self.stop()
        delay_s = least_s + SPREAD_S * self._chance()
        self._timer = self._loop.call_later(delay_s, self._try)

    def _try(self) -> None:
        self._tried += 1
        if self._tried < TRIES:
            self._wait(PAUSE_S * 2 ** (self._tried - 1))
        self._connect()
