"""The process: links to the masters above, jobs down, returns and events up.

``run`` is its whole life. Upwards it is a minion with the keys of the minion of this machine;
downwards a command of the master of this machine. Source: docs/syndic.md.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import zmq.asyncio

from saltlite import process
from saltlite.client.identity import process_user
from saltlite.core.messages import Job
from saltlite.core.tags import parse_job
from saltlite.errors import SaltliteError, StoreError, WireError
from saltlite.master.embedded import open_stores
from saltlite.master.forwardqueue import Waiting
from saltlite.master.jobcache import FILE_NAME
from saltlite.master.stores import ForwardedReturns
from saltlite.minion import session as fsm
from saltlite.minion.master_link import Identity, Link
from saltlite.minion.masters import masters_of
from saltlite.minion.pki import MinionKeys
from saltlite.minion.tasks import Rests, Tasks, wait_until_set
from saltlite.syndic.config import SyndicConfig
from saltlite.syndic.down import JobsDown
from saltlite.syndic.lowerbus import LowerBus
from saltlite.syndic.parts import goes_up
from saltlite.syndic.sources import LowerReturns, StoreState, origin_of
from saltlite.syndic.up import Pace, Uplinks, UpperQueue
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import TAG_END, unpack_event

if TYPE_CHECKING:
    from types import FrameType

log = logging.getLogger(__name__)

PIN_NAME: Final = "syndic_master.pub"
TOPICS: Final = (b"broadcast", b"syndic")
LOOK_S: Final = 1.0
"""Between two looks into the store that no event has asked for."""

QUIET_S: Final = 10.0
"""So long the lower master may start after us without a word."""

_STARTED: Final = ("syndic_start", "syndic/{id}/start")


def run(config: SyndicConfig) -> int:
    """Be a syndic until told to stop; the exit code.

    Raises:
        SaltliteError: it cannot start.
    """
    process.set_title("salt-syndic")
    os.umask(0o077)
    user = config.user
    if user and os.geteuid() == 0 and user != process_user():
        process.become_user(user)
    pid_file = Path(config.pidfile)
    try:
        process.write_pid_file(pid_file)
    except (OSError, StoreError) as error:
        log.warning("no pid file: %s", error)
    try:
        return asyncio.run(_serve_until_stopped(config))
    finally:
        process.remove_pid_file(pid_file)


async def _serve_until_stopped(config: SyndicConfig) -> int:
    syndic = Syndic(config)
    loop = asyncio.get_running_loop()

    def stop(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(syndic.stop)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return await syndic.run()


class Syndic:
    """One syndic with all its masters above. Fulfils ``LinkOwner``."""

    def __init__(self, config: SyndicConfig) -> None:
        self._config = config
        options = config.master.syndic
        self._context = zmq.asyncio.Context()
        sockets = MasterSockets(Path(config.master.paths.sock_dir))
        self._bus = LowerBus(sockets.event_pub, self._take_frame, self._on_bus)
        self._returns_noted = asyncio.Event()
        self._begins_later = False
        self._down = JobsDown(config.master, self._context)
        self._up = Uplinks(random.random, at_random=options.syndic_failover == "random")
        self._masters = masters_of(config.minion.network)
        self._tells_all = options.syndic_forward_all_events or len(self._masters) == 1
        jobs = config.master.jobs
        self._keeps_none = not jobs.job_cache or bool(jobs.ext_job_cache)
        self._source = LowerReturns(None if self._keeps_none else self._open_queue)
        self._pace = Pace(
            options.syndic_event_forward_timeout,
            config.minion.returns.return_retry_timer_max,
            options.syndic_jid_forward_cache_hwm,
        )
        self._unrouted: deque[Waiting] = deque()
        self._store_state = StoreState()
        self._has_new = asyncio.Event()
        self._tasks = Tasks(self._end_by)
        self._rests = Rests()
        self._started: set[str] = set()
        self._links: dict[str, Link] = {}
        self._stopping = False

    def _open_queue(self) -> ForwardedReturns:
        return open_stores(self._config.master).open_forwarded()

    async def run(self) -> int:
        """Serve until stopped or sent away; the exit code.

        Raises:
            CryptoError, StoreError: the keys cannot be used.
            ConfigError: see :meth:`LowerReturns.open`.
        """
        identity = self._make_identity()
        if self._knows_store():
            self._source.open(is_salts=bool(self._bus.is_salts))
        for work in (self._bus.run(), self._publish_jobs(), self._hand_out()):
            self._tasks.start(work)
        ends = [self._serve_upper(identity, master) for master in self._masters]
        try:
            return max(await asyncio.gather(*ends))
        finally:
            await self._close_all()

    def _knows_store(self) -> bool:
        """Whether it is known that a store of ours is here, or that none will be."""
        master = self._config.master
        # Before the master has started, a Salt master's directory is not to get a store of ours.
        return (
            self._bus.is_salts is not None
            or master.cluster.cluster_id is not None
            or (Path(master.paths.cachedir) / FILE_NAME).exists()
        )

    def _on_bus(self) -> None:
        """The bus of the master here is heard, for the first time or again: go by whose it is."""
        self._source.open(is_salts=bool(self._bus.is_salts))
        if self._bus.is_salts:
            log.info("The master here is Salt's: returns are heard on its bus")
        elif self._keeps_none:
            log.warning("The master here keeps no returns: what is on its way up ends with me")
        self._begin_to_note()

    def _begin_to_note(self) -> None:
        try:
            self._source.begin()
        except StoreError as error:  # a full disk, a server that is away: it is asked again
            self._store_state.note_failure(error)
            self._begins_later = True
            return
        self._begins_later = False
        self._returns_noted.set()

    async def _publish_jobs(self) -> None:
        # Until returns are noted, or their bus is heard, no job is to be answered.
        if not await wait_until_set(self._returns_noted, QUIET_S):
            log.warning("The master here is not there yet: jobs wait for it")
            await self._returns_noted.wait()
        await self._down.run()

    def stop(self) -> None:
        """End; what waits is in the store."""
        self._stopping = True
        log.info("Stopping")
        for link in self._links.values():
            link.stop()

    def _make_identity(self) -> Identity:
        minion = self._config.minion
        files = MinionKeys(Path(minion.paths.pki_dir), pin_name=PIN_NAME)
        sign_key = None
        if minion.auth.verify_master_pubkey_sign:
            sign_key = files.signing(minion.auth.master_sign_key_name)
        files.load_pinned()  # an unreadable one is said now, not at the first answer
        return Identity(minion.identity.id, files.own(minion.auth.keysize), files, sign_key)

    async def _serve_upper(self, identity: Identity, master: Any) -> int:
        minion = self._config.minion
        link = Link(master, identity, minion, self, self._context, topics=TOPICS)
        self._links[link.name] = link
        queue = UpperQueue(link, identity.minion_id, self._source, self._pace)
        self._up.queues[link.name] = queue
        sender = self._tasks.start(queue.run())
        if self._stopping:
            link.stop()
        try:
            end = await link.run()
        finally:
            sender.cancel()
            self._up.queues.pop(link.name, None)
        return end.code if isinstance(end, fsm.Exit) else 0

    async def _close_all(self) -> None:
        await self._tasks.close()
        self._context.destroy(linger=0)

    def _end_by(self, error: BaseException) -> None:
        log.critical("a part of the syndic failed", exc_info=error)
        # The service manager starts it anew, and nothing is lost: better than half of it.
        self.stop()

    # --- what links report -----------------------------------------------------------------

    @property
    def autosign_grains(self) -> Mapping[str, Any]:
        """A syndic has no grains."""
        return {}

    def waiting(self) -> None:
        """As far as systemd is concerned we are there."""
        process.notify("READY=1")

    def on_idle(self) -> None:
        """See ``LinkOwner``."""
        self._rests.after_work()

    def on_subscription(self, link: Link) -> None:
        """See ``LinkOwner``."""
        process.notify("READY=1")
        if link.name not in self._started:
            self._started.add(link.name)
            self._tasks.start(self._fire_start(link))

    def on_publication(self, link: Link, job: Job) -> None:
        """See ``LinkOwner``."""
        self._down.take(job, link.name)

    async def _fire_start(self, link: Link) -> None:
        minion = self._config.minion
        name = minion.identity.id
        text = f"Syndic {name} started at {time.ctime()}"
        legacy = minion.returns.enable_legacy_startup_events
        for tag in _STARTED if legacy else _STARTED[1:]:
            load = {"cmd": "_minion_event", "id": name, "pretag": None, "data": text}
            load["tag"] = tag.format(id=name)
            try:
                await link.request(load, timeout_s=self._pace.timeout_s, tries=3, lane="main")
            except SaltliteError as error:
                log.warning("%s for master %s is lost: %s", load["tag"], link.name, error)

    # --- up ----------------------------------------------------------------------------------

    def _take_frame(self, frame: bytes) -> None:
        """One event of the lower master's bus."""
        tag = frame.partition(TAG_END)[0].decode("utf-8", "replace")
        job = parse_job(tag)
        is_return = job is not None and job.kind == "ret"
        if is_return and not self._source.needs_bus:
            self._has_new.set()
            return
        if not self._tells_all and not is_return and not tag[:1].isdigit() and job is None:
            return
        try:
            event = unpack_event(frame)
        except WireError as error:
            log.debug("not an event: %s", error)
            return
        self._source.hear(event.tag, event.data)
        if is_return:
            self._has_new.set()
        elif goes_up(event.tag, event.data, everything=self._tells_all):
            self._up.tell_all({"tag": event.tag, "data": event.data})

    async def _hand_out(self) -> None:
        """Hand out what is new, until cancelled."""
        while True:
            await wait_until_set(self._has_new, LOOK_S)
            self._has_new.clear()
            if self._begins_later:
                self._begin_to_note()
            self._look_for_returns()
            self._up.give_over(time.monotonic())

    def _look_for_returns(self) -> None:
        # Without anybody to give them to they stay where they are.
        if not self._up.queues:
            return
        try:
            self._unrouted.extend(self._source.read_new())
            may_be_more = bool(self._unrouted)
            self._route_returns()
        except StoreError as error:
            self._store_state.note_failure(error)
            return
        self._store_state.note_success()
        if may_be_more:
            self._has_new.set()

    def _route_returns(self) -> None:
        origins: dict[str, str | None] = {}
        while self._unrouted:
            one = self._unrouted[0]
            if one.jid not in origins:
                known = self._down.origin(one.jid)
                origins[one.jid] = known or origin_of(self._source.read_job(one.jid))
            self._up.route(one, origins[one.jid])
            # Not before: if its job cannot be read now, it is routed later.
            self._unrouted.popleft()
