"""A minion's end of the publish port: a SUB of libzmq.

What is published while a minion is away is lost; nothing here repeats it. Source:
docs/wire.md#sockets.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import zmq

from saltlite.transport.tcp import DEFAULT_TCP, MAX_MESSAGE_BYTES, TcpOptions

_S = TypeVar("_S", bound="zmq.Socket[Any]")


def connect_subscriber(
    context: zmq.Context[_S],
    address: str,
    *,
    prefixes: Sequence[bytes] = (b"",),
    routing_id: bytes = b"",
    reconnect_ms: int = 1000,
    reconnect_max_ms: int = 10_000,
    randomize: bool = True,
    heartbeat_ivl_ms: int = 0,
    heartbeat_timeout_ms: int = 0,
    tcp: TcpOptions = DEFAULT_TCP,
    chance: random.Random | None = None,
    before_connect: Callable[[_S], None] = lambda _: None,
) -> _S:
    """A connecting SUB socket.

    Args:
        context: blocking or asyncio.
        address: of the master's PUB.
        prefixes: what to subscribe to; see ``channel.publication.subscriptions``.
        routing_id: the minion's id; informational.
        reconnect_ms: ``recon_default``.
        reconnect_max_ms: ``recon_max``.
        randomize: ``recon_randomize``: spread the first reconnect over ``recon_default`` to
            ``recon_default + recon_max``, so that a restarted master is not run over.
        heartbeat_ivl_ms: how often to ask the master whether it is there; 0 for never.
        heartbeat_timeout_ms: without an answer for so long the connection is made anew.
        tcp: keepalive and address family.
        chance: the source of that spread.
        before_connect: is given the socket while it is still unconnected, so that a monitor
            attached there misses nothing.
    """
    socket = context.socket(zmq.SUB)
    try:
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        if routing_id:
            socket.setsockopt(zmq.ROUTING_ID, routing_id)
        # Drawn once: a socket has one interval, so each minion keeps its own place in the spread.
        wait_ms = reconnect_ms
        if randomize:
            wait_ms = (chance or random.SystemRandom()).randint(
                reconnect_ms, reconnect_ms + reconnect_max_ms
            )
        socket.setsockopt(zmq.RECONNECT_IVL, wait_ms)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, reconnect_max_ms)
        if heartbeat_ivl_ms > 0:
            socket.setsockopt(zmq.HEARTBEAT_IVL, heartbeat_ivl_ms)
            socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, heartbeat_timeout_ms)
        tcp.apply(socket, address)
        # Before connect: they go out with each handshake, ahead of anything that is published.
        for prefix in prefixes:
            socket.setsockopt(zmq.SUBSCRIBE, prefix)
        before_connect(socket)
        socket.connect(address)
    except BaseException:
        socket.close(linger=0)
        raise
    return socket
