"""The request port: one frame out, one frame in, blocking.

:class:`Requester` is a Lazy Pirate (zguide, chapter 4): a REQ socket that was left without its
answer cannot be used again, so it is closed and a new one made. ``areq.py`` has the same for
asyncio, apart, so that the command line need not import that.
"""

from __future__ import annotations

from typing import Any, Final

import zmq

from saltlite.errors import RequestTimeout, WireError
from saltlite.transport.tcp import DEFAULT_TCP, MAX_MESSAGE_BYTES, SERVER_TCP, TcpOptions

RECONNECT_IVL_MAX_MS: Final = 5000


def client_options(
    socket: zmq.Socket[Any], address: str, *, tcp: TcpOptions = DEFAULT_TCP, routing_id: bytes = b""
) -> None:
    """Prepare a REQ socket for ``address``; call before ``connect``.

    ``routing_id`` is best left out: two live sockets must never share one.
    Source: protocol.md 3.1.
    """
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, RECONNECT_IVL_MAX_MS)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
    if routing_id:
        socket.setsockopt(zmq.ROUTING_ID, routing_id)
    tcp.apply(socket, address)


def server_options(socket: zmq.Socket[Any], *, backlog: int = 1000, ipv6: bool = False) -> None:
    """Prepare a master's ROUTER socket; call before ``bind``.

    Handover lets a minion come back with its old routing id before the loss of the old connection
    was noticed. Source: protocol.md 3.1.
    """
    socket.setsockopt(zmq.LINGER, 1000)
    socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
    socket.setsockopt(zmq.BACKLOG, backlog)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
    SERVER_TCP.apply(socket, "[" if ipv6 else "")


class Requester:
    """A blocking client of one address. Not for use by several threads."""

    def __init__(
        self,
        address: str,
        *,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        tcp: TcpOptions = DEFAULT_TCP,
        routing_id: bytes = b"",
    ) -> None:
        """Prepare; nothing is connected before the first request.

        A ``context`` that is handed in is left open; otherwise an own one is made and closed.
        """
        self._address = address
        self._tcp = tcp
        self._routing_id = routing_id
        self._own_context = context is None
        self._context: zmq.Context[zmq.Socket[bytes]] = (
            zmq.Context() if context is None else context
        )
        self._socket: zmq.Socket[bytes] | None = None

    def request(self, frame: bytes, *, timeout_s: float) -> bytes:
        """Send ``frame`` once and wait for its reply.

        Raises:
            RequestTimeout: no reply in ``timeout_s`` seconds; the connection has been dropped.
            WireError: the reply is not one frame.
        """
        socket = self._connected()
        try:
            socket.send(frame, zmq.NOBLOCK)
            if not socket.poll(milliseconds(timeout_s)):
                raise RequestTimeout(self._address, timeout_s)
            return only_frame(socket.recv_multipart())
        except zmq.Again as error:
            self._drop()
            raise RequestTimeout(self._address, 0.0) from error
        except BaseException:
            self._drop()
            raise

    def _connected(self) -> zmq.Socket[bytes]:
        if self._socket is None:
            self._socket = self._context.socket(zmq.REQ)
            client_options(self._socket, self._address, tcp=self._tcp, routing_id=self._routing_id)
            self._socket.connect(self._address)
        return self._socket

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close(linger=0)
            self._socket = None

    def close(self) -> None:
        """Close the connection, for good if the context is an own one."""
        self._drop()
        if self._own_context:
            self._context.destroy(linger=0)

    def __enter__(self) -> Requester:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def milliseconds(timeout_s: float) -> int:
    """Seconds as ZeroMQ's poll wants them."""
    return max(0, round(timeout_s * 1000))


def only_frame(frames: list[bytes]) -> bytes:
    """The one frame of a reply.

    Raises:
        WireError: there are more.
    """
    if len(frames) != 1:
        raise WireError(f"reply of {len(frames)} frames")
    return frames[0]
