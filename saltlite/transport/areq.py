"""The request port for an asyncio loop; see ``req.py``."""

from __future__ import annotations

import asyncio

import zmq
import zmq.asyncio

from saltlite.errors import RequestTimeout
from saltlite.transport.req import client_options, milliseconds, only_frame
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
        self._address = address
        self._tcp = tcp
        self._routing_id = routing_id
        self._own_context = context is None
        self._context = zmq.asyncio.Context() if context is None else context
        self._socket: zmq.asyncio.Socket | None = None
        self._turn = asyncio.Lock()

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return self._turn.locked()

    async def request(self, frame: bytes, *, timeout_s: float) -> bytes:
        """Send ``frame`` once and await its reply; may be cancelled.

        The time spent waiting for an earlier request to end does not count.

        Raises:
            RequestTimeout: no reply in ``timeout_s`` seconds; the connection has been dropped.
            WireError: the reply is not one frame.
        """
        async with self._turn:
            socket = self._connected()
            try:
                await socket.send(frame)
                if not await socket.poll(milliseconds(timeout_s)):
                    raise RequestTimeout(self._address, timeout_s)
                return only_frame(await socket.recv_multipart())
            except BaseException:  # a cancelled caller must not leave a socket that waits for ever
                self._drop()
                raise

    def _connected(self) -> zmq.asyncio.Socket:
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
        """Close the connection; a request under way fails."""
        self._drop()
        if self._own_context:
            self._context.destroy(linger=0)
