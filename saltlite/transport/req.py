"""The request port: one frame out, one frame in, blocking.

:class:`Requester` is a Lazy Pirate (zguide, chapter 4): a REQ socket that was left without its
answer cannot be used again, so it is closed and a new one made. ``areq.py`` has the same for
asyncio, apart, so that the command line need not import that.
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

import zmq

from saltlite.errors import RequestTimeout, WireError
from saltlite.transport.tcp import DEFAULT_TCP, MAX_MESSAGE_BYTES, TcpOptions

RECONNECT_IVL_MAX_MS: Final = 5000

_S = TypeVar("_S", bound="zmq.Socket[Any]")


def client_options(
    socket: zmq.Socket[Any], address: str, *, tcp: TcpOptions = DEFAULT_TCP, routing_id: bytes = b""
) -> None:
    """Prepare a REQ socket for ``address``; call before ``connect``.

    ``routing_id`` is best left out: two live sockets must never share one.
    Source: docs/wire.md#sockets.
    """
    # A request that was given up must not keep the process from ending.
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, RECONNECT_IVL_MAX_MS)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
    if routing_id:
        socket.setsockopt(zmq.ROUTING_ID, routing_id)
    tcp.apply(socket, address)


class ReqSocket(Generic[_S]):
    """The REQ socket of one address: made when it is needed, and anew after :meth:`drop`.

    Whether its calls block or are awaited is the context's matter.
    """

    def __init__(
        self,
        address: str,
        context: zmq.Context[_S],
        *,
        own_context: bool,
        tcp: TcpOptions,
        routing_id: bytes,
    ) -> None:
        """Prepare; an ``own_context`` ends with :meth:`close`."""
        self.address = address
        self._context = context
        self._own_context = own_context
        self._tcp = tcp
        self._routing_id = routing_id
        self._socket: _S | None = None

    def connect(self) -> _S:
        """The socket, connected or connecting."""
        if self._socket is None:
            self._socket = self._context.socket(zmq.REQ)
            client_options(self._socket, self.address, tcp=self._tcp, routing_id=self._routing_id)
            self._socket.connect(self.address)
        return self._socket

    def drop(self) -> None:
        """Give up the connection and what is under way on it."""
        if self._socket is not None:
            # Nobody is left to read the answer to what was still to be sent.
            self._socket.close(linger=0)
            self._socket = None

    def close(self) -> None:
        """Drop the connection, for good if the context is an own one."""
        self.drop()
        if self._own_context:
            self._context.destroy(linger=0)


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
        self._req = ReqSocket(
            address,
            zmq.Context() if context is None else context,
            own_context=context is None,
            tcp=tcp,
            routing_id=routing_id,
        )

    def request(self, frame: bytes, *, timeout_s: float) -> bytes:
        """Send ``frame`` once and wait for its reply.

        Raises:
            RequestTimeout: no reply in ``timeout_s`` seconds; the connection has been dropped.
            WireError: the reply is not one frame.
        """
        socket = self._req.connect()
        try:
            # Does not wait: a socket that is still connecting has room for one message.
            socket.send(frame, zmq.NOBLOCK)
            if not socket.poll(milliseconds(timeout_s)):
                raise RequestTimeout(self._req.address, timeout_s)
            return only_frame(socket.recv_multipart())
        except zmq.Again as error:
            self._req.drop()
            raise RequestTimeout(self._req.address, 0.0) from error
        except BaseException:
            # Ctrl-C too: a REQ socket without its reply takes no further request.
            self._req.drop()
            raise

    def close(self) -> None:
        """Close the connection, for good if the context is an own one."""
        self._req.close()

    def __enter__(self) -> Requester:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def milliseconds(timeout_s: float) -> int:
    """Seconds as ZeroMQ's poll wants them."""
    # Below zero poll would wait for ever.
    return max(0, round(timeout_s * 1000))


def only_frame(frames: list[bytes]) -> bytes:
    """The one frame of a reply.

    Raises:
        WireError: there are more.
    """
    if len(frames) != 1:
        raise WireError(f"reply of {len(frames)} frames")
    return frames[0]
