"""EventPublisher: the master's event bus. PULL takes from everyone, XPUB gives to every subscriber.

What happens to a frame is :class:`~saltlite.transport.bus.Relay`'s; here are the sockets and the
loop. A slow subscriber loses events beyond ``salt_event_pub_hwm`` and sees the gap in the
sequence; nobody waits for it. Source: protocol.md 12.1; reliability.md 2.6, 6.2.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

import zmq

from saltlite.master.child import EXIT_CANNOT_START, Life
from saltlite.master.doors import READ_WRITE, let_in
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import Relay, bind_bus

log = logging.getLogger(__name__)

BATCH: Final = 256
LINGER_MS: Final = 1000


class EventPublisher:
    """The process between ``master_event_pull.ipc`` and ``master_event_pub.ipc``.

    ``hwm`` is ``salt_event_pub_hwm``: events kept for a slow subscriber. ``readers`` are the
    numbers of other users who may subscribe.
    """

    def __init__(self, sockets: MasterSockets, hwm: int, readers: Sequence[int] = ()) -> None:
        self._sockets = sockets
        self._hwm = hwm
        self._readers = readers
        self._relay = Relay()

    def run(self, life: Life) -> None:
        """Bind both sockets, pass events on until told to stop, then empty the line."""
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            pull, publisher = bind_bus(
                context, self._sockets.event_pull, self._sockets.event_pub, hwm=self._hwm
            )
            let_in(self._sockets.event_pub, self._readers, READ_WRITE)
        except (zmq.ZMQError, ValueError) as error:
            log.error("EventPublisher cannot bind its sockets: %s", error)
            raise SystemExit(EXIT_CANNOT_START) from error
        try:
            poller = zmq.Poller()
            poller.register(pull, zmq.POLLIN)
            poller.register(publisher, zmq.POLLIN)
            life.register(poller)
            life.ready()
            while not life.stopping:
                for socket, _events in life.poll(poller):
                    if socket is pull:
                        _pass_on(pull, publisher, self._relay.event)
                    elif socket is publisher:
                        _pass_on(publisher, publisher, self._relay.subscription)
            while _pass_on(pull, publisher, self._relay.event):
                pass
        finally:
            context.destroy(linger=LINGER_MS)


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
            publisher.send_multipart(answer)
    return True
