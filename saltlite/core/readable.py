"""Waiting for input without a limit to the number of a descriptor.

``select(2)`` knows none beyond 1023, and a process with as many connections has larger ones.
"""

from __future__ import annotations

import select
from typing import Protocol


class Descriptor(Protocol):
    """A socket, or what else has a descriptor."""

    def fileno(self) -> int:
        """The descriptor."""


def wait_readable(source: Descriptor, timeout_s: float) -> bool:
    """Whether there is something to read, or the other end has gone, within ``timeout_s``."""
    poll = select.poll()
    poll.register(source.fileno(), select.POLLIN)
    return bool(poll.poll(max(0, round(timeout_s * 1000))))
