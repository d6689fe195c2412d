"""Replies that come later: a worker hands work away, and its caller hears when that is done.

The worker answers ReqServer with a ticket instead of a reply, and is free. Whoever does the work
pushes the reply with the same ticket to ReqServer, which has kept whom it is for. So nothing that
takes long keeps a worker, and a lost reply costs its caller the wait, nobody else anything.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path
from typing import Final

import zmq

from saltlite.core.dataclasses import dataclass, field
from saltlite.transport.addresses import ipc

LATE: Final = b"\xc1late:"
"""Begins a ticket. No reply begins so: 0xC1 is the one byte that msgpack never uses."""

AGAIN: Final = b"\xc1again:"
"""Begins what may come in place of a late reply: the caller's request in another form."""

LATE_S: Final = 3600.0
"""After this nobody waits for a reply any more."""

MOST: Final = 10_000
EARLY_MOST: Final = 100
PUSH_LINGER_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Later:
    """What a handler returns when the reply comes later. ``ticket`` is nobody's but its own."""

    ticket: bytes = field(default_factory=lambda: os.urandom(16))

    @property
    def frame(self) -> bytes:
        """What the worker answers ReqServer."""
        return LATE + self.ticket


@dataclass(slots=True)
class Owed:
    """Who waits for which ticket. Replies that are faster than their tickets wait too.

    Times are seconds of a clock that only goes forward; both memories are bounded, and the oldest
    entries go first.
    """

    most: int = MOST
    _callers: OrderedDict[bytes, tuple[bytes, float]] = field(default_factory=OrderedDict)
    _early: OrderedDict[bytes, bytes] = field(default_factory=OrderedDict)

    def promise(self, frame: bytes, identity: bytes, now_s: float) -> bytes | None:
        """Keep who is to get the reply; that reply if it is there already."""
        ticket = frame[len(LATE) :]
        # Ticket and reply come from two processes over two sockets, in any order.
        reply = self._early.pop(ticket, None)
        if reply is None:
            self._callers[ticket] = (identity, now_s)
        return reply

    def take_waiter(self, ticket: bytes, reply: bytes) -> bytes | None:
        """Whom a reply is for; ``None`` if nobody is known yet to wait for it."""
        caller = self._callers.pop(ticket, None)
        if caller is not None:
            return caller[0]
        self._early[ticket] = reply
        # A reply whose ticket was lost with its worker would be kept for ever.
        while len(self._early) > EARLY_MOST:
            self._early.popitem(last=False)
        return None

    def take_given_up(self, now_s: float) -> list[bytes]:
        """Who has waited too long, or is one too many; they are forgotten."""
        found = []
        while self._callers:
            identity, since_s = next(iter(self._callers.values()))
            # They are in the order of their promises: if the first one is in time, all are.
            if len(self._callers) <= self.most and now_s - since_s < LATE_S:
                break
            self._callers.popitem(last=False)
            found.append(identity)
        return found


def push_reply(path: Path, ticket: bytes, reply: bytes) -> None:
    """Hand a reply to ReqServer. For processes that end soon after: it waits until it is taken."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.PUSH)
    socket.connect(ipc(path))
    socket.send_multipart((ticket, reply))
    context.destroy(linger=PUSH_LINGER_MS)
