"""The connections of a port, counted by address, so that nobody can use up the descriptors.

An address may have as many connections as three times those that are still free: one alone gets
three quarters, several get more together, and something is always left for others.
"""

from __future__ import annotations

import logging
import os
import resource
import time
from collections import Counter
from typing import Final

from saltlite import process
from saltlite.core.rare_lines import RareLine
from saltlite.transport.tcp import origin_of

log = logging.getLogger(__name__)

SPARE_DESCRIPTORS: Final = 64
LEAST: Final = 16
FREE_TIMES: Final = 3
RELEASE_AFTER: Final = 200
RELEASE_S: Final = 10.0
"""After so many connections have ended memory is given back: what they sent has left holes."""


def available_descriptors() -> int:
    """How many connections this process can have, beside what it has open now."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # RLIM_INFINITY is -1, and would count as no descriptors at all.
    if soft == resource.RLIM_INFINITY:
        return 1 << 30
    return max(LEAST, soft - len(os.listdir("/proc/self/fd")) - SPARE_DESCRIPTORS)


class Connections:
    """The connections of one port. ``most`` is how many there may be."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._origins: dict[int, str] = {}
        self._by_origin: Counter[str] = Counter()
        self._excess_line = RareLine()
        self._gone = 0
        self._release_s = 0.0
        self.admitted = 0
        """How many there have been so far."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self._origins)

    def release_memory(self, now_s: float) -> None:
        """Give back what connections held that have ended; not while more and more of them end."""
        if self._gone < RELEASE_AFTER:
            return
        if not self._release_s:
            self._release_s = now_s + RELEASE_S
        elif now_s >= self._release_s:
            self._gone, self._release_s = 0, 0.0
            process.release_memory()

    def admit(self, fd: int, host: str) -> bool:
        """Count a new connection from an address; ``False`` if it is too much, and to be closed."""
        origin = origin_of(host)
        if self._by_origin[origin] >= FREE_TIMES * (self._most - len(self._origins)):
            self._warn_of_excess(origin)
            return False
        self._origins[fd] = origin
        self._by_origin[origin] += 1
        self.admitted += 1
        return True

    def forget(self, fd: int) -> None:
        """An admitted connection has ended."""
        origin = self._origins.pop(fd)
        self._by_origin[origin] -= 1
        if not self._by_origin[origin]:
            del self._by_origin[origin]
        self._gone += 1

    def _warn_of_excess(self, origin: str) -> None:
        """Say so, not too often."""
        more = self._excess_line.count(time.monotonic())
        if more is not None:
            log.warning(
                "Refused a connection from %s, which has %d of %d; %d are allowed%s",
                origin,
                self._by_origin[origin],
                len(self._origins),
                self._most,
                more,
            )
