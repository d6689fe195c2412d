"""EventReturn: gives the master's events to returners (``event_return``).

A subscriber of the bus like any other, in a process of its own, that is there only with the option.
What goes to a server waits on disk for ReturnWriter. Where another returner is slow, 100,000 events
wait here; the bus drops the rest, and they are counted. One that fails costs the events it was
given, and a line in the log, at most once a minute.
"""

from __future__ import annotations

import fnmatch
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import zmq

from saltlite.config.master import EventOptions, MasterConfig
from saltlite.core.patterns import fits_whole
from saltlite.errors import PatternTooSlow, TargetError
from saltlite.master.child import Life
from saltlite.master.mirror import Given, event_returners
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import Event, EventSubscriber

log = logging.getLogger(__name__)

CONNECT_S: Final = 10.0
AT_ONCE: Final = 500
"""Events taken together: a write for each would be slower than the bus, which then drops some."""

EVENTS_WAITING: Final = 100_000
"""Of a bus that is faster for a while."""

COMPLAINT_S: Final = 60.0

IDLE_S: Final = 0.5
"""After this long without an event what was gathered is given away."""


class EventReturn:
    """The process between the bus and the returners. ``run`` is its whole life."""

    def __init__(self, config: MasterConfig, sockets: MasterSockets) -> None:
        self._options = config.events
        self._given = Given(config)
        self._path = sockets.event_pub
        self._events: list[dict[str, Any]] = []
        self._first_s = 0.0
        self._complaints = Complaints()
        self._lost = 0
        self._lost_said_s = float("-inf")

    def run(self, life: Life) -> None:
        """Gather and give until told to stop, then give the rest."""
        os.nice(self._options.event_return_niceness or 0)
        poller = zmq.Poller()
        life.register(poller)
        with EventSubscriber(self._path, most=EVENTS_WAITING) as bus:
            bus.connect_confirmed(CONNECT_S)
            life.ready()
            while not life.stopping:
                life.poll(poller, 0.0)
                self._gather(bus)
            self._give()

    def _gather(self, bus: EventSubscriber) -> None:
        taken = list(take_some(bus))
        self._count_lost(bus.lost)
        for event in taken:
            if wanted(event.tag, self._options):
                self._first_s = self._first_s or time.monotonic()
                self._events.append({"tag": event.tag, "data": event.data})
        late = self._first_s and time.monotonic() - self._first_s >= self._patience_s
        if not taken or len(self._events) > self._options.event_return_queue or late:
            self._give()

    def _count_lost(self, lost: int) -> None:
        """Say how many events the bus could not keep for us, once a minute."""
        now_s = time.monotonic()
        if lost > self._lost and now_s - self._lost_said_s >= COMPLAINT_S:
            log.error("event_return: %d events came too fast and are lost", lost - self._lost)
            self._lost, self._lost_said_s = lost, now_s

    @property
    def _patience_s(self) -> float:
        return self._options.event_return_queue_max_seconds or IDLE_S

    def _give(self) -> None:
        events, self._events, self._first_s = self._events, [], 0.0
        for name in event_returners(self._options) if events else ():
            self._call(name, events)

    def _call(self, name: str, events: Sequence[dict[str, Any]]) -> None:
        from saltlite.loader.returners import resolve

        try:
            resolve(name, self._given).call("event_return", list(events))
        except Exception as error:
            log.debug("The returner %s failed", name, exc_info=True)
            self._complaints.add(name, len(events), error)


def take_some(bus: EventSubscriber) -> Iterator[Event]:
    """Wait for an event; take with it what is there already, for one write instead of many."""
    event = bus.get(IDLE_S)
    for left in range(AT_ONCE, 0, -1):
        if event is None:
            return
        yield event
        event = bus.get(0.0) if left > 1 else None


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


def wanted(tag: str, options: EventOptions) -> bool:
    """Whether events of this tag are given away: globs or whole expressions in both lists."""
    if any(_fits(tag, str(one), if_slow=True) for one in options.event_return_blacklist):
        return False
    listed = options.event_return_whitelist
    return not listed or any(_fits(tag, str(one), if_slow=False) for one in listed)


def _fits(tag: str, expression: str, *, if_slow: bool) -> bool:
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
