"""The request port for an asyncio loop; see ``req.py``."""

from __future__ import annotations

import asyncio

import zmq
import zmq.asyncio

from saltlite.errors import RequestTimeout
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
            socket = self._req.connected()
            try:
                await socket.send(frame)
                if not await socket.poll(milliseconds(timeout_s)):
                    raise RequestTimeout(self._req.address, timeout_s)
                return only_frame(await socket.recv_multipart())
            except BaseException:  # a cancelled caller must not leave a socket that waits for ever
                self._req.drop()
                raise

    def close(self) -> None:
        """Close the connection; a request under way fails."""
        self._req.close()
