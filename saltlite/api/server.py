"""HTTP on tornado: bytes become a :class:`Request`, an :class:`Answer` becomes bytes.

Everything a client may do slowly has an end here: its headers, its body, reading an answer. No
route is known here. Source: docs/api.md, "Limits".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tornado import httputil, iostream
from tornado.http1connection import HTTP1Connection
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop

from saltlite.api import limits
from saltlite.api.app import App
from saltlite.api.messages import Answer, HttpError, Request, reason_of
from saltlite.core.numbers import is_digits
from saltlite.core.rare_lines import RareLine
from saltlite.transport.tcp import origin_of

if TYPE_CHECKING:
    import ssl

log = logging.getLogger(__name__)

PARSED_HEADERS_MOST: Final = 4 * limits.HEADER_BYTES_MOST
"""What is read before a client is refused without an answer."""

ACCEPTED_AT_ONCE: Final = 16
"""Connections taken before other work gets its turn."""

ACCEPT_PAUSE_S: Final = 0.1
"""Between two looks while there is no descriptor for a connection."""

METHODS: Final = ("GET", "HEAD", "POST", "OPTIONS")
FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nServer: saltlite\r\nContent-Length: 0\r\n"
    b"Retry-After: 1\r\nConnection: close\r\n\r\n"
)
_CLOSED = (iostream.StreamClosedError, asyncio.TimeoutError)


class Gateway(httputil.HTTPServerConnectionDelegate):
    """Makes an :class:`Exchange` for each request of each connection."""

    def __init__(
        self,
        app: App,
        *,
        on_wait: Callable[[iostream.IOStream], None],
        on_headers: Callable[[iostream.IOStream], None],
    ) -> None:
        self.app = app
        self.on_wait = on_wait
        self.on_headers = on_headers
        self.trusted_proxies = frozenset(app.options.trusted_proxies)
        self.reading: dict[Exchange, None] = {}
        self.room = limits.BodyRoom()
        self.tasks: set[asyncio.Task[None]] = set()

    def start_request(
        self, server_conn: object, request_conn: httputil.HTTPConnection
    ) -> httputil.HTTPMessageDelegate:
        """See tornado."""
        assert isinstance(request_conn, HTTP1Connection)  # noqa: S101 - the server makes no others
        self.on_wait(request_conn.stream)
        return Exchange(self, server_conn, request_conn)

    def on_close(self, server_conn: object) -> None:
        """See tornado."""

    def sweep(self, now: float) -> None:
        """Close connections whose bodies come too slowly."""
        for exchange in list(self.reading):
            exchange.check_pace(now)

    def make_room_for_body(self, exchange: Exchange, size: int) -> bool:
        """Whether so much more of a body may be kept, if need be in the place of another.

        Who has sent the most gives way, so that nobody keeps others out by what he sends.
        """
        client = exchange.client
        if not exchange.is_of_proxy and not self.room.fits_client(client, size):
            return False
        while not self.room.fits(size):
            most = max(self.reading, key=lambda one: self.room.share_of(one.client), default=None)
            if most is None or self.room.share_of(most.client) <= self.room.share_of(client):
                return False
            most.refuse_for_room()
        return True

    def give_up_oldest_body(self) -> bool:
        """Close the connection that has sent a body for the longest time; whether there is one."""
        exchange = next(iter(self.reading), None)
        if exchange is None:
            return False
        del self.reading[exchange]
        exchange.close()
        return True


class Exchange(httputil.HTTPMessageDelegate):
    """One request and its answer."""

    def __init__(self, gateway: Gateway, server: object, connection: HTTP1Connection) -> None:
        self._gateway = gateway
        self._app = gateway.app
        self._server = server
        self._connection = connection
        self._stream: Any = connection.stream
        self.client = ""
        self.is_of_proxy = False
        self._body = bytearray()
        self._body_most = 0
        self._kept_bytes = 0
        self._began = 0.0
        self._request: Request | None = None
        self._task: asyncio.Task[None] | None = None
        self._other: httputil.HTTPMessageDelegate | None = None
        self._is_refused = False
        self._is_streaming = False

    # --- what tornado calls --------------------------------------------------------------

    def headers_received(
        self,
        start_line: httputil.RequestStartLine | httputil.ResponseStartLine,
        headers: httputil.HTTPHeaders,
    ) -> None:
        """Make the request, or refuse it before its body is read."""
        assert isinstance(start_line, httputil.RequestStartLine)  # noqa: S101 - this is a server
        self._gateway.on_headers(self._stream)
        self._began = time.monotonic()
        self._request = self._make_request(start_line, headers)
        self.client = origin_of(self._request.peer)
        # A proxy that does not say for whom it asks speaks for many.
        self.is_of_proxy = self._request.peer in self._gateway.trusted_proxies
        try:
            self._app.check_address(self._request)
            self._body_most = self._app.body_bytes_most(self._request)
            self._check(start_line, headers)
            if _is_upgrade(self._request):
                self._open_websocket(start_line, headers)
                return
        except HttpError as error:
            self._refuse(error)
            return
        self._gateway.reading[self] = None

    def data_received(self, chunk: bytes) -> None:
        """Take a piece of the body."""
        if self._is_refused:
            return
        if self._other is not None:
            self._other.data_received(chunk)
            return
        if len(self._body) + len(chunk) > self._body_most:
            self._refuse(_too_large(self._body_most))
        elif not self._gateway.make_room_for_body(self, len(chunk)):
            self.refuse_for_room()
        else:
            self._gateway.room.take(self.client, len(chunk))
            self._kept_bytes += len(chunk)
            self._body += chunk

    def finish(self) -> None:
        """Answer, now that all of the request is here."""
        self._gateway.reading.pop(self, None)
        if self._other is not None:
            self._other.finish()
        elif not self._is_refused:
            self._start(self._answer())
        if self._other is None:  # tornado tells this alone of a client that leaves from here on
            self._connection.set_close_callback(self._end_stream)

    def on_connection_close(self) -> None:
        """Give up what nobody waits for any more."""
        self._gateway.reading.pop(self, None)
        if self._other is not None:
            self._other.on_connection_close()
            return
        if self._task is not None:
            self._task.cancel()
        self._drop_body()  # here, for a task that is cancelled before it begins does nothing at all

    def _end_stream(self) -> None:
        """End a stream that nobody reads any more; anything else goes on to its end, as in Salt."""
        if self._is_streaming and self._task is not None:
            self._task.cancel()

    # --- the request ---------------------------------------------------------------------

    def _make_request(
        self, line: httputil.RequestStartLine, headers: httputil.HTTPHeaders
    ) -> Request:
        path, _, query = line.path.partition("?")
        context: Any = self._connection.context
        shown = {name.lower(): value for name, value in headers.items()}
        return Request(
            method=line.method,
            path=path,
            query=query,
            headers=shown,
            peer=self._peer(str(context.remote_ip), shown.get("x-forwarded-for", "")),
            scheme=str(context.protocol),
        )

    def _peer(self, address: str, forwarded: str) -> str:
        """The client's address; what a proxy says of it counts where the proxy is trusted."""
        trusted = self._gateway.trusted_proxies
        for said in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
            if address not in trusted:
                break
            address = said
        return address

    def _check(self, line: httputil.RequestStartLine, headers: httputil.HTTPHeaders) -> None:
        if len(line.path) > limits.TARGET_BYTES_MOST:
            raise HttpError(414, f"A URL may have {limits.TARGET_BYTES_MOST} bytes")
        size = sum(len(name) + len(value) + 4 for name, value in headers.get_all())
        if size > limits.HEADER_BYTES_MOST:
            raise HttpError(431, f"Headers may have {limits.HEADER_BYTES_MOST} bytes")
        if "Transfer-Encoding" in headers and "Content-Length" in headers:
            raise HttpError(400, "Content-Length and Transfer-Encoding exclude one another")
        length = headers.get("Content-Length", "0")
        if is_digits(length) and int(length[:20]) > self._body_most:
            raise _too_large(self._body_most)

    def check_pace(self, now: float) -> None:
        """Close the connection if the body comes too slowly."""
        took_s = now - self._began
        least = limits.BODY_BYTES_PER_S_LEAST * (took_s - limits.BODY_GRACE_S)
        if took_s > limits.BODY_S or (took_s > limits.BODY_GRACE_S and len(self._body) < least):
            self._gateway.reading.pop(self, None)
            self.close()

    def close(self) -> None:
        """End the connection, whatever it was about."""
        self._stream.close()

    def refuse_for_room(self) -> None:
        """Answer that there is too much in hand, and keep nothing of the body."""
        self._refuse(
            HttpError(503, "Too much is being sent at once", headers=(("Retry-After", "1"),))
        )

    def _drop_body(self) -> None:
        """Let go of the body, and of the room that it takes."""
        self._body = bytearray()
        self._gateway.room.give_back(self.client, self._kept_bytes)
        self._kept_bytes = 0

    # --- the answer ----------------------------------------------------------------------

    def _start(self, work: Any) -> None:
        self._task = asyncio.get_running_loop().create_task(work)
        self._gateway.tasks.add(self._task)
        self._task.add_done_callback(self._gateway.tasks.discard)

    def _refuse(self, error: HttpError) -> None:
        """Answer at once; the rest of the request is not read, and the connection ends."""
        assert self._request is not None  # noqa: S101 - made before anything is refused
        self._is_refused = True
        self._gateway.reading.pop(self, None)
        self._drop_body()
        answer = self._app.explain(self._request, error)
        self._app.finish(self._request, answer)
        answer.headers.append(("Connection", "close"))
        self._start(self._write(answer))

    async def _answer(self) -> None:
        assert self._request is not None  # noqa: S101 - finish comes after the headers
        request = self._request
        if self._body:
            request = Request(
                method=request.method,
                path=request.path,
                query=request.query,
                headers=request.headers,
                body=bytes(self._body),
                peer=request.peer,
                scheme=request.scheme,
            )
            self._body = bytearray()
        try:
            answer = await self._app.answer(request)
        finally:
            del request
            self._drop_body()
        await self._write(answer)

    async def _write(self, answer: Answer) -> None:
        try:
            await self._write_whole(answer)
        except _CLOSED:
            self._stream.close()
        finally:
            if answer.stream is not None:
                await answer.stream.aclose()

    async def _write_whole(self, answer: Answer) -> None:
        assert self._request is not None  # noqa: S101 - there is an answer
        headers = httputil.HTTPHeaders()
        for name, value in answer.headers:
            headers.add(name, value)
        is_empty = self._request.method == "HEAD" or answer.status == 304
        if answer.stream is None:
            headers["Content-Length"] = str(len(answer.body))
        line = httputil.ResponseStartLine("HTTP/1.1", answer.status, reason_of(answer.status))
        body = None if is_empty or not answer.body else answer.body
        await _in_time(self._connection.write_headers(line, headers, body))
        if answer.stream is not None and not is_empty:
            self._is_streaming = True
            async for chunk in answer.stream:
                await _in_time(self._connection.write(chunk))
        self._connection.finish()

    # --- websockets ----------------------------------------------------------------------

    def _open_websocket(
        self, line: httputil.RequestStartLine, headers: httputil.HTTPHeaders
    ) -> None:
        from saltlite.api.websockets import start_websocket

        assert self._request is not None  # noqa: S101 - made with the headers
        self._other = start_websocket(self._app, self._request, self._server, self._connection)
        self._other.headers_received(line, headers)


class ApiServer(HTTPServer):
    """The listening server: counts connections, and closes those that say nothing.

    Where there are too many, one gives way that has no request in hand: the one that has waited
    longest, or else one that sends a body. So nobody keeps others out by being connected.
    """

    def initialize(  # type: ignore[override]  # tornado's own constructor hands these on
        self,
        app: App,
        *,
        ssl_options: ssl.SSLContext | None = None,
        connections_most: int = limits.CONNECTIONS_MOST,
    ) -> None:
        """Prepare; tornado calls this in the place of ``__init__``."""
        self._silent: dict[Any, float] = {}
        self._waiting: dict[Any, None] = {}
        self._of_address: Counter[str] = Counter()
        self._count = 0
        self._not_accepted = RareLine()
        self._most = connections_most
        self.gateway = Gateway(app, on_wait=self._note_waiting, on_headers=self._note_headers)
        super().initialize(
            self.gateway,
            ssl_options=ssl_options,
            max_header_size=PARSED_HEADERS_MOST,
            max_body_size=limits.ANSWER_BYTES_MOST,
            max_buffer_size=limits.ANSWER_BYTES_MOST * 2,
            idle_connection_timeout=limits.IDLE_S,
            body_timeout=limits.BODY_S,
            chunk_size=16 * 1024,
        )

    def _note_waiting(self, stream: iostream.IOStream) -> None:
        if not stream.closed():
            self._waiting.setdefault(stream)

    def _note_headers(self, stream: iostream.IOStream) -> None:
        self._silent.pop(stream, None)
        self._waiting.pop(stream, None)

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Listen, with few connections accepted at once, so that requests in hand go on."""
        for listener in sockets:
            number = listener.fileno()
            self._sockets[number] = listener
            self._handlers[number] = partial(IOLoop.current().remove_handler, number)
            self._await_some(listener)

    def _await_some(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:  # the server may have been stopped meanwhile
            take = partial(self._accept_some, listener)
            IOLoop.current().add_handler(listener.fileno(), take, IOLoop.READ)

    def _accept_some(self, listener: socket.socket, number: int, _events: int) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                connection, address = listener.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:  # no descriptor is left, whatever was reckoned with
                self._make_room()
                more = self._not_accepted.count(time.monotonic())
                if more is not None:
                    log.warning("A connection cannot be accepted: %s%s", error.strerror, more)
                # It stays readable, and would be looked at without rest.
                loop = IOLoop.current()
                loop.remove_handler(number)
                loop.call_later(ACCEPT_PAUSE_S, self._await_some, listener)
                return
            self._handle_connection(connection, address)

    def handle_stream(self, stream: Any, address: Any) -> None:
        """Take a connection, unless there are too many."""
        peer = str(address[0]) if isinstance(address, tuple) else ""
        client = origin_of(peer)
        is_proxy = peer in self.gateway.trusted_proxies  # it speaks for many
        too_many = self._of_address[client] >= limits.CONNECTIONS_OF_ADDRESS_MOST and not is_proxy
        if too_many or not self._has_room():
            _turn_away(stream)
            return
        self._count += 1
        self._of_address[client] += 1
        self._silent[stream] = time.monotonic()
        self._waiting[stream] = None

        def on_close() -> None:
            self._count -= 1
            self._of_address[client] -= 1
            if not self._of_address[client]:
                del self._of_address[client]
            self._silent.pop(stream, None)
            self._waiting.pop(stream, None)

        # Tornado has one place for such a callback and uses it only while a request is answered.
        _on_close_too(stream, on_close)
        super().handle_stream(stream, address)

    def _has_room(self) -> bool:
        """Whether one more connection fits, if need be in the place of another."""
        return self._count < self._most or self._make_room()

    def _make_room(self) -> bool:
        """Close a connection without a request in hand; whether there is one."""
        stream = next(iter(self._waiting), None)
        if stream is None:
            return self.gateway.give_up_oldest_body()
        stream.close()
        return True

    def sweep(self) -> None:
        """Close what has been silent or slow for too long; called every second."""
        now = time.monotonic()
        for stream, opened in list(self._silent.items()):
            if now - opened > limits.HEADERS_S:
                self._silent.pop(stream, None)
                stream.close()
        self.gateway.sweep(now)


def _on_close_too(stream: Any, tell: Callable[[], None]) -> None:
    """Call ``tell`` when a stream closes, whatever else is to be told then."""
    close = stream.close_fd

    def close_fd() -> None:
        close()
        tell()

    stream.close_fd = close_fd


def _turn_away(stream: Any) -> None:
    """A sentence for who speaks plain HTTP, the end for everybody."""
    with contextlib.suppress(iostream.StreamClosedError, OSError):
        if not isinstance(stream, iostream.SSLIOStream):
            stream.socket.send(FULL)
    stream.close()


async def _in_time(written: Any) -> None:
    """Wait until an answer has gone out; nobody may take for ever to read it."""
    if written.done():
        written.result()  # raises where the client had left before
    else:
        await asyncio.wait_for(written, limits.UNREAD_ANSWER_S)


def _too_large(most: int) -> HttpError:
    return HttpError(413, f"A body may have {most} bytes")


def _is_upgrade(request: Request) -> bool:
    return request.header("upgrade").lower() == "websocket"
