"""The request port for an asyncio loop; see ``req.py``."""

from __future__ import annotations

import asyncio

import zmq
import zmq.asyncio

from saltlite.errors import ConnectionBroke, RequestTimeout
from saltlite.transport.req import ReqSocket, milliseconds, only_frame
from saltlite.transport.tcp import DEFAULT_TCP, TcpOptions


class AsyncRequester:
    """A client of one address for an asyncio loop. Further requests wait for the one under way."""

    def __init__(
        self,
        address: str,
        *,
        context: zmq.asyncio.Context | None = None,
        tcp: TcpOptions = DEFAULT_TCP,
        routing_id: bytes = b"",
    ) -> None:
        """As :class:`Requester`."""
        self._req = ReqSocket(
            address,
            zmq.asyncio.Context() if context is None else context,
            own_context=context is None,
            tcp=tcp,
            routing_id=routing_id,
        )
        self._turn = asyncio.Lock()
        self._monitor: zmq.asyncio.Socket | None = None
        self._is_closed = False

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return self._turn.locked()

    async def request(self, frame: bytes, *, timeout_s: float) -> bytes:
        """Send ``frame`` once and await its reply; may be cancelled.

        The time spent waiting for an earlier request to end does not count.

        Raises:
            ConnectionBroke: the connection went, or was closed, while the reply was awaited.
            RequestTimeout: no reply in ``timeout_s`` seconds; the connection has been dropped.
            WireError: the reply is not one frame.
        """
        async with self._turn:
            if self._is_closed:
                raise ConnectionBroke(self._req.address, timeout_s)
            socket = self._req.connect()
            try:
                monitor = self._watch_socket(socket)
                await socket.send(frame)
                await self._wait_for_reply(socket, monitor, timeout_s)
                return only_frame(await socket.recv_multipart())
            except BaseException as error:
                # A cancelled caller must not leave a socket that waits for ever.
                self._close_socket()
                # Closed under us: its futures are cancelled, though nobody cancelled who asked,
                # and it is no socket any more for a reply that came just then.
                by_closing = isinstance(error, (asyncio.CancelledError, zmq.ZMQError))
                if self._is_closed and by_closing:
                    raise ConnectionBroke(self._req.address, timeout_s) from None
                raise

    def _watch_socket(self, socket: zmq.asyncio.Socket) -> zmq.asyncio.Socket:
        """The monitor of the socket; what it says of the time before a request is passed over."""
        if self._monitor is None:
            self._monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        # The blocking view of the same socket: what is there already is taken without an await.
        shadow: zmq.Socket[bytes] = zmq.Socket.shadow(self._monitor.underlying)
        # A disconnection from before this request must not end it.
        while shadow.poll(0):
            shadow.recv_multipart(zmq.NOBLOCK)
        return self._monitor

    async def _wait_for_reply(
        self, socket: zmq.asyncio.Socket, monitor: zmq.asyncio.Socket, timeout_s: float
    ) -> None:
        """Until there is a reply."""
        poller = zmq.asyncio.Poller()
        poller.register(socket, zmq.POLLIN)
        poller.register(monitor, zmq.POLLIN)
        ready = dict(await poller.poll(milliseconds(timeout_s)))
        # The reply counts even if the connection went right behind it.
        if socket in ready:
            return
        if monitor in ready:
            raise ConnectionBroke(self._req.address, timeout_s)
        raise RequestTimeout(self._req.address, timeout_s)

    def _close_socket(self) -> None:
        if self._monitor is not None:
            self._req.connect().disable_monitor()
            self._monitor.close(linger=0)  # the event loop knows it too, so nobody else would
            self._monitor = None
        self._req.drop()

    def close(self) -> None:
        """Close the connection for good; a request under way, or that waits, fails."""
        self._is_closed = True
        self._close_socket()
        self._req.close()
