"""The process that talks: one asyncio loop with the links to the masters, the executor, the bus.

It runs no code of users: grains and jobs run in children of the parent. Questions about running
jobs are answered here, by built-in functions, so that they are answered however busy we are.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, cast

import zmq
import zmq.asyncio

from saltlite.context import MinionContext
from saltlite.core import tags
from saltlite.core.dataclasses import replace
from saltlite.core.messages import Job, event_refusal
from saltlite.core.mine import mine_load
from saltlite.core.plain import PlainMap
from saltlite.core.targets import MinionFacts, Target, matches
from saltlite.errors import (
    ConfigError,
    CryptoError,
    RequestTimeout,
    SaltliteError,
    StoreError,
    TargetError,
    WireError,
)
from saltlite.jobs.deliver import missing_returners, returner_names
from saltlite.jobs.waiting import waiting_spools
from saltlite.minion import session as fsm
from saltlite.minion.bus import MinionBus, may_go_to_master
from saltlite.minion.executor import Executor
from saltlite.minion.facts import Facts, find_changed_grains
from saltlite.minion.job import run_job
from saltlite.minion.job_output import PendingOutput
from saltlite.minion.late_jobs import LateJobs
from saltlite.minion.master_link import MAIN, Identity, Link, LinkOver, answers
from saltlite.minion.masters import FAILING_OVER, MasterAddress, in_turn, masters_of
from saltlite.minion.outbox import Outbox, Parcel
from saltlite.minion.pki import MinionKeys
from saltlite.minion.process import Setup, pack_return, return_load
from saltlite.minion.seen import SeenJobs
from saltlite.minion.spawner import ForkSpawner, Spawner, ThreadSpawner
from saltlite.minion.startup import startup_job
from saltlite.minion.taken_job import UNRETURNED, TakenJob
from saltlite.minion.tasks import Rests, Tasks, wait_until_set
from saltlite.process import set_title
from saltlite.transport.addresses import MinionSockets
from saltlite.transport.bus import Event

if TYPE_CHECKING:
    from saltlite.minion.beacon_events import EventQueue
    from saltlite.minion.beacons import Beacons
    from saltlite.minion.schedule import Scheduler

log = logging.getLogger(__name__)

CANNOT_START: Final = 78
"""Exit code: starting again will not help. Source: sysexits.h, EX_CONFIG."""

CRASHED: Final = 70
"""Exit code: an error in the loop itself. Source: sysexits.h, EX_SOFTWARE."""

FACTS_PATIENCE_S: Final = 10.0
"""So long after the subscription jobs wait for grains and pillar; then they go without."""

PILLAR_RETRY_S: Final = 60.0
TELL_EVERY_S = 1.0
"""Between two events that say which state of a job runs, or what its command prints."""

HELD_LIMIT: Final = 1000
ROUND_WAIT_S: Final = 10.0
SHORTEST_S: Final = 1.0
"""Nothing is done again and again more often than this, whatever the configuration says."""

FAILBACK_S: Final = 60.0
EVENT_TRIES: Final = 3

CONTROL: Final = frozenset(
    {
        "saltutil.find_job",
        "saltutil.is_running",
        "saltutil.kill_all_jobs",
        "saltutil.kill_job",
        "saltutil.running",
        "saltutil.signal_all_jobs",
        "saltutil.signal_job",
        "saltutil.term_all_jobs",
        "saltutil.term_job",
    }
)
"""Functions that the loop answers itself, without a slot and without a process."""

COMMANDS: Final = frozenset(
    {
        "_dir_list",
        "_file_bundle",
        "_file_envs",
        "_file_find",
        "_file_hash",
        "_file_hash_and_stat",
        "_file_list",
        "_file_list_emptydirs",
        "_file_recv",
        "_master_opts",
        "_master_tops",
        "_mine",
        "_mine_delete",
        "_mine_flush",
        "_mine_get",
        "_minion_event",
        "_pillar",
        "_return",
        "_serve_file",
        "_symlink_list",
        "minion_pub",
        "minion_publish",
        "minion_runner",
        "pub_ret",
        "revoke_auth",
    }
)
"""What a job may ask of its master. Source: docs/wire.md#commands-of-a-minion."""


def applies_states(job: TakenJob) -> bool:
    """Whether a job applies states: beacons with ``disable_during_state_run`` pause for it."""
    return any(name.startswith("state.") for name in job.functions)


def run_loop(setup: Setup, control: socket.socket, grains: socket.socket) -> int:
    """The life of the loop's process; its exit code.

    ``control`` leads to the parent, ``grains`` to a child that collects grains already.
    """
    set_title("salt-minion Minion")
    # Returns, keys and sockets are its files; jobs get the umask of the start back.
    os.umask(0o077)
    try:
        return asyncio.run(_run_in_process(setup, control, grains))
    except (ConfigError, CryptoError, StoreError) as error:
        log.critical("%s", error)
        return CANNOT_START
    except Exception:  # the worker loop: the parent starts it again, but the log must say why
        log.exception("the minion's loop failed")
        return CRASHED


async def _run_in_process(setup: Setup, control: socket.socket, grains: socket.socket) -> int:
    spawner = ForkSpawner(control)
    if setup.config.network.master_type == "func":
        setup = await _name_masters(setup, spawner)
    minion = Minion(setup, spawner, grains)
    loop = asyncio.get_running_loop()
    _stop_on_signals(loop, minion)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a log file that was moved is noticed without
    orphaned = loop.create_task(_stop_with_parent(spawner, minion))
    try:
        return await minion.run()
    finally:
        orphaned.cancel()
        spawner.close()


async def _name_masters(setup: Setup, spawner: Spawner) -> Setup:
    from saltlite.minion.master_function import set_masters

    masters = await Facts(setup, spawner).ask_masters()
    log.info("%s names the masters: %s", setup.config.network.master, masters)
    return replace(setup, config=set_masters(setup.config, masters))


def _stop_on_signals(loop: asyncio.AbstractEventLoop, minion: Minion) -> None:
    """As ``loop.add_signal_handler``, which would load ``inspect`` to look at what it is given."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(minion.stop)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _report_failure(error: BaseException) -> None:
    log.error("a part of the minion failed", exc_info=error)


async def _stop_with_parent(spawner: ForkSpawner, minion: Minion) -> None:
    await spawner.parent_gone.wait()
    minion.stop()


class Minion:
    """One minion with all its masters. Fulfils ``LinkOwner`` and ``JobServices``."""

    def __init__(self, setup: Setup, spawner: ForkSpawner, grains: socket.socket) -> None:
        config = setup.config
        self._setup = setup
        self._config = config
        self._parent = spawner
        self._masters = masters_of(config.network)
        self._context = zmq.asyncio.Context()
        self._facts = Facts(setup, spawner, grains)
        self._spool = setup.spool()
        self._outbox = Outbox(
            [master.name for master in self._masters],
            random.random,
            one_at_a_time=config.network.master_type in FAILING_OVER,
        )
        self._outbox_changed = asyncio.Condition()
        self._seen = SeenJobs(setup.cachedir / "minion_jids", config.process.minion_jid_queue_hwm)
        self._late_jobs = LateJobs()
        # Only jobs may be threads: grains, mine and engines have a process of their own always.
        jobs: Spawner = spawner
        if not config.process.multiprocessing:
            jobs = ThreadSpawner(setup, os.getpid())
        self._executor = Executor(setup, jobs, self._spool, self)
        self._bus: MinionBus | None = None
        self._links: dict[str, Link] = {}
        self._link_came = asyncio.Event()
        self._states: dict[str, PlainMap | None] = {}
        self._output: dict[str, PendingOutput] = {}
        # Masters whose subscription has been up; what happens once at a start has happened.
        self._started: set[str] = set()
        # By master: jobs from before grains and pillar were there. No entry once those are through.
        self._held: dict[str, list[Job]] = {}
        self._rests = Rests()
        self._tasks = Tasks(_report_failure)
        self._stopping = asyncio.Event()
        self._is_ready = False
        self._scheduler: Scheduler | None = None
        self._has_facts = asyncio.Event()
        self._beacons: Beacons | None = None
        self._beacon_events: dict[str, EventQueue] = {}
        self._beacon_senders: dict[str, asyncio.Task[Any]] = {}
        self._has_run_states = False

    # --- life ------------------------------------------------------------------------------

    async def run(self) -> int:
        """Serve the masters until stopped or sent away; the exit code.

        Raises:
            CryptoError, StoreError: the minion's keys cannot be used.
        """
        # First of all: the slowest part of a start, and another process does it.
        self._tasks.start(self._facts.load_grains())
        identity = self._make_identity()
        self._open_bus()
        self._take_up_the_past()
        self._tasks.start(self._write_again())
        if self._config.returns.ping_interval > 0:
            self._tasks.start(self._ping_masters())
        if self._config.grains.grains_refresh_every > 0:
            self._tasks.start(self._watch_grains())
        if self._config.process.engines:
            self._tasks.start(self._run_engines())
        if self._config.beacons.beacons_before_connect:
            self._tasks.start(self._begin_beacons_early())
        try:
            return await self._serve_masters(identity)
        finally:
            await self._close_all()

    def stop(self) -> None:
        """End in order; jobs that run go on by themselves."""
        if self._stopping.is_set():
            return
        log.info("Stopping")
        self._stopping.set()
        # Before the links: what still comes in must not begin.
        self._executor.stop()
        for link in self._links.values():
            link.stop()

    async def _serve_masters(self, identity: Identity) -> int:
        network = self._config.network
        # Schedule, beacons and engines are all that runs then.
        if network.master_type == "disable":
            self._report_ready()
            await self._facts.loaded.wait()
            self._has_facts.set()
            self._look_at_schedule("")
            self._look_at_beacons("")
            await self._stopping.wait()
            return 0
        if self._config.extra.get("scheduler_before_connect"):
            self._tasks.start(self._schedule_before_connect())
        delay_s = self._config.returns.random_startup_delay * random.random()  # noqa: S311 - jitter
        if delay_s > 0:
            await self._sleep_unless_ending(delay_s)
        if network.master_type in FAILING_OVER:
            return await self._serve_in_turn(identity)
        # A refusal (77, 42) counts before the 0 of the others.
        return max(await asyncio.gather(*(self._serve_always(identity, m) for m in self._masters)))

    async def _serve_always(self, identity: Identity, master: MasterAddress) -> int:
        end = await self._serve_one(identity, master, failover=False)
        return end.code if isinstance(end, fsm.Exit) else 0

    async def _serve_in_turn(self, identity: Identity) -> int:
        """``failover`` and ``distributed``: one master at a time, the next one when it is gone."""
        order = in_turn(self._masters, self._config.network, random.random, self._setup.minion_id)
        while True:
            for master in order:
                # Facts and start event anew: another master may know nothing of this minion.
                self._started.discard(master.name)
                watch = self._tasks.start(self._watch_for(order[0], master))
                end = await self._serve_one(identity, master, failover=True)
                watch.cancel()
                if isinstance(end, fsm.Exit):
                    return end.code
                if end.start_over:
                    break
            else:
                # All minions of these masters go the same round, so the pause is random.
                await self._sleep_unless_ending(ROUND_WAIT_S * (0.5 + random.random()))  # noqa: S311 - jitter

    async def _sleep_unless_ending(self, seconds: float) -> None:
        """Sleep, unless the minion is to end."""
        await wait_until_set(self._stopping, seconds)

    async def _watch_for(self, first: MasterAddress, current: MasterAddress) -> None:
        """``master_failback``: leave ``current`` once the first master answers again."""
        network = self._config.network
        if not network.master_failback or current is first:
            return
        while True:
            alive_s = network.master_alive_interval
            await asyncio.sleep(network.master_failback_interval or alive_s or FAILBACK_S)
            link = self._links.get(current.name)
            if link is not None and link.is_up and await answers(first, self._context):
                link.give_up(f"master {first.name} answers again")

    async def _serve_one(
        self, identity: Identity, master: MasterAddress, *, failover: bool
    ) -> fsm.Exit | fsm.GiveUp:
        if self._stopping.is_set():
            return fsm.Exit(0)
        link = Link(master, identity, self._config, self, self._context, failover=failover)
        self._links[link.name] = link
        self._link_came.set()
        self._link_came = asyncio.Event()
        sender = self._tasks.start(
            link.send_returns(self._outbox, self._spool, self._outbox_changed)
        )
        try:
            return await link.run()
        finally:
            sender.cancel()
            del self._links[link.name]

    async def _close_all(self) -> None:
        await self._tasks.close()
        if self._bus is not None:
            self._bus.close()
        # Last: the sockets of all tasks are this context's.
        self._context.destroy(linger=0)

    # --- start -----------------------------------------------------------------------------

    def _make_identity(self) -> Identity:
        auth = self._config.auth
        files = MinionKeys(Path(self._config.paths.pki_dir))
        sign_key = None
        if auth.verify_master_pubkey_sign:
            sign_key = files.signing(auth.master_sign_key_name)
        files.load_pinned()  # an unreadable one is said now, not at the first answer
        return Identity(self._setup.minion_id, files.own(auth.keysize), files, sign_key)

    def _open_bus(self) -> None:
        sockets = MinionSockets(
            Path(self._config.paths.sock_dir), self._setup.minion_id, self._config.files.hash_type
        )
        try:
            self._bus = MinionBus(
                self._context,
                sockets,
                self._take_event,
                max_event_bytes=self._config.returns.max_event_size,
            )
        except (ValueError, zmq.ZMQError, StoreError) as error:
            log.error("this minion has no event bus: %s", error)
            return
        self._tasks.start(self._bus.run())

    def _take_up_the_past(self) -> None:
        """Returns that were not acknowledged, and jobs that were cut short or still run."""
        self._executor.inherit(self._masters[0].name)

    def _report_ready(self) -> None:
        """The first time there is nothing to do but wait: tell systemd, tidy the memory."""
        if self._is_ready:
            return
        self._is_ready = True
        # What only the start needed goes; the rest stays for good, and is not looked at again.
        gc.collect()
        gc.freeze()
        self._tasks.start(self._parent.ready())

    # --- what links report -------------------------------------------------------------------

    @property
    def autosign_grains(self) -> Mapping[str, Any]:
        """See ``LinkOwner``."""
        wanted = self._config.auth.autosign_grains
        return {name: self._facts.grains[name] for name in wanted if name in self._facts.grains}

    def waiting(self) -> None:
        """A link waits for something outside: as far as systemd is concerned we are there."""
        self._report_ready()

    def on_idle(self) -> None:
        """See ``LinkOwner``."""
        # To close it took code that only waits now, and freed what it was made of.
        self._rests.after_work()

    def on_subscription(self, link: Link) -> None:
        """See ``LinkOwner``."""
        self._report_ready()
        if link.name not in self._started:
            self._started.add(link.name)
            self._held.setdefault(link.name, [])
            self._tasks.start(self._begin_jobs(link))
            if self._outbox.one_at_a_time:
                # They wait for the master that is gone, up to five minutes.
                self._outbox.master_is_back(time.monotonic())
                self._tasks.start(self._tell_senders())

    async def _begin_jobs(self, link: Link) -> None:
        """Get the facts, then run what has been published meanwhile, then say that we are here."""
        loading = self._tasks.start(self._first_facts(link))
        # Not ``wait_for``, which would cancel the loading: it goes on when the patience ends.
        await asyncio.wait({loading}, timeout=FACTS_PATIENCE_S)
        self._has_facts.set()
        self._look_at_schedule(link.name)
        self._look_at_beacons(link.name)
        # Nothing is awaited from here to the last of them, so none that comes now overtakes them.
        for job in self._held.pop(link.name, []):
            self._consider_job(link, job)
        await self._fire_start(link)
        # What the start and the sign-in have loaded is not needed while we wait for jobs.
        self._rests.after_work()
        asked = startup_job(self._config.files, self._setup.minion_id)
        if asked is not None:
            self._take_job(TakenJob.of(asked), link.name)
        if self._config.mine.mine_enabled:
            await self._update_mine(link)

    async def _update_mine(self, link: Link) -> None:
        """Tell the mine functions' values, now and every ``mine_interval``; 0 is never again."""
        while self._links.get(link.name) is link:
            _, pillar = self._facts.of(link.name)
            functions = self._config.mine.mine_functions or {}
            if isinstance(functions, Mapping) and isinstance(pillar.get("mine_functions"), Mapping):
                functions = {**functions, **cast("dict[str, Any]", pillar["mine_functions"])}
            if functions:
                data = await self._facts.collect_mine(link.name, functions)
                await self._send_mine(link, data)
            if self._config.mine.mine_interval <= 0:
                return
            await asyncio.sleep(max(self._config.mine.mine_interval * 60, SHORTEST_S))

    async def _first_facts(self, link: Link) -> None:
        await self._facts.loaded.wait()
        if not await self._facts.load_pillar(link):
            self._tasks.start(self._try_pillar_again(link))

    async def _try_pillar_again(self, link: Link) -> None:
        while self._links.get(link.name) is link:
            await asyncio.sleep(PILLAR_RETRY_S)
            if await self._facts.load_pillar(link):
                self._look_at_schedule(link.name)
                self._look_at_beacons(link.name)
                return

    async def _fire_start(self, link: Link) -> None:
        minion_id = self._setup.minion_id
        text = f"Minion {minion_id} started at {time.ctime()}"
        load: dict[str, Any] = {"cmd": "_minion_event", "pretag": None, "data": text}
        wanted = self._config.returns.start_event_grains
        if wanted:
            grains = self._facts.grains
            load["grains"] = {name: grains[name] for name in wanted if name in grains}
        if self._config.returns.enable_legacy_startup_events:
            await self._send_to_master(link, {**load, "tag": tags.MINION_START})
        await self._send_to_master(link, {**load, "tag": tags.minion_start(minion_id)})

    async def _send_to_master(self, link: Link, load: dict[str, Any]) -> None:
        """An event or mine data to the master, or one line that they are lost."""
        returns = self._config.returns
        what = load.get("tag") or load["cmd"]
        try:
            reply = await link.request(
                load, timeout_s=max(1.0, returns.return_retry_timer), tries=EVENT_TRIES, lane=MAIN
            )
        except SaltliteError as error:
            log.warning("%s for master %s is lost: %s", what, link.name, error)
            return
        refusal = event_refusal(reply)
        if refusal is not None:
            log.warning("master %s refuses %s: %s", link.name, what, refusal)

    async def _ping_masters(self) -> None:
        while True:
            await asyncio.sleep(max(self._config.returns.ping_interval * 60, SHORTEST_S))
            load = {"cmd": "_minion_event", "pretag": None, "tag": tags.MINION_PING, "data": "ping"}
            for link in list(self._links.values()):
                if link.is_up:
                    await self._send_to_master(link, load)

    async def _write_again(self) -> None:
        """Now and then, try servers again for which returns wait; first what a stop has left."""
        named = returner_names(None, self._config.returns.return_)
        for name in missing_returners(named, self._config):
            log.error("The option `return` names %s, and there is no such returner here", name)
        await self._facts.loaded.wait()
        undelivered = self._setup.open_undelivered()
        spools: list[str] = []
        while True:
            jids = undelivered.list_left()
            if spools or jids:
                await self._facts.write_again(next(iter(self._links), ""), spools, jids)
            await asyncio.sleep(self._config.returns.returners_retry_interval)
            spools = waiting_spools(self._setup.cachedir)

    async def _watch_grains(self) -> None:
        """``grains_refresh_every``: ask for the pillar anew when a grain has changed."""
        while True:
            await asyncio.sleep(self._config.grains.grains_refresh_every * 60)
            before = self._facts.grains
            await self._facts.load_grains()
            changed = find_changed_grains(before, self._facts.grains)
            if changed:
                log.info("grains have changed: %s", ", ".join(changed))
                await self._refresh_pillar({})

    # --- jobs ----------------------------------------------------------------------------------

    def on_publication(self, link: Link, job: Job) -> None:
        """See ``LinkOwner``."""
        # The first job can be here before the monitor has told of the subscription.
        held = (
            self._held.setdefault(link.name, [])
            if link.name not in self._started
            else (self._held.get(link.name))
        )
        if held is None:
            self._consider_job(link, job)
        elif len(held) < HELD_LIMIT:
            held.append(job)
        else:
            log.warning("job %s is dropped: too many came before the start was over", job.jid)

    def _consider_job(self, link: Link, job: Job) -> None:
        """Take the job if it is meant for us and new."""
        received_us = time.time_ns() // 1000
        self._rests.after_work()
        if self._stopping.is_set() or not self._is_meant(link, job):
            return
        # A master that repeats what was taken long ago is no reason to tell of a late job.
        if not self._seen.has(job.jid) and self._late_jobs.refuse(job):
            return
        # Last: a job for others, or one too late, takes no place among those that are remembered.
        if not self._seen.take(job.jid):
            log.info("job %s was taken before and is not run again", job.jid)
            return
        log.info("job %s: %s for %s", job.jid, ",".join(job.functions), job.user or "nobody")
        fields: dict[str, Any] = dict(job.to_wire())
        fields.pop("not_after", None)  # no function is to see what Salt's jobs have not
        if job.start_event:
            self._tasks.start(self._fire_job_start(link, job.jid))
        if isinstance(job.fun, str) and job.fun in CONTROL:
            self._answer_question(link, TakenJob.of(fields))
        else:
            self._take_job(TakenJob.of(fields), link.name, received_us)

    def _take_job(self, job: TakenJob, master: str, received_us: int = 0) -> None:
        self._has_run_states = self._has_run_states or applies_states(job)
        self._executor.take(job, master, received_us)

    def _is_meant(self, link: Link, job: Job) -> bool:
        grains, pillar = self._facts.of(link.name)
        facts = MinionFacts(self._setup.minion_id, grains, pillar)
        try:
            return matches(Target(job.tgt, job.tgt_type, job.delimiter), facts)
        except TargetError as error:
            log.warning("job %s: %s", job.jid, error)
            return False

    async def _fire_job_start(self, link: Link, jid: str) -> None:
        minion_id = self._setup.minion_id
        load = {"cmd": "_minion_event", "pretag": None, "tag": tags.job_start(jid, minion_id)}
        await self._send_to_master(link, {**load, "data": {"jid": jid, "id": minion_id}})

    def _answer_question(self, link: Link, job: TakenJob) -> None:
        """Answer a question about jobs at once; it is not worth a place on disk."""
        load = return_load(self._setup.minion_id, job, run_job(job, self._context_for(link, job)))
        parcel = Parcel(load, link.name, time.time())
        jid = job.jid
        # In memory: nobody waits for this answer after a restart.
        self._spool.hold(jid, pack_return(parcel, self._setup.minion_id, job))
        self.note_return(jid, link.name)

    def _context_for(self, link: Link, job: TakenJob) -> MinionContext:
        from saltlite.host import Host
        from saltlite.loader.registry import with_functions

        grains, pillar = self._facts.of(link.name)
        return with_functions(
            MinionContext(
                config=self._config,
                host=Host(),
                grains=grains,
                pillar=pillar,
                events=self,
                jobs=self._executor,
                job=dict(job.fields),
            )
        )

    # --- engines -------------------------------------------------------------------------------

    async def _run_engines(self) -> None:
        """Start the engines once there is a pillar for them, or none in time, and keep them up."""
        from saltlite.loader.engines import select_engines
        from saltlite.minion.engines import EngineKeeper

        await self._facts.loaded.wait()
        await wait_until_set(self._has_facts, FACTS_PATIENCE_S)
        keeper = EngineKeeper(self._parent, self, self._executor, self._first_master)
        for entry in select_engines(self._config):
            self._tasks.start(keeper.keep(entry))

    # --- the schedule --------------------------------------------------------------------------

    def _look_at_schedule(self, master: str) -> None:
        """Begin with the schedule if there is one, and tell it of the pillar as it is now."""
        grains, pillar = self._facts.of(master)
        if self._config.extra.get("schedule") or pillar.get("schedule"):
            self._begin_schedule()
        if self._scheduler is not None:
            self._scheduler.set_facts(pillar, grains)

    async def _schedule_before_connect(self) -> None:
        """Begin with the configured schedule; the pillar's comes with the pillar."""
        await self._facts.loaded.wait()
        if self._scheduler is None:  # no master has answered by now
            self._look_at_schedule("")

    def _begin_schedule(self) -> Scheduler:
        """The scheduler; only a minion that has a schedule pays for it."""
        if self._scheduler is None:
            from saltlite.minion.schedule import Scheduler, local_now, schedule_file

            configured = self._config.extra.get("schedule")
            self._scheduler = Scheduler(
                self,
                configured if isinstance(configured, Mapping) else {},
                schedule_file(self._config.paths),
                clock=local_now,
                random=random.random,
            )
            self._tasks.start(self._scheduler.run())
        return self._scheduler

    async def _manage_schedule(self, data: dict[str, Any]) -> None:
        self._begin_schedule().manage(data)

    def run_scheduled(self, name: str, entry: Mapping[str, object]) -> None:
        """See ``ScheduleOwner``."""
        from saltlite.minion.schedule import build_job

        returner = self._config.extra.get("schedule_returner")
        job = build_job(name, entry, self._setup.minion_id, returner)
        master = self._first_master()
        if self._config.network.master_type == "disable":
            # There is nobody to send it to; the outbox would keep it for a day.
            job[UNRETURNED] = True
        self._take_job(TakenJob.of(job), master)

    def _first_master(self) -> str:
        """Whom what nobody asked for belongs to: the first master that we are with."""
        return next(iter(self._links), self._masters[0].name if self._masters else "")

    def running_of(self, name: str) -> int:
        """See ``ScheduleOwner``."""
        return sum(job.schedule == name for job in self._executor.jobs())

    # --- beacons -------------------------------------------------------------------------------

    def _look_at_beacons(self, master: str) -> None:
        """Begin with beacons if there are any, and tell them of grains and pillar as they are."""
        grains, pillar = self._facts.of(master)
        if self._config.beacons.beacons or pillar.get("beacons"):
            self._begin_beacons()
        if self._beacons is not None:
            self._beacons.set_facts(grains, pillar, master)
            # A link that is new or up again may have events of before that wait.
            for link in self._links.values():
                self._have_sent(link)

    def _begin_beacons(self) -> Beacons:
        """The beacons; only a minion that has some pays for them."""
        if self._beacons is None:
            from saltlite.minion.beacons import Beacons

            every_s = self._config.process.loop_interval
            configured = self._config.beacons.beacons
            self._beacons = Beacons(self, self._parent, configured, every_s=every_s)
            self._tasks.start(self._beacons.run())
        return self._beacons

    async def _begin_beacons_early(self) -> None:
        """``beacons_before_connect``: do not wait for a master."""
        await self._facts.loaded.wait()
        if self._beacons is None:
            self._look_at_beacons(self._masters[0].name)

    async def _manage_beacons(self, data: dict[str, Any]) -> None:
        is_new = self._beacons is None
        beacons = self._begin_beacons()
        if is_new:
            master = next(iter(self._links), "")
            beacons.set_facts(*self._facts.of(master), master)
        await beacons.manage(data)

    async def _refresh_beacons(self, _data: dict[str, Any]) -> None:
        if self._beacons is not None:
            self._beacons.reload()

    def take_state_runs(self) -> bool:
        """See ``BeaconOwner``."""
        has_run, self._has_run_states = self._has_run_states, False
        return has_run or any(map(applies_states, self._executor.jobs()))

    def send_beacon_events(self, events: list[dict[str, Any]]) -> None:
        """See ``BeaconOwner``."""
        from saltlite.minion.beacon_events import EventQueue

        for name in self._event_masters():
            self._beacon_events.setdefault(name, EventQueue()).add(events)
        for link in self._links.values():
            self._have_sent(link)

    def _event_masters(self) -> list[str]:
        """Whose events are kept: each master's, or those of whichever one there is."""
        if self._config.network.master_type == "disable":
            return []
        if self._config.network.master_type in FAILING_OVER:
            # One queue: the master that takes over gets what the last one did not take.
            return [""]
        return [master.name for master in self._masters]

    def _have_sent(self, link: Link) -> None:
        """See that what is kept for a master is being sent to it."""
        key = "" if "" in self._beacon_events else link.name
        queue, sender = self._beacon_events.get(key), self._beacon_senders.get(key)
        # One sender for a queue: two would change the order of its events.
        if not queue or not link.is_up or (sender is not None and not sender.done()):
            return
        from saltlite.minion.beacon_events import send_events

        self._beacon_senders[key] = self._tasks.start(
            send_events(queue, link, MAIN, lambda: self._links.get(link.name) is link)
        )

    # --- what jobs ask for ---------------------------------------------------------------------

    def fire(self, tag: str, data: PlainMap) -> None:
        """Put an event on the minion's own bus."""
        if self._bus is not None:
            self._bus.fire(tag, data)

    async def request(self, master: str, load: dict[str, Any]) -> Any:
        """See ``JobServices``."""
        command = load.get("cmd")
        # A closed list: what signs the minion in, or is no command of minions, is not for jobs.
        if command not in COMMANDS:
            raise SaltliteError(f"a job may not ask the master for {command!r}")
        returns = self._config.returns
        patience_s = returns.request_channel_timeout * max(1, returns.request_channel_tries)
        until_s = time.monotonic() + patience_s
        while True:
            link = await self._link_of(master, until_s)
            if link is None:
                raise RequestTimeout(master, patience_s)
            # With ``failover`` the job's master may be left meanwhile: the next answers as well.
            try:
                if command == "_pillar":
                    return await link.pillar(load)
                # A chunk of a file stays bytes, also where it happens to be UTF-8.
                return await link.request(load, text=command != "_serve_file")
            except LinkOver:
                # Masters that are all away are left one after the other, for ever.
                if time.monotonic() >= until_s:
                    raise RequestTimeout(link.name, patience_s) from None

    async def _link_of(self, master: str, until_s: float) -> Link | None:
        """The link to a master, or to the one that has taken its place; ``None``: none has."""
        another_comes = self._config.network.master_type in FAILING_OVER
        while True:
            links = {name: one for name, one in self._links.items() if not one.is_over}
            link = links.get(master) or next(iter(links.values()), None)
            if link is not None:
                return link
            if not another_comes:
                raise SaltliteError("there is no master")
            left_s = until_s - time.monotonic()
            if left_s <= 0 or not await wait_until_set(self._link_came, left_s):
                return None

    async def refresh_grains(self) -> PlainMap:
        """See ``JobServices``."""
        await self._facts.load_grains()
        return self._facts.grains

    def facts(self, master: str) -> tuple[PlainMap, PlainMap]:
        """See ``JobServices``."""
        return self._facts.of(master)

    def note_return(self, jid: str, master: str) -> None:
        """See ``JobServices``."""
        gone = self._outbox.add(jid, master, time.monotonic())
        if gone is not None:
            log.error("the return of job %s is lost: too many wait for a master", gone)
            self._spool.remove(gone)
        self._tasks.start(self._tell_senders())

    def tell_state(self, jid: str, master: str, state: PlainMap) -> None:
        """See ``JobServices``. Of many short states the latest is told, once a second."""
        is_telling = jid in self._states
        self._states[jid] = state
        if not is_telling:
            self._tasks.start(self._tell_states(jid, master))

    async def _tell_states(self, jid: str, master: str) -> None:
        try:
            while (state := self._states[jid]) is not None and master in self._links:
                self._states[jid] = None
                await self._send_progress(jid, master, tags.NOW, state)
                await asyncio.sleep(TELL_EVERY_S)
        finally:
            del self._states[jid]

    def tell_output(self, jid: str, master: str, text: str, *, is_cut: bool) -> None:
        """See ``JobServices``. What comes within a second goes together."""
        is_telling = jid in self._output
        self._output.setdefault(jid, PendingOutput()).add(text, is_cut=is_cut)
        if not is_telling:
            self._tasks.start(self._tell_output(jid, master))

    async def _tell_output(self, jid: str, master: str) -> None:
        try:
            while (data := self._output[jid].take()) is not None and master in self._links:
                await self._send_progress(jid, master, tags.OUTPUT, data)
                await asyncio.sleep(TELL_EVERY_S)
        finally:
            del self._output[jid]

    async def _send_progress(self, jid: str, master: str, what: str, data: PlainMap) -> None:
        tag = f"{tags.job_progress(jid, self._setup.minion_id, 0).rpartition('/')[0]}/{what}"
        load = {"cmd": "_minion_event", "pretag": None, "tag": tag, "data": data}
        await self._send_to_master(self._links[master], load)

    async def _tell_senders(self) -> None:
        async with self._outbox_changed:
            self._outbox_changed.notify_all()

    # --- the minion's own bus ------------------------------------------------------------------

    def _take_event(self, event: Event) -> None:
        """Do what an event on the own bus asks for; most ask for nothing."""
        ask = self._event_handlers().get(event.tag)
        if ask is not None:
            self._tasks.start(ask(event.data))

    def _event_handlers(self) -> dict[str, Callable[[dict[str, Any]], Coroutine[Any, Any, None]]]:
        return {
            "beacons_refresh": self._refresh_beacons,
            "fire_master": self._fire_master,
            "grains_refresh": self._refresh_all,
            "manage_beacons": self._manage_beacons,
            "manage_schedule": self._manage_schedule,
            "module_refresh": self._refresh_modules,
            "pillar_refresh": self._refresh_pillar,
            "_minion_mine": self._send_mine_of_event,
        }

    async def _refresh_all(self, data: dict[str, Any]) -> None:
        await self._facts.load_grains()
        await self._refresh_pillar(data)

    async def _refresh_modules(self, data: dict[str, Any]) -> None:
        """Modules are read by each job's process, so grains are all that can be old here."""
        await self._facts.load_grains()
        await self._refresh_beacons(data)
        if data.get("notify"):
            self.fire("/salt/minion/minion_mod_complete", {"complete": True})

    async def _refresh_pillar(self, data: dict[str, Any]) -> None:
        await self._facts.wait_settled()  # the master keeps the grains that come with the request
        clean = bool(data.get("clean_cache", True))
        links = list(self._links.values())
        loaded = [await self._facts.load_pillar(link, clean_cache=clean) for link in links]
        for link in links:
            self._look_at_schedule(link.name)
            self._look_at_beacons(link.name)
        self.fire("/salt/minion/minion_pillar_refresh_complete", {"complete": all(loaded)})

    async def _fire_master(self, data: dict[str, Any]) -> None:
        """Events for the masters, checked by tag. Source: docs/wire.md#_minion_event."""
        minion_id = self._setup.minion_id
        events = data.get("events") or [data]
        for event in events if isinstance(events, list) else []:
            tag = event.get("tag") if isinstance(event, dict) else None
            if not may_go_to_master(tag, minion_id):
                log.warning("a minion may not use the tag %.80r: the event is not sent", tag)
                continue
            load = {"cmd": "_minion_event", "pretag": None, "tag": tag, "data": event.get("data")}
            for link in list(self._links.values()):
                await self._send_to_master(link, load)

    async def _send_mine_of_event(self, data: dict[str, Any]) -> None:
        mine = data.get("data")
        if not isinstance(mine, dict):
            return
        # A copy: links come and go while this one is waited for.
        for link in list(self._links.values()):
            await self._send_mine(link, mine, clear=bool(data.get("clear")))

    async def _send_mine(self, link: Link, data: dict[str, Any], *, clear: bool = False) -> None:
        try:
            load = mine_load(data, clear=clear)
        except WireError as error:
            log.error("the mine is not updated: %s", error)
            return
        await self._send_to_master(link, load)
