"""Returns and events on their way up: a queue for each master above, and who sends it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final, Protocol

from saltlite.core.dataclasses import dataclass
from saltlite.core.messages import event_refusal
from saltlite.core.plain import Plain
from saltlite.errors import SaltliteError, StoreError
from saltlite.master.forwardqueue import Waiting
from saltlite.syndic.parts import LowerReturn, guess_load, join_returns
from saltlite.syndic.sources import Source, StoreState
from saltlite.transport.codec import pack_bin

log = logging.getLogger(__name__)

RETURNS_AT_ONCE: Final = 500
BYTES_AT_ONCE: Final = 8 * 1024 * 1024
"""Of one request; one return goes however large it is."""

EVENTS_AT_ONCE: Final = 100
EVENT_BYTES_AT_ONCE: Final = 1024 * 1024
EVENTS_MOST: Final = 10_000
"""Events that wait for a master above; the oldest are dropped."""

FIRST_RETRY_S: Final = 0.5
LONGEST_RETRY_S: Final = 10.0
GIVEN_OVER_S: Final = 60.0
"""So long a master above is away until another one gets its returns, where there are several."""


class Uplink(Protocol):
    """A link to a master above, as far as it is needed here."""

    @property
    def name(self) -> str:
        """How it is called."""

    @property
    def is_up(self) -> bool:
        """Whether it has let us in."""

    async def request(
        self, load: Mapping[str, object], *, timeout_s: float | None, tries: int | None, lane: str
    ) -> Any:
        """One encrypted request and its reply."""


@dataclass(frozen=True, slots=True)
class Pace:
    """``interval_s`` is ``syndic_event_forward_timeout``: the least time between two requests."""

    interval_s: float
    timeout_s: float
    loads_kept: int


class UpperQueue:
    """What waits for one master above. ``run`` sends it."""

    def __init__(self, link: Uplink, syndic: str, source: Source, pace: Pace) -> None:
        self.link = link
        self._syndic = syndic
        self._source = source
        self._pace = pace
        self._returns: deque[Waiting] = deque()
        self._events: deque[dict[str, Plain]] = deque()
        self._dropped = 0
        self._work = asyncio.Event()
        self._told: OrderedDict[str, None] = OrderedDict()
        self._has_complained = False
        self._store_state = StoreState()
        self.failing_since_s: float | None = time.monotonic()
        """Since when nothing gets through; ``None``: it does."""

    def put_return(self, one: Waiting) -> None:
        """Have a return sent."""
        self._returns.append(one)
        self._work.set()

    def put_event(self, event: dict[str, Plain]) -> None:
        """Have an event sent."""
        if len(self._events) >= EVENTS_MOST:
            self._events.popleft()
            self._dropped += 1
        self._events.append(event)
        self._work.set()

    def take_over(self) -> list[Waiting]:
        """Give what waits to somebody else."""
        taken = list(self._returns)
        self._returns.clear()
        return taken

    @property
    def has_returns(self) -> bool:
        """Whether returns wait."""
        return bool(self._returns)

    async def run(self) -> None:
        """Send, until cancelled."""
        wait_s = FIRST_RETRY_S
        while True:
            await self._work.wait()
            if await self._send_all():
                wait_s = FIRST_RETRY_S
                # The first goes at once; those that come meanwhile go together.
                await asyncio.sleep(self._pace.interval_s)
                continue
            await asyncio.sleep(wait_s)
            wait_s = min(LONGEST_RETRY_S, wait_s * 2)

    async def _send_all(self) -> bool:
        """Send what waits; ``False`` if something has to be tried again."""
        self._work.clear()
        try:
            # Events first: commands above wait for those minions only that are named to them.
            while self._events:
                await self._send_events()
            while self._returns:
                if not await self._send_returns():
                    self._work.set()
                    return False
        except StoreError as error:
            self._store_state.note_failure(error)
            self._work.set()
            return False
        except SaltliteError as error:
            if self.failing_since_s is None:
                self.failing_since_s = time.monotonic()
                log.warning("master %s takes nothing now: %s", self.link.name, error)
            self._work.set()
            return False
        self._store_state.note_success()
        if self.failing_since_s is not None:
            self.failing_since_s = None
            log.info("master %s takes what is sent", self.link.name)
        return True

    # --- events ------------------------------------------------------------------

    async def _send_events(self) -> None:
        batch: list[dict[str, Plain]] = []
        size = 0
        while self._events and len(batch) < EVENTS_AT_ONCE:
            size += len(pack_bin(self._events[0]))
            if batch and size > EVENT_BYTES_AT_ONCE:
                break
            batch.append(self._events.popleft())
        if self._dropped:
            log.warning("%d events for master %s are lost", self._dropped, self.link.name)
            self._dropped = 0
        load = {
            "cmd": "_minion_event",
            "id": self._syndic,
            "events": batch,
            "pretag": f"syndic/{self._syndic}",
        }
        try:
            reply = await self._ask_upper(load)
        except SaltliteError:
            self._events.extendleft(reversed(batch))
            raise
        refused = event_refusal(reply)
        if refused is not None:
            log.warning("master %s refuses events: %s", self.link.name, refused)

    # --- returns -----------------------------------------------------------------

    async def _send_returns(self) -> bool:
        batch, found = self._gather_returns()
        if found:
            parts = [one.to_wire() for one in join_returns(self._syndic, found)]
            try:
                reply = await self._ask_upper({"cmd": "_syndic_return", "load": parts})
            except SaltliteError:
                self._returns.extendleft(reversed(batch))
                raise
            if not self._is_taken(reply):
                self._returns.extendleft(reversed(batch))
                return False
            for one in found:
                self._remember_told(one.jid)
        self._source.drop(batch)
        return True

    def _is_taken(self, reply: object) -> bool:
        # A master of Salt says None whatever it did.
        if reply is None or reply is True:
            self._has_complained = False
            return True
        if not self._has_complained:
            self._has_complained = True
            why = (
                "it cannot record them now" if reply == "" else
                f"it has to name {self._syndic} in its option `syndics`, and order_masters: True"
            )  # fmt: skip
            log.warning("master %s takes no returns: %s", self.link.name, why)
        return False

    def _gather_returns(self) -> tuple[list[Waiting], list[LowerReturn]]:
        waiting = list(islice(self._returns, RETURNS_AT_ONCE))
        batch: list[Waiting] = []
        found: list[LowerReturn] = []
        jobs: dict[str, Mapping[str, Any]] = {}
        for one, fields in self._source.read_returns(waiting, BYTES_AT_ONCE):
            batch.append(one)
            if fields is None:
                continue
            if one.jid not in self._told and one.jid not in jobs:
                jobs[one.jid] = self._source.read_job(one.jid) or guess_load(fields, one.id)
            found.append(LowerReturn(one.jid, one.id, fields, jobs.get(one.jid, {})))
        for _one in batch:
            self._returns.popleft()
        return batch, found

    def _remember_told(self, jid: str) -> None:
        self._told[jid] = None
        while len(self._told) > self._pace.loads_kept:
            self._told.popitem(last=False)

    async def _ask_upper(self, load: Mapping[str, object]) -> Any:
        return await self.link.request(load, timeout_s=self._pace.timeout_s, tries=1, lane="main")


class Uplinks:
    """All masters above, in the order in which they are tried."""

    def __init__(self, chance: Callable[[], float], *, at_random: bool) -> None:
        self._chance = chance
        self._at_random = at_random
        self.queues: dict[str, UpperQueue] = {}

    def route(self, one: Waiting, origin: str | None) -> None:
        """Give a return to the master that asked, or to the first one that takes something."""
        queue = self.queues.get(origin or "")
        if queue is None:
            queue = self._choose_queue()
        if queue is not None:
            queue.put_return(one)

    def tell_all(self, event: dict[str, Plain]) -> None:
        """Give an event to all of them."""
        for queue in self.queues.values():
            queue.put_event(event)

    def give_over(self, now_s: float) -> None:
        """Give the returns of a master that is away for too long to another."""
        for queue in self.queues.values():
            since_s = queue.failing_since_s
            if since_s is None or not queue.has_returns or now_s - since_s < GIVEN_OVER_S:
                continue
            other = self._choose_queue()
            if other is None or other is queue or other.failing_since_s is not None:
                continue
            taken = queue.take_over()
            log.warning(
                "master %s is away: %d returns go to %s",
                queue.link.name, len(taken), other.link.name,
            )  # fmt: skip
            for one in taken:
                other.put_return(one)

    def _choose_queue(self) -> UpperQueue | None:
        order = list(self.queues.values())
        if self._at_random:
            order.sort(key=lambda _queue: self._chance())
        # Who takes something goes before who is away.
        order.sort(key=lambda queue: queue.failing_since_s is not None)
        return order[0] if order else None
