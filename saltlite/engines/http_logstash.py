"""Posts events as JSON to an HTTP address, as Logstash's input ``http`` takes them.

An event waits until it is posted. While the server is away the oldest is tried again ever later;
``WAITING_MOST`` wait, and what comes beyond that is dropped, which is said.
"""

from __future__ import annotations

import fnmatch
import logging
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

from saltlite.core.jsontext import dump_json
from saltlite.engine_context import EngineContext
from saltlite.errors import FunctionError, UsageError
from saltlite.web.client import WebBounds, WebError, WebRequest, ask, redact_url

log = logging.getLogger(__name__)

WAITING_MOST: Final = 10_000
LOOK_S: Final = 60.0
SAY_EVERY_S: Final = 60.0
TIMEOUT_S: Final = 30.0
RETRY_FIRST_S: Final = 1.0
RETRY_LAST_S: Final = 30.0


def start(
    ctx: EngineContext,
    url: str,
    funs: Sequence[str] | None = None,
    tags: str | Sequence[str] | None = None,
) -> None:
    """Post the data of each event of the daemon's bus to ``url``.

    ``tags`` are globs, one of which an event's tag has to fit; without any all do. ``funs``: of
    events that have a ``fun``, only those of these functions.

    Raises:
        UsageError: ``url`` is no address of HTTP.
    """
    if not str(url).startswith(("http://", "https://")):
        raise UsageError(f"url: found {url!r}, allowed: an address of http or https")
    globs = [tags] if isinstance(tags, str) else [str(tag) for tag in tags or ()]
    waiting = EventBatch()
    poster = Poster(str(url), WebBounds.of(ctx.config))
    posting = threading.Thread(target=poster.run, args=(waiting,), daemon=True)
    posting.start()
    bus = ctx.listen("")
    while posting.is_alive():
        event = bus.get(LOOK_S)
        if event is not None and is_wanted(event.tag, event.data, globs, funs or ()):
            waiting.put(dump_json(dict(event.data), indent=None).encode("utf-8", "replace"))
    raise FunctionError("nothing is posted any more; the error is above")


def is_wanted(
    tag: str, data: Mapping[str, object], globs: Sequence[str], funs: Sequence[str]
) -> bool:
    """Whether an event is posted. One without a ``fun`` is, whatever ``funs`` says, as in Salt."""
    if globs and not any(fnmatch.fnmatchcase(tag, glob) for glob in globs):
        return False
    return not funs or "fun" not in data or data["fun"] in funs


class EventBatch:
    """The events that are to be posted, in their order."""

    def __init__(self, most: int = WAITING_MOST) -> None:
        self._bodies: queue.Queue[bytes] = queue.Queue(most)
        self._dropped = 0
        self._said_s = float("-inf")

    def put(self, body: bytes) -> None:
        """Let an event wait; drop it where too many do."""
        try:
            self._bodies.put_nowait(body)
        except queue.Full:
            self._drop_event()

    def get(self) -> bytes:
        """The next event, when there is one."""
        return self._bodies.get()

    def _drop_event(self) -> None:
        self._dropped += 1
        now_s = time.monotonic()
        if now_s - self._said_s < SAY_EVERY_S:
            return
        log.error("http_logstash: %d events dropped, too many wait already", self._dropped)
        self._dropped, self._said_s = 0, now_s


class Poster:
    """Posts one event after the other."""

    def __init__(self, url: str, bounds: WebBounds) -> None:
        self._url = url
        self._bounds = bounds
        self._wait_s = RETRY_FIRST_S

    def run(self, waiting: EventBatch) -> None:
        """Post what waits, for ever."""
        while True:
            body = waiting.get()
            while not self.post(body):
                time.sleep(self._wait_s)
                self._wait_s = min(self._wait_s * 2, RETRY_LAST_S)
            self._wait_s = RETRY_FIRST_S

    def post(self, body: bytes) -> bool:
        """Post one event; ``False`` if it is to be tried again.

        What the server refuses for good (4xx, but 408 and 429) is not.
        """
        problem = self._post_event(body)
        if not problem:
            return True
        log.warning("http_logstash: %s: %s", redact_url(self._url), problem)
        return problem.startswith("4") and not problem.startswith(("408", "429"))

    def _post_event(self, body: bytes) -> str:
        """What went wrong, ``""`` for nothing; the body of the answer does not matter."""
        request = WebRequest(
            url=self._url,
            method="POST",
            body=body,
            headers={"Content-Type": "application/json"},
            timeout_s=min(self._bounds.timeout_s, TIMEOUT_S),
            connect_timeout_s=self._bounds.connect_timeout_s,
        )
        try:
            reply = ask(request)
        except WebError as error:
            return str(error)
        return "" if reply.status < 400 else f"{reply.status} {reply.reason}"
