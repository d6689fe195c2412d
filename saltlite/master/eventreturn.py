"""EventReturn: gives the master's events to returners (``event_return``).

A process of its own, that is there only with the option. It is no subscriber of the bus, which
drops what a subscriber is too slow for: EventPublisher hands it every event through a queue
(:mod:`saltlite.master.eventqueue`). What goes to a server waits on disk for ReturnWriter. Another
returner that fails costs the events it was given, and a line in the log, at most once a minute.
"""

from __future__ import annotations

import fnmatch
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import zmq

from saltlite.config.master import EventOptions, MasterConfig
from saltlite.core.patterns import fits_whole
from saltlite.errors import PatternTooSlow, TargetError, WireError
from saltlite.master.child import EXIT_CANNOT_START, Life
from saltlite.master.eventqueue import TOKEN_BYTES, EventIntake
from saltlite.master.job_mirror import Given, event_returners
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import Event, bind_private, unpack_event
from saltlite.transport.tcp import MAX_MESSAGE_BYTES

log = logging.getLogger(__name__)

AT_ONCE: Final = 500
"""Events taken together: a write for each would be slower than the bus."""

COMPLAINT_S: Final = 60.0

IDLE_S: Final = 0.5
"""After this long without an event what was gathered is given away."""

LAST_MS: Final = 200
"""At the end the bus has sent all it had, and no more comes after this long without an event."""


class EventReturn:
    """The process between the bus and the returners. ``run`` is its whole life."""

    def __init__(self, config: MasterConfig, sockets: MasterSockets) -> None:
        self._options = config.events
        self._given = Given(config)
        self._path = sockets.event_return
        self._events: list[dict[str, Any]] = []
        self._first_s = 0.0
        self._complaints = Complaints()

    def run(self, life: Life) -> None:
        """Gather and give until told to stop, then take and give the rest."""
        os.nice(self._options.event_return_niceness or 0)
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            socket = self._bind_socket(context)
            intake = EventIntake(socket, os.urandom(TOKEN_BYTES))
            # EventPublisher sends nothing before it knows the token of this process.
            intake.acknowledge()
            poller = zmq.Poller()
            poller.register(socket, zmq.POLLIN)
            life.register(poller)
            life.ready()
            while not life.stopping:
                life.poll(poller, IDLE_S)
                self._gather_events(intake)
            while socket.poll(LAST_MS):  # of a bus that did not wait for us
                self._gather_events(intake)
            self._give_events()
            intake.acknowledge()
        finally:
            context.destroy(linger=0)

    def _bind_socket(self, context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
        socket = context.socket(zmq.DEALER)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        socket.setsockopt(zmq.RCVHWM, 0)  # the other end has the bound
        try:
            bind_private(socket, self._path)
        except zmq.ZMQError as error:
            log.error("EventReturn cannot bind its socket: %s", error)
            raise SystemExit(EXIT_CANNOT_START) from error
        return socket

    def _gather_events(self, intake: EventIntake) -> None:
        frames = intake.take(AT_ONCE)
        for frame in frames:
            event = read_event(frame)
            if event is not None and is_wanted(event.tag, self._options):
                self._first_s = self._first_s or time.monotonic()
                self._events.append({"tag": event.tag, "data": event.data})
        late = self._first_s and time.monotonic() - self._first_s >= self._patience_s
        if not frames or len(self._events) > self._options.event_return_queue or late:
            self._give_events()
        # Not while events are gathered: what is acknowledged does not come again after a crash.
        if not self._events:
            intake.acknowledge()

    @property
    def _patience_s(self) -> float:
        return self._options.event_return_queue_max_seconds or IDLE_S

    def _give_events(self) -> None:
        events, self._events, self._first_s = self._events, [], 0.0
        for name in event_returners(self._options) if events else ():
            self._call_returner(name, events)

    def _call_returner(self, name: str, events: Sequence[dict[str, Any]]) -> None:
        try:
            self._given.returner(name).call("event_return", list(events))
        # A user's returner may raise anything; the other returners still get the events.
        except Exception as error:
            log.debug("The returner %s failed", name, exc_info=True)
            self._complaints.add(name, len(events), error)


def read_event(frame: bytes) -> Event | None:
    """Return the event of a frame, ``None`` for one that is no event."""
    try:
        return unpack_event(frame)
    except WireError as error:
        log.debug("not an event: %s", error)
        return None


class Complaints:
    """What is said of returners that fail: a line for each, at most once a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lost: Counter[str] = Counter()
        self._said_s: dict[str, float] = {}

    def add(self, name: str, events: int, error: Exception) -> None:
        """Count events that were lost, and say so if it is time."""
        self._lost[name] += events
        now_s = self._clock()
        if now_s - self._said_s.get(name, float("-inf")) < COMPLAINT_S:
            return
        self._said_s[name] = now_s
        lost = self._lost.pop(name)
        log.error("event_return: %s did not get %d events: %s", name, lost, _one_line(error))


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def is_wanted(tag: str, options: EventOptions) -> bool:
    """Whether events of this tag are given away: globs or whole expressions in both lists."""
    # In doubt an event is not given away, so a pattern that is too slow counts as a hit here.
    if any(_pattern_fits(tag, str(one), if_slow=True) for one in options.event_return_blacklist):
        return False
    listed = options.event_return_whitelist
    return not listed or any(_pattern_fits(tag, str(one), if_slow=False) for one in listed)


def _pattern_fits(tag: str, expression: str, *, if_slow: bool) -> bool:
    """Whether a pattern names the tag; ``if_slow`` where nobody can tell in time."""
    if fnmatch.fnmatchcase(tag, expression):
        return True
    try:
        return fits_whole(expression, tag)
    except PatternTooSlow as error:
        log.warning("event_return: %s; the event is not given away", error)
        return if_slow
    except TargetError:
        return False
