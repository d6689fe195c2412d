"""ClusterBridge: the one process of a node that listens to PostgreSQL.

It says that the node lives, gives what is published to this node's Publisher, puts what others
hear of on this node's bus, brings up what was kept on disk while PostgreSQL was away, and, on one
node, does what has to be done once in the cluster. It dies and comes back without a loss: its
places are in shared memory or begin anew, and what it has in hand is in tables.

Source: docs/cluster.md#how-it-works.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import Any, Final, Protocol

import zmq

from saltlite.cluster.dead_nodes import DeadNodes
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.feeds import EventExchange, PlacedEvent, ReturnFeed
from saltlite.cluster.gone import sweep_gone
from saltlite.cluster.job_spool import JobSpool
from saltlite.cluster.key_ring import ClusterKeyRing
from saltlite.cluster.nodes import Heart
from saltlite.cluster.portions import PORTION_BYTES
from saltlite.cluster.postgres_jobs import PostgresJobStore
from saltlite.cluster.postgres_reports import PostgresReports
from saltlite.cluster.publications import PublicationFeed
from saltlite.core import tags
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.rare_lines import RareLine
from saltlite.core.state_reports import may_be_states, read_runs
from saltlite.core.waiting_frames import WaitingFrames
from saltlite.errors import CryptoError, RecordRefused, ServerAway, StoreError, WireError
from saltlite.master.child import Life
from saltlite.master.forwardqueue import Waiting
from saltlite.master.jobcache import (
    JobRecord,
    ReturnRow,
    Stored,
    is_same_job,
    jid_before,
    take_fitting,
    unpack_map,
)
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EVENTS_LINGER_MS, EventPusher, EventSubscriber, pack_event

log = logging.getLogger(__name__)

CHANNELS: Final = ("saltlite_pub", "saltlite_keyring", "saltlite_keys")
"""What a node wakes the others up for; each of them also looks by itself."""

LOOK_S: Final = 0.25
RETURNS_S: Final = 0.05
BUSY_S: Final = 30.0
"""After a job of this node, or a return, they are looked for that often; else every ``QUIET_S``."""

QUIET_S: Final = 0.5
EVENTS_S: Final = 0.1
HOUSE_S: Final = 10.0
DEAD_S: Final = 1.0
"""How often nodes are looked for that have died: somebody waits for their minions."""

SPOOL_S: Final = 0.5
SPOOL_BATCH: Final = 500
COPIES_S: Final = 86400.0
COPIES_MOST: Final = 10_000
"""Jobs that are copied to each node, so that their returns can be taken alone."""

EVENTS_BATCH: Final = 200
EVENTS_WAIT_MOST: Final = 20_000
EVENTS_WAIT_BYTES: Final = 64 * 1024 * 1024
"""Events of this node that wait for PostgreSQL; the oldest go first."""

SWEEP_S: Final = 3600.0
"""How often rows are looked for of what went long ago."""

PUBLICATIONS_KEPT_S: Final = 900
EVENTS_KEPT_S: Final = 60

_SWEEPS: Final = (
    ("DELETE FROM publications WHERE at < now() - make_interval(secs => %s)", PUBLICATIONS_KEPT_S),
    ("DELETE FROM events WHERE at < now() - make_interval(secs => %s)", EVENTS_KEPT_S),
    ("DELETE FROM nonces WHERE until < now() - make_interval(secs => %s)", 0),
)


class Publishing(Protocol):
    """The Publisher of this node."""

    def publish_frame(self, frame: bytes, job: dict[str, Any], topics: list[bytes]) -> None:
        """Hand over a job that is sealed already; raises StoreError."""


@dataclass(slots=True)
class Duty:
    """Something that the bridge does every ``every_s`` seconds, or when ``channel`` says so."""

    do: Callable[[], object]
    every_s: float
    channel: str = ""
    next_s: float = 0.0
    errors: RareLine = field(default_factory=RareLine)


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeParts:
    """What a bridge works with; made in its own process."""

    number: int
    engine: ClusterEngine
    heart: Heart
    ring: ClusterKeyRing
    feed: PublicationFeed
    returns: ReturnFeed
    events: EventExchange
    jobs: PostgresJobStore
    spool: JobSpool
    publisher: Publishing
    dead: DeadNodes
    lease_s: float
    keeps_copies: bool
    """Whether jobs are copied to the spool, so that their returns can be taken alone."""

    keeps_reports: bool = True
    """Whether what runs of states did is kept (``state_reports``)."""

    more: Sequence[Duty] = ()
    """What else has to be looked at: keys, grains."""


class ClusterBridge:
    """The process. ``run`` is its whole life; ``open_parts`` makes what it works with."""

    def __init__(
        self,
        sockets: MasterSockets,
        prefixes: Sequence[str],
        open_parts: Callable[[zmq.Context[zmq.Socket[bytes]]], BridgeParts],
        *,
        max_event_bytes: int,
    ) -> None:
        self._sockets = sockets
        self._prefixes = prefixes
        self._open_parts = open_parts
        self._max_event_bytes = max_event_bytes
        self._away_since_s: float | None = None
        self._is_away_told = False
        self._away_lines = RareLine()
        self._copy_errors = RareLine()
        self._outgoing = WaitingFrames(EVENTS_WAIT_MOST, EVENTS_WAIT_BYTES)
        self._placed: list[PlacedEvent] = []
        self._listens = 0
        self._busy_until_s = 0.0
        self._next_returns_s = 0.0

    def run(self, life: Life) -> None:
        """Do each duty when it is due or called for, until told to stop."""
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._parts = self._open_parts(context)
        self._bus = EventPusher(
            self._sockets.event_pull, context=context, max_bytes=self._max_event_bytes
        )
        self._hearer = EventSubscriber(self._sockets.event_pub, self._prefixes, context=context)
        duties = [
            Duty(self._show_life, self._parts.lease_s / 5, "saltlite_keyring"),
            Duty(self._publish_new, LOOK_S, "saltlite_pub"),
            Duty(self._announce_returns, RETURNS_S),
            Duty(self._exchange_events, EVENTS_S),
            Duty(self._empty_spool, SPOOL_S),
            Duty(self._forget_copies, COPIES_S / 24),
            Duty(self._keep_house, HOUSE_S),
            Duty(self._look_for_dead, DEAD_S),
            Duty(self._sweep_gone, SWEEP_S),
            *self._parts.more,
        ]
        life.ready()
        try:
            while not life.stopping:
                self._do_due(duties)
                self._wait_for_more(life, min(duty.next_s for duty in duties) - time.monotonic())
        finally:
            with contextlib.suppress(ServerAway):
                self._parts.heart.stop()
            self._parts.engine.close()
            self._parts.spool.close()
            self._hearer.close()
            context.destroy(linger=EVENTS_LINGER_MS)

    def _wait_for_more(self, life: Life, due_s: float) -> None:
        """Until something is due, a signal comes, the server or our bus says something."""
        poller = zmq.Poller()
        life.register(poller)
        poller.register(self._hearer.fileno, zmq.POLLIN)
        with contextlib.suppress(ServerAway):
            poller.register(self._parts.engine.fileno(), zmq.POLLIN)
        life.poll(poller, max(0.005, min(due_s, LOOK_S)))
        self._hear_events()

    def _do_due(self, duties: Sequence[Duty]) -> None:
        """Do what is due; a server that is away is said once, and asked again later."""
        try:
            called = self._take_calls()
            for duty in duties:
                if duty.next_s <= time.monotonic() or duty.channel in called:
                    duty.next_s = time.monotonic() + duty.every_s
                    self._do(duty)
        except ServerAway as error:
            self._note_away(error)

    def _do(self, duty: Duty) -> None:
        """One that fails keeps no other waiting. Raises ServerAway, which concerns all."""
        try:
            duty.do()
        except ServerAway:
            raise
        except (StoreError, CryptoError, WireError) as error:
            # A full disk is met at each publication.
            more = duty.errors.count(time.monotonic())
            if more is not None:
                log.error("ClusterBridge: %s%s", error, more)

    def _take_calls(self) -> set[str]:
        """The channels that were called since the last look; all of them on a new connection."""
        engine = self._parts.engine
        called = engine.take_notices()
        if self._listens == engine.opened:
            return called
        for channel in CHANNELS:
            engine.execute(f"LISTEN {channel}")
        self._listens = engine.opened
        return set(CHANNELS)

    def _note_away(self, error: ServerAway) -> None:
        if self._away_since_s is not None:
            return
        self._away_since_s = time.monotonic()
        # A disk that is nearly full takes one row and not the next, several times a second.
        more = self._away_lines.count(self._away_since_s)
        self._is_away_told = more is not None
        if self._is_away_told:
            log.error("%s; this node goes on alone%s", error, more)

    def _note_back(self) -> None:
        """It takes rows again, which is more than that it lets us in."""
        if self._away_since_s is None:
            return
        if self._is_away_told:
            away_s = time.monotonic() - self._away_since_s
            log.info("The cluster engine is back after %.1f s", away_s)
        self._away_since_s = None

    # --- duties --------------------------------------------------------------------------

    def _show_life(self) -> None:
        parts = self._parts
        if not parts.heart.beat():
            log.error(
                "This node was removed from the cluster; salt-run cluster.join brings it back"
            )
        parts.ring.refresh(time.monotonic())
        self._note_back()

    def _publish_new(self) -> None:
        """Give what is published to our Publisher, and keep what its returns will need."""
        parts = self._parts
        for publication in parts.feed.read():
            # Returns of other nodes' jobs are theirs to hear of.
            if publication.node == parts.number:
                self._busy_until_s = time.monotonic() + BUSY_S
            parts.publisher.publish_frame(publication.frame, publication.job, publication.topics)
            # Before anything else can fail: a minion is never sent the same serial again.
            parts.feed.place = publication.serial
            parts.ring.note_serial(publication.serial)
            if parts.keeps_copies:
                self._copy_job(publication.jid)

    def _copy_job(self, jid: str) -> None:
        """Keep it beside PostgreSQL; a disk without room keeps nothing from being published."""
        record = self._parts.jobs.job(jid)
        if record is None:
            return
        try:
            self._parts.spool.new_job(jid, record.load, record.minions)
        except StoreError as error:
            more = self._copy_errors.count(time.monotonic())
            if more is not None:
                log.error("This node keeps no copy of job %s: %s%s", jid, error, more)

    def _announce_returns(self) -> None:
        """Put returns that came to other nodes on the bus where their job was published."""
        now_s = time.monotonic()
        if now_s > self._busy_until_s and now_s < self._next_returns_s:
            return
        self._next_returns_s = now_s + QUIET_S
        for one in self._parts.returns.read():
            load = {"cmd": "_return", "id": one.id, "jid": one.jid, **one.ret}
            self._bus.fire(tags.job_ret(one.jid, one.id), load)
            self._busy_until_s = now_s + BUSY_S

    def _hear_events(self) -> None:
        dropped = 0
        while (frame := self._hearer.next_frame()) is not None:
            if self._parts.events.is_for_all(frame):
                dropped += self._outgoing.add(frame)
        if dropped:
            self._tell_dropped(dropped)

    def _tell_dropped(self, count: int) -> None:
        log.warning("%d events of this node are not heard by the others", count)
        self._bus.push(pack_event("salt/bus/dropped", {"count": count}, datetime.now(timezone.utc)))

    def _exchange_events(self) -> None:
        events = self._parts.events
        while self._placed or self._outgoing:
            if not self._placed:
                sized = ((frame, len(frame)) for frame in islice(self._outgoing, EVENTS_BATCH))
                self._placed = events.give_places(list(take_fitting(sized, PORTION_BYTES)))
                self._outgoing.drop(len(self._placed))
            # What fails may have been done: the same are sent again, with the same places.
            try:
                events.send(self._placed)
            except RecordRefused as error:  # now and later, so they keep no others waiting
                log.error("Events are not taken: %s", error)
                self._tell_dropped(len(self._placed))
            self._placed = []
        for frame in events.read():
            self._bus.push(frame)

    def _empty_spool(self) -> None:
        """Bring up what was kept here while PostgreSQL was away."""
        spool, jobs, returns = self._parts.spool, 0, 0
        if not spool.exists():
            return
        try:
            while True:
                waiting = spool.read_new(SPOOL_BATCH)
                # After that look: a worker that holds the engine for away still publishes here. It
                # records a job before its returns, and in that order they have to go up.
                jobs += self._send_jobs()
                if not waiting:
                    break
                returns += self._send_returns(waiting)
        except StoreError:
            spool.start_over()
            raise
        if jobs or returns:
            log.info("Brought up %d jobs and %d returns that were kept here", jobs, returns)

    def _forget_copies(self) -> None:
        """Let go of old copies; what has yet to go up is up by now."""
        spool = self._parts.spool
        if spool.exists():
            self._empty_spool()
            spool.clean(jid_before(datetime.now(timezone.utc), COPIES_S))
            spool.clean_to(COPIES_MOST)

    def _send_jobs(self) -> int:
        parts, count = self._parts, 0
        while True:
            sent: list[str] = []
            for record in parts.spool.read_unsent(SPOOL_BATCH):
                if not parts.jobs.new_job(record.jid, record.load, record.minions):
                    self._join_job(record)
                sent.append(record.jid)
            if not sent:
                return count
            parts.spool.drop_unsent(sent)
            count += len(sent)

    def _join_job(self, record: JobRecord) -> None:
        """A job of a master above, which each node has published alone, asks all their minions."""
        known = self._parts.jobs.job(record.jid)
        if known is None or not is_same_job(known.load, record.load):
            log.warning("Job %s is on record already, as another one", record.jid)
            return
        self._parts.jobs.add_minions(record.jid, record.minions)

    def _send_returns(self, waiting: Sequence[Waiting]) -> int:
        """How many went up."""
        left, count = waiting, 0
        while left:
            found = self._parts.spool.read_rows(left, PORTION_BYTES)
            left = left[len(found) :]
            try:
                self._add_rows([row for _one, row in found if row is not None])
            except RecordRefused as error:  # now and later, so they keep no others waiting
                log.error("Returns that were kept here are not taken: %s", error)
                continue
            self._parts.spool.drop([one for one, _row in found])
            count += len(found)
        return count

    def _add_rows(self, rows: Sequence[ReturnRow]) -> None:
        outcomes = self._parts.jobs.add_rows(rows) if rows else []
        for row, outcome in zip(rows, outcomes, strict=True):
            if outcome in (Stored.NEW, Stored.REPEAT):
                self._report_states(row[0], row[1], unpack_map(row[3]))
        for row, outcome in zip(rows, outcomes, strict=True):
            if outcome in (Stored.FORGOTTEN, Stored.CONFLICT):
                log.warning("The return of %s to job %s: %s", row[1], row[0], outcome.value)

    def _report_states(self, jid: str, minion_id: str, ret: dict[str, Any]) -> None:
        """Keep what a run of states did, as the worker would have that took its return."""
        if not self._parts.keeps_reports or not may_be_states(ret.get("fun")):
            return
        record = self._parts.jobs.job(jid)
        user = str(record.load.get("user", "")) if record else ""
        runs = [*read_runs(ret, jid=jid, minion=minion_id, user=user, now_s=time.time())]
        try:
            PostgresReports(self._parts.engine).add_runs(runs)
        except RecordRefused as error:
            log.error("What states did is not kept for reports: %s", error)

    def _keep_house(self) -> None:
        """What is done once in the cluster."""
        parts = self._parts
        if not parts.heart.keeps_house:
            return
        for statement, age_s in _SWEEPS:
            parts.engine.execute(statement, [age_s])

    def _sweep_gone(self) -> None:
        if self._parts.heart.keeps_house:
            sweep_gone(self._parts.engine)

    def _look_for_dead(self) -> None:
        heart = self._parts.heart
        if heart.keeps_house and heart.may_judge():
            self._parts.dead.repeat_jobs()
