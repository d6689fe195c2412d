"""EventPublisher: the master's event bus. PULL takes from everyone, XPUB gives to every subscriber.

What happens to a frame is :class:`~saltlite.transport.bus.Relay`'s; here are the sockets and the
loop. A slow subscriber loses events beyond ``salt_event_pub_hwm`` and sees the gap in the
sequence; nobody waits for it. EventReturn, if there is one, gets every event through a queue of
its own (:class:`~saltlite.master.eventqueue.EventQueue`). Source: docs/wire.md#the-event-bus;
docs/reliability.md#processes-die, #somebody-is-slow.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import zmq

from saltlite.master.acl_files import READ_WRITE, let_in
from saltlite.master.child import EXIT_CANNOT_START, Life
from saltlite.master.eventqueue import EventQueue
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import Relay, bind_bus, take_subscription

log = logging.getLogger(__name__)

BATCH: Final = 256
LINGER_MS: Final = 1000

LAST_MS: Final = 100
"""At the end no more comes after this long without an event."""

QUEUE_S: Final = 8.0
"""How long EventReturn has at the end to take what waits for it; less than this process's grace."""


class EventPublisher:
    """The process between ``master_event_pull.ipc`` and ``master_event_pub.ipc``.

    ``hwm`` is ``salt_event_pub_hwm``: events kept for a slow subscriber. ``readers`` are the
    numbers of other users who may subscribe, ``writers`` of those who may fire. ``window`` is how
    many events EventReturn may have in hand; 0 where there is none.
    """

    def __init__(
        self,
        sockets: MasterSockets,
        hwm: int,
        readers: Sequence[int] = (),
        writers: Sequence[int] = (),
        *,
        window: int = 0,
    ) -> None:
        self._sockets = sockets
        self._hwm = hwm
        self._readers = readers
        self._writers = writers
        self._window = window
        self._relay = Relay()
        self._queue: EventQueue | None = None

    def run(self, life: Life) -> None:
        """Bind both sockets, pass events on until told to stop, then empty the line."""
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            pull, publisher = bind_bus(
                context, self._sockets.event_pull, self._sockets.event_pub, hwm=self._hwm
            )
            # After the bind, which creates these files.
            let_in(self._sockets.event_pub, self._readers, READ_WRITE)
            let_in(self._sockets.event_pull, self._writers, READ_WRITE)
        except (zmq.ZMQError, ValueError) as error:
            log.error("EventPublisher cannot bind its sockets: %s", error)
            raise SystemExit(EXIT_CANNOT_START) from error
        try:
            if self._window:
                self._queue = EventQueue(context, self._sockets.event_return, window=self._window)
            self._relay_until_stopped(life, pull, publisher)
        finally:
            context.destroy(linger=LINGER_MS)

    def _relay_until_stopped(
        self, life: Life, pull: zmq.Socket[bytes], publisher: zmq.Socket[bytes]
    ) -> None:
        poller = zmq.Poller()
        poller.register(pull, zmq.POLLIN)
        # XPUB is read as well: subscriptions come from it, and some get an answer.
        poller.register(publisher, zmq.POLLIN)
        if self._queue is not None:
            poller.register(self._queue.socket, zmq.POLLIN)
        life.register(poller)
        life.ready()
        subscribe = partial(take_subscription, self._relay, publisher)
        while not life.stopping:
            for socket, _events in life.poll(poller):
                if socket is pull:
                    _pass_on(pull, publisher, self._take_event)
                elif socket is publisher:
                    _pass_on(publisher, publisher, subscribe)
            # In each turn: what has just come is not to wait for an acknowledgement.
            if self._queue is not None:
                self._queue.send()
        # Those who fired have ended by now, but what they sent may still be on its way in.
        while pull.poll(LAST_MS):
            _pass_on(pull, publisher, self._take_event)
        if self._queue is not None:
            self._queue.send_all(QUEUE_S)

    def _take_event(self, frames: Sequence[bytes]) -> list[bytes] | None:
        answer = self._relay.event(frames)
        if answer is not None and self._queue is not None:
            self._queue.add(frames[0])
        return answer


def _pass_on(
    source: zmq.Socket[bytes],
    publisher: zmq.Socket[bytes],
    relay: Callable[[Sequence[bytes]], list[bytes] | None],
) -> bool:
    """Publish what becomes of up to ``BATCH`` messages; ``False`` if there were none."""
    for count in range(BATCH):
        try:
            frames = source.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return count > 0
        answer = relay(frames)
        if answer is not None:
            # Never blocks: XPUB drops what a slow subscriber has no room for.
            publisher.send_multipart(answer)
    return True
