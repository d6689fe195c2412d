"""Requests that follow one another on one connection: handed out one at a time, in their order.

A REQ socket waits for each reply. A DEALER need not, and its requests would be answered by several
workers, the quick ones first. So one that comes before the reply to the one before it waits here,
and no connection keeps more than one worker. What is too much is not kept: it is answered, with a
refusal, when its turn has come.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from saltlite.core.dataclasses import dataclass, field

BEHIND_MOST: Final = 50
"""Requests that wait behind one of their own connection. Source: docs/security.md#limits."""

REFUSED_MOST: Final = 1000
MOST: Final = 10_000
MOST_BYTES: Final = 64 * 1024 * 1024
"""Of all connections."""


@dataclass(slots=True)
class _Behind:
    """What waits behind the request of a connection that is under way."""

    bodies: deque[bytes] = field(default_factory=deque)
    refused: int = 0
    """At most so many as ZeroMQ would keep replies for one connection."""


class Pipelines:
    """Which connections have a request under way, and what waits behind it."""

    def __init__(self) -> None:
        self._open: dict[bytes, _Behind | None] = {}
        self._waiting = 0
        self._waiting_bytes = 0

    def admit(self, identity: bytes, body: bytes) -> bool:
        """Whether a request may be handed out now; else it is kept."""
        if identity not in self._open:
            # A REQ socket never has more, so nothing is made for what could wait.
            self._open[identity] = None
            return True
        behind = self._open[identity]
        if behind is None:
            behind = self._open[identity] = _Behind()
        # After one refusal the rest is refused too: replies keep the order of requests.
        if behind.refused or self._is_full(behind):
            behind.refused = min(behind.refused + 1, REFUSED_MOST)
            return False
        behind.bodies.append(body)
        self._count_waiting(1, len(body))
        return False

    def is_open(self, identity: bytes) -> bool:
        """Whether a request of this connection is under way."""
        return identity in self._open

    def go_on(self, identity: bytes) -> tuple[bytes | None, int]:
        """After a reply: the request whose turn it is, or how many are to be refused now."""
        behind = self._open.get(identity)
        if behind is not None and behind.bodies:
            body = behind.bodies.popleft()
            self._count_waiting(-1, -len(body))
            return body, 0
        # Nothing is left before the refused ones, which are all at the end.
        self._open.pop(identity, None)
        return None, 0 if behind is None else behind.refused

    def _is_full(self, behind: _Behind) -> bool:
        return (
            len(behind.bodies) >= BEHIND_MOST
            or self._waiting >= MOST
            or self._waiting_bytes >= MOST_BYTES
        )

    def _count_waiting(self, requests: int, size_bytes: int) -> None:
        self._waiting += requests
        self._waiting_bytes += size_bytes
