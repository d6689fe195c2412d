"""Connections that end at a time, however slowly the other side goes on sending.

The timeout of a socket begins anew with each byte, so a server that drips could hold a job for
ever. Here one moment holds for connecting, sending, headers, redirections and body.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
import urllib.request
from collections.abc import Callable
from typing import Any

IDLE_S = 65.0
"""How long a server may say nothing at all."""

TOO_LATE = "timed out"


class Deadline:
    """When a request has to be over."""

    def __init__(self, timeout_s: float, connect_s: float) -> None:
        self._end_s = time.monotonic() + timeout_s
        self._connect_s = connect_s

    def wait_s(self, longest_s: float = IDLE_S) -> float:
        """How long one step may take.

        Raises:
            TimeoutError: it is over.
        """
        left_s = self._end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(TOO_LATE)
        return min(left_s, longest_s)

    def handlers(self, tls: ssl.SSLContext) -> tuple[urllib.request.BaseHandler, ...]:
        """What opens addresses within this time."""
        return _Http(self._connection_maker(http.client.HTTPConnection)), _Https(
            self._connection_maker(http.client.HTTPSConnection), tls
        )

    def _connection_maker(self, kind: Callable[..., Any]) -> Callable[..., Any]:
        def make(host: str, **options: Any) -> Any:
            connection = kind(host, **{**options, "timeout": self.wait_s(self._connect_s)})
            connection.response_class = self._build_response
            return connection

        return make

    def _build_response(
        self, sock: socket.socket, *args: Any, **options: Any
    ) -> http.client.HTTPResponse:
        response = http.client.HTTPResponse(sock, *args, **options)
        response.fp.close()
        response.fp = io.BufferedReader(_Reader(sock, self))
        return response


class _Reader(io.RawIOBase):
    """What a socket receives, each step within the time that is left."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        # as socket.makefile does: the connection may let go of the socket before we do
        self._file = sock.makefile("rb", buffering=0)
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Receive once."""
        self._sock.settimeout(self._deadline.wait_s())
        return self._sock.recv_into(buffer)

    def close(self) -> None:
        """Let go of the socket."""
        self._file.close()
        super().close()


class _Http(urllib.request.HTTPHandler):
    def __init__(self, make: Callable[..., Any]) -> None:
        super().__init__()
        self._make = make

    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(self._make, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, make: Callable[..., Any], tls: ssl.SSLContext) -> None:
        super().__init__(context=tls)
        self._make, self._tls = make, tls

    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(self._make, req, context=self._tls)
