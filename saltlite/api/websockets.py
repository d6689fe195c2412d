"""``/ws``: events over a websocket. Loaded with the first client that wants one.

Source: docs/api.md, "Websockets".
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

from tornado import httputil
from tornado.web import Application
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from saltlite.api import limits
from saltlite.api.app import App
from saltlite.api.events import KEEPALIVE_S
from saltlite.api.messages import NO_PERMISSION, HttpError, Request
from saltlite.api.sessions import Session

READY: Final = "websocket client ready"
RECEIVED: Final = "server received message"
MESSAGE_BYTES_MOST: Final = 4096
PATHS: Final = ("ws", "all_events")


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

    def check_origin(self, origin: str) -> bool:
        """Always: it was checked before."""
        del origin
        return True

    async def on_message(self, message: str | bytes) -> None:
        """Answer every text; the first one that says so starts the events."""
        if not isinstance(message, str):
            return
        await self._send(RECEIVED)
        if message.strip() == READY and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._send_events())

    async def _send_events(self) -> None:
        try:
            stream = self._app.open_stream(self._session)
        except HttpError as error:
            self.close(1013, error.text)
            return
        try:
            while not stream.ended:
                chunk = await stream.next(KEEPALIVE_S)
                if chunk is not None:
                    await self._send(chunk.text.decode())
        finally:
            stream.end()
            self.close()

    async def _send(self, text: str) -> None:
        with contextlib.suppress(WebSocketClosedError):
            await asyncio.wait_for(_as_coroutine(self.write_message(text)), limits.UNREAD_ANSWER_S)

    def on_close(self) -> None:
        """Stop sending."""
        if self._task is not None:
            self._task.cancel()


async def _as_coroutine(future: Any) -> None:
    await future
