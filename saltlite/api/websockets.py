"""``/ws``: events over a websocket, plain or formatted. Loaded with the first that wants one.

Source: docs/api.md, "Websockets".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import Any, Final

from tornado import httputil
from tornado.web import Application
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from saltlite.api import limits
from saltlite.api.app import App
from saltlite.api.events import KEEPALIVE_S, EventStream
from saltlite.api.formatted_events import JobsAndMinions, is_shown
from saltlite.api.messages import NO_PERMISSION, HttpError, Request
from saltlite.api.sessions import Session

log = logging.getLogger(__name__)

READY: Final = "websocket client ready"
RECEIVED: Final = "server received message"
MESSAGE_BYTES_MOST: Final = 4096
READY_WITHIN_S: Final = 60.0
"""How long a websocket may be open without events."""

FORMATTED_PATH: Final = "formatted_events"
PATHS: Final = ("ws", "all_events", FORMATTED_PATH)
FORMAT: Final = "format_events"

PAUSE_S: Final = 0.1
"""The least between two messages of a formatted stream; what came meanwhile is in the next one."""

PAUSE_FACTOR: Final = 50
"""So many times longer than a message took is the pause after it: 2 % of a core for a stream."""


def start_websocket(
    app: App, request: Request, server: object, connection: httputil.HTTPConnection
) -> httputil.HTTPMessageDelegate:
    """What reads a request that becomes a websocket.

    Raises:
        HttpError: 401, the client is not logged in; 403, the page is of another origin; 404.
    """
    session = check_client(app, request)
    application = Application(
        [(".*", EventSocket, {"app": app, "session": session})],
        websocket_max_message_size=MESSAGE_BYTES_MOST,
        websocket_ping_interval=KEEPALIVE_S,
        websocket_ping_timeout=KEEPALIVE_S,
        log_function=lambda _handler: None,
    )
    return application.start_request(server, connection)


def check_client(app: App, request: Request) -> Session:
    """The session of a websocket client: from its path, header or cookie.

    Raises:
        HttpError: as :func:`start_websocket`.
    """
    parts = app.below_prefix(request)
    if not parts or parts[0] not in PATHS or len(parts) > 2:
        raise HttpError(404, f"The path '{request.path[:200]}' was not found.")
    if len(parts) == 2:
        request = Request(
            method="GET",
            path=request.path,
            headers={**request.headers, "x-auth-token": parts[1]},
            peer=request.peer,
            scheme=request.scheme,
        )
    if not app.is_own_origin(request):
        raise HttpError(403, "Pages of this origin may not use this server")
    try:
        return app.require_session(request)
    except HttpError:
        raise HttpError(401, NO_PERMISSION) from None


class EventSocket(WebSocketHandler):
    """One websocket."""

    def initialize(self, app: App, session: Session) -> None:
        """See tornado."""
        self._app = app
        self._session = session
        self._task: asyncio.Task[None] | None = None

    def open(self, *_args: str, **_kwargs: str) -> None:
        """End with the session, and where the client never says that it is ready."""
        loop = asyncio.get_running_loop()
        self._session.watchers.append(self.close)
        self._ready_timer = loop.call_later(READY_WITHIN_S, self._close_unless_ready)

    def _close_unless_ready(self) -> None:
        if self._task is None:
            self.close(1008, "Not ready in time")

    def check_origin(self, origin: str) -> bool:
        """Always: it was checked before."""
        del origin
        return True

    async def on_message(self, message: str | bytes) -> None:
        """Answer every text; the first one that says so starts the events."""
        if not isinstance(message, str):
            return
        with contextlib.suppress(WebSocketClosedError):
            await self._send(RECEIVED)
        is_open = self.ws_connection is not None and not self.ws_connection.is_closing()
        if message.strip() == READY and self._task is None and is_open:
            self._task = asyncio.get_running_loop().create_task(self._send_events())

    async def _send_events(self) -> None:
        send = self._send_formatted if self._is_formatted() else self._send_plain
        try:
            with contextlib.ExitStack() as stack:
                if self._is_formatted():
                    stack.enter_context(self._app.place_of_formatted_stream(self._session))
                stream = self._app.open_stream(self._session)
                stack.callback(stream.end)
                await send(stream)
        except HttpError as error:
            self.close(1013, error.text)
        except (WebSocketClosedError, asyncio.TimeoutError):
            log.debug("a websocket is not read any more")
        finally:
            self.close()

    def _is_formatted(self) -> bool:
        query = self.request.query_arguments
        return FORMAT in query or FORMATTED_PATH in self.request.path.split("/")

    async def _send_plain(self, stream: EventStream) -> None:
        while not stream.is_over:
            chunk = await stream.next(KEEPALIVE_S)
            if chunk is not None:
                await self._send(chunk.text.decode())

    async def _send_formatted(self, stream: EventStream) -> None:
        """Send all jobs, or all minions, when some have changed; a client that is slow misses none.

        Events are taken as they come, also during a pause, so that the queue does not run over.
        """
        shown, next_s = JobsAndMinions(), 0.0
        while not stream.is_over:
            now_s = time.monotonic()
            chunk = await stream.next(max(0.0, next_s - now_s) if shown.has_news else KEEPALIVE_S)
            started_s = time.monotonic()
            if chunk is not None and is_shown(chunk.tag):
                shown.take_text(chunk.text)
            if shown.has_news and started_s >= next_s:
                messages = [one.decode() for one in shown.messages()]
                took_s = time.monotonic() - started_s
                for message in messages:
                    await self._send(message)
                next_s = time.monotonic() + max(PAUSE_S, took_s * PAUSE_FACTOR)

    async def _send(self, text: str) -> None:
        """Send a text.

        Raises:
            WebSocketClosedError: the client has left.
        """
        await asyncio.wait_for(_as_coroutine(self.write_message(text)), limits.UNREAD_ANSWER_S)

    def on_close(self) -> None:
        """Stop sending."""
        self._ready_timer.cancel()
        if self.close in self._session.watchers:
            self._session.watchers.remove(self.close)
        if self._task is not None:
            self._task.cancel()


async def _as_coroutine(future: Any) -> None:
    await future
