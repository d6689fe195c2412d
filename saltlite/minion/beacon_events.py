"""Events of beacons on their way to the masters: kept while a master is away, sent in order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final, Protocol

from saltlite.core.messages import event_refusal
from saltlite.errors import RequestTimeout, SaltliteError, WireError

log = logging.getLogger(__name__)

KEPT_LIMIT: Final = 1000
"""So many events wait for a master; then the oldest go."""

BATCH: Final = 50
"""So many go in one request: a master takes 100 of a minion in a second."""

RETRY_S: Final = 2.0
SEND_TIMEOUT_S: Final = 5.0
TOO_MANY: Final = "more than"
"""How the refusal begins that is about how many there are, not what they are."""


class Line(Protocol):
    """The way to one master."""

    name: str

    async def request(
        self, load: dict[str, Any], *, timeout_s: float, tries: int, lane: str
    ) -> Any:
        """One request and its reply; raises RequestTimeout and other SaltliteErrors."""


class EventQueue:
    """The events for one master, the oldest first."""

    def __init__(self, limit: int = KEPT_LIMIT) -> None:
        self._events: deque[dict[str, Any]] = deque(maxlen=limit)
        self.dropped = 0
        """How many have been lost since this was last set to 0."""

    def add(self, events: Sequence[dict[str, Any]]) -> None:
        """Take events; the oldest go where there are too many."""
        limit = self._events.maxlen or 0
        self.dropped += max(0, len(self._events) + len(events) - limit)
        self._events.extend(events)

    def batch(self) -> list[dict[str, Any]]:
        """Take the oldest ones out, to be sent."""
        found = list(islice(self._events, BATCH))
        for _ in found:
            self._events.popleft()
        return found

    def put_back(self, events: Sequence[dict[str, Any]]) -> None:
        """They were not sent: they come first again, as far as there is room."""
        room = (self._events.maxlen or 0) - len(self._events)
        # Newer ones may have come meanwhile and taken the room: of these the oldest go.
        kept = events[len(events) - min(room, len(events)) :]
        self.dropped += len(events) - len(kept)
        self._events.extendleft(reversed(kept))

    def __len__(self) -> int:
        return len(self._events)


async def send_events(
    queue: EventQueue, line: Line, lane: str, is_wanted: Callable[[], bool]
) -> None:
    """Send all of a queue; what a master that is away does not take is tried until it does.

    Ends also when the line is not wanted any more; the rest is kept then.
    """
    waits = False
    while is_wanted() and (batch := queue.batch()):
        try:
            sent = await _send_events(batch, line, lane)
        # Ended between request and reply: whether the master has them is not known, so they stay.
        except asyncio.CancelledError:
            queue.put_back(batch)
            raise
        if sent:
            waits = False
            continue
        queue.put_back(batch)
        # Once for as long as the master is away, not every two seconds.
        if not waits:
            log.warning("events of beacons wait for master %s", line.name)
        waits = True
        await asyncio.sleep(RETRY_S)
    if queue.dropped:
        log.error("%d events of beacons for master %s are lost", queue.dropped, line.name)
        queue.dropped = 0


async def _send_events(events: list[dict[str, Any]], line: Line, lane: str) -> bool:
    """Send some; whether they are done with."""
    load = {"cmd": "_minion_event", "pretag": None, "events": events}
    try:
        reply = await line.request(load, timeout_s=SEND_TIMEOUT_S, tries=1, lane=lane)
    # What cannot be packed will not be packed later either: kept, it would stop all behind it.
    except WireError as error:
        log.error("%d events of beacons cannot be sent: %s", len(events), error)
        return True
    except (RequestTimeout, SaltliteError) as error:
        log.debug("master %s: %s", line.name, error)
        return False
    refusal = event_refusal(reply)
    if refusal is None:
        return True
    # The limit counts per second, so the same events are taken a moment later.
    if refusal.startswith(TOO_MANY):
        return False
    log.warning("master %s refuses events of beacons: %s", line.name, refusal)
    return True
