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
TRIES: Final = 10
"""Then it is left to libzmq."""

OPTIONS: Final = frozenset({"recon_default", "recon_max", "recon_randomize"})


def is_wanted(source: Collection[str]) -> bool:
    """Whether nobody has said how long to wait; ``source`` are the options that are set."""
    return not OPTIONS & set(source)


class Rejoin:
    """Calls ``connect`` again and again from :meth:`begin` on, until :meth:`stop`."""

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
        self._left = 0

    def begin(self) -> None:
        """The connection broke."""
        self._left = TRIES
        self._wait(FIRST_S)

    def stop(self) -> None:
        """It is there, or not wanted any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, least_s: float) -> None:
        self.stop()
        delay_s = least_s + SPREAD_S * self._chance()
        self._timer = self._loop.call_later(delay_s, self._try)

    def _try(self) -> None:
        self._left -= 1
        if self._left:
            self._wait(PAUSE_S)
        self._connect()
