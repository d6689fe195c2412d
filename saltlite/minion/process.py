"""What a child of the parent does: run one job, load the grains, update the mine.

The parent forks it with one end of a socket pair (:mod:`saltlite.minion.pipe`); the loop sends what
is to be done through the other end. With ``multiprocessing: False`` the same runs in a thread of
the loop. The result of a job is in the spool before the loop hears of it, so it outlives everybody.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from saltlite.config.minion import MinionConfig
from saltlite.context import MasterView, MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.ids import TELL_OUTPUT, TELL_STATES, UNASKED_JID
from saltlite.core.job_times import WIRE_NAME, JobTimes
from saltlite.core.plain import Plain, PlainMap
from saltlite.errors import ConfigError, StoreError, WireError
from saltlite.host import Host
from saltlite.loader.arguments import KWARG
from saltlite.minion.guard import Guard
from saltlite.minion.job import as_plain, build_failure_fields, run_job
from saltlite.minion.outbox import Parcel, Spool
from saltlite.minion.pipe import LoopGone, Pipe
from saltlite.minion.proc import ProcDir
from saltlite.minion.taken_job import Start, TakenJob
from saltlite.minion.undelivered import Delivery, Undelivered

log = logging.getLogger(__name__)

BUS_TIMEOUT_S = 5.0
"""How long an engine waits for the bus before it begins without it."""

CUT_SHORT = 254
"""The retcode of a job that did not come to its own end. Source: docs/reliability.md#promises."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What all processes of one minion agree upon before the first fork.

    ``umask`` is the one the minion was started with: jobs get it back.
    """

    config: MinionConfig
    minion_id: str
    umask: int

    @property
    def cachedir(self) -> Path:
        """Where the minion keeps its files."""
        return Path(self.config.paths.cachedir)

    def spool(self) -> Spool:
        """A view of the returns on disk."""
        return Spool(self.cachedir / "outbox")

    def open_undelivered(self) -> Undelivered:
        """A view of the returns on disk that returners are to have."""
        return Undelivered(self.cachedir / "undelivered")

    def proc(self) -> ProcDir:
        """A view of the jobs on disk."""
        return ProcDir(self.cachedir / "proc")


def now_us() -> int:
    """The wall clock, in microseconds since the epoch."""
    return time.time_ns() // 1000


class PipeEvents:
    """The minion's own bus, reached through the loop."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def fire(self, tag: str, data: PlainMap) -> None:
        """Put one event on the minion's bus; nothing happens if the loop has gone."""
        try:
            self._pipe.send({"op": "event", "tag": tag, "data": as_plain(data)})
        except LoopGone:
            log.debug("event %s has nowhere to go", tag)


class JobHost(Host):
    """The machine, for a job: what the job waits for ends with it, however it ends."""

    def __init__(self) -> None:
        self._guard = Guard()

    def will_await(self) -> None:
        """See ``Host``."""
        self._guard.prepare()

    def awaits(self, pid: int) -> None:
        """See ``Host``."""
        self._guard.hold(pid)

    def awaits_no_more(self, pid: int) -> None:
        """See ``Host``."""
        self._guard.let_go(pid)

    def close(self) -> None:
        """See ``Host``."""
        self._guard.close()


class PipeMaster:
    """The master, reached through the loop's connection. Fulfils ``context.MasterLink``."""

    def __init__(self, pipe: Pipe, times: JobTimes) -> None:
        self._pipe = pipe
        self._times = times

    def request(self, load: PlainMap) -> Plain:
        """One request and its reply; raises RequestTimeout, or LoopGone without a loop."""
        began_us = now_us()
        try:
            reply: Plain = self._pipe.ask({"op": "request", "load": as_plain(load)})
        finally:
            self._times.note_asked(str(load.get("cmd", "")), began_us, now_us())
        return reply


class PipeJobs:
    """The jobs that run, as the loop knows them. Fulfils ``context.JobTable``."""

    def __init__(self, pipe: Pipe, jid: str) -> None:
        self._pipe = pipe
        self._jid = jid

    def running(self) -> list[PlainMap]:
        """All jobs but the one that asks."""
        jobs = cast("list[PlainMap]", self._pipe.ask({"op": "jobs"}))
        return [job for job in jobs if job.get("jid") != self._jid]

    def signal(self, jid: str, number: int) -> str:
        """Send a signal to a job's processes."""
        return str(self._pipe.ask({"op": "signal", "jid": jid, "number": number}))


def run_forked(sock: socket.socket, setup: Setup) -> int:
    """The life of a forked child; its exit code. Called with nothing but ``sock`` open."""
    # Ctrl-C in the minion's terminal is for the minion, not for its jobs.
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.umask(setup.umask)
    pipe = Pipe(sock)
    try:
        return run_task(pipe, setup, pid=os.getpid(), sock=sock)
    except LoopGone as error:
        log.debug("%s", error)
        return 1
    finally:
        pipe.close()


def run_task(pipe: Pipe, setup: Setup, pid: int, sock: socket.socket | None = None) -> int:
    """Read what is to be done, do it, report it; what a process of its own ends with.

    Raises:
        LoopGone: before anything was begun.
    """
    start = Start.of(pipe.receive())
    task = start.task
    if task == "job":
        _job(pipe, setup, start, pid)
    elif task == "grains":
        _grains(pipe, setup, refresh=start.refresh)
    elif task == "masters":
        _ask_for_masters(pipe, setup)
    elif task == "mine":
        _mine(pipe, setup, start)
    # Never as a thread: an engine ends by a signal to its process.
    elif task == "engine" and sock is not None:
        return _engine(pipe, setup, start, sock)
    elif task == "returners":
        _write_again(pipe, setup, start)
    elif task == "beacons":
        _beacons(pipe, setup, start, pid)
    elif task == "ask_beacons":
        _ask_beacons(pipe, setup, start, pid)
    else:
        raise WireError(f"no such task: {task}")
    return 0


def _grains(pipe: Pipe, setup: Setup, *, refresh: bool) -> None:
    from saltlite.grains import load_grains

    grains = as_plain(load_grains(setup.config, Host(), refresh=refresh))
    pipe.send({"op": "result", "grains": grains})


def _ask_for_masters(pipe: Pipe, setup: Setup) -> None:
    """Ask the function that names the masters; there is no master yet that it could ask."""
    from saltlite.grains import load_grains
    from saltlite.loader.registry import with_functions
    from saltlite.minion.master_function import ask_function

    host = Host()
    grains = load_grains(setup.config, host)
    try:
        masters = ask_function(
            with_functions(MinionContext(config=setup.config, host=host, grains=grains, pillar={}))
        )
    except ConfigError as error:
        pipe.send({"op": "result", "problem": str(error)})
    else:
        pipe.send({"op": "result", "masters": masters})


def _mine(pipe: Pipe, setup: Setup, start: Start) -> None:
    from saltlite.minion.mine import collect

    ctx = job_context(pipe, setup, start)
    with contextlib.closing(ctx.host):
        pipe.send({"op": "result", "mine": collect(start.functions, ctx)})


def _engine(pipe: Pipe, setup: Setup, start: Start, sock: socket.socket) -> int:
    from saltlite.minion import engine

    ctx = job_context(pipe, setup, start)
    if setup.config.network.master_type == "disable":
        ctx.master = None
    return engine.live(start.fields, ctx, sock, lambda prefix: _hear(setup, prefix))


def _write_again(pipe: Pipe, setup: Setup, start: Start) -> None:
    """Give servers that were away what waits for them, and returners what a process has left."""
    from saltlite.jobs.deliver import deliver_waiting

    ctx = job_context(pipe, setup, start)
    undelivered = setup.open_undelivered()
    with contextlib.closing(ctx.host):
        for jid in start.jids:
            delivery = undelivered.take_again(jid)
            if delivery is not None:
                _give_to_returners(delivery, ctx, partial(undelivered.note_had, jid))
        deliver_waiting(start.spools, ctx)
        pipe.send({"op": "result"})


def _beacons(pipe: Pipe, setup: Setup, start: Start, pid: int) -> None:
    from saltlite.minion.beacon_process import BeaconProcess

    pipe.send({"op": "started", "pid": pid})
    ctx = job_context(pipe, setup, start)
    with contextlib.closing(ctx.host):
        BeaconProcess(pipe, ctx, setup.minion_id).run(start.fields)


def _ask_beacons(pipe: Pipe, setup: Setup, start: Start, pid: int) -> None:
    from saltlite.minion.beacon_process import answer

    pipe.send({"op": "started", "pid": pid})
    ctx = job_context(pipe, setup, start)
    with contextlib.closing(ctx.host):
        pipe.send({"op": "result", **answer(start.fields, ctx)})


def _job(pipe: Pipe, setup: Setup, start: Start, pid: int) -> None:
    """Run a job: note it, run it, spool its return, and only then say that it is over.

    Raises:
        LoopGone: it was not begun; the next loop may have said so already.
    """
    job, master = TakenJob.of(start.job), start.master
    jid = job.jid
    proc = setup.proc()
    # Before the loop hears of it: if that dies now, the next one finds this process.
    _note(proc, job, pid, master)
    pipe.send({"op": "started", "pid": pid})
    ctx = job_context(pipe, setup, start)
    if setup.config.network.master_type == "disable":
        ctx.master = None  # files and pillar are those of this machine
    times = ctx.times
    times.received_us, times.begun_us = start.received_us, now_us()
    if job.fields.get(TELL_STATES):
        ctx.begins = partial(_tell_state, pipe)
    if job.fields.get(TELL_OUTPUT):
        from saltlite.minion.job_output import OutputLimit

        ctx.tells = OutputLimit(partial(_tell_output, pipe)).tell
    with contextlib.closing(ctx.host):
        load = return_load(setup.minion_id, job, _run(job, ctx))
        times.ended_us = now_us()
        # Noted before the return is handed over: then the minion may stop, and this be killed.
        delivery = _delivery_of(job, load, ctx)
        is_noted = bool(delivery.names) and setup.open_undelivered().take(jid, delivery)
        if job.unreturned:
            _say(pipe, {"op": "result", "name": jid})
            _keep_report(load, ctx)
        else:
            times.made_us = now_us()
            # To the master alone: returners have Salt's fields.
            timed = {**load, WIRE_NAME: times.to_wire()}
            data = pack_return(Parcel(timed, master, time.time()), setup.minion_id, job)
            _hand_over(pipe, setup.spool(), jid, data)
        # After the return is in the spool: a next start that sees both takes the job for done.
        proc.remove(jid)
        note_had = partial(setup.open_undelivered().note_had, jid) if is_noted else _note_nothing
        _give_to_returners(delivery, ctx, note_had)


def _note(proc: ProcDir, job: TakenJob, pid: int, master: str) -> None:
    try:
        proc.write(job, pid, master)
    except StoreError as error:
        # The minion has found the same when it took the job, and says so once.
        log.info("job %s runs without a proc file: %s", job.jid, error)


def _say(pipe: Pipe, message: dict[str, Any]) -> None:
    try:
        pipe.send(message)
    except LoopGone:
        log.debug("the loop has gone; the job goes on")


def _tell_state(pipe: Pipe, name: str, number: int, total: int) -> None:
    """A state begins: the loop tells the master of the latest one now and then."""
    _say(pipe, {"op": "state", "now": name, "number": number, "len": total})


def _tell_output(pipe: Pipe, text: str, is_cut: bool) -> None:
    """What the command has printed that is the job."""
    _say(pipe, {"op": "output", "text": text, "is_cut": is_cut})


def _run(job: TakenJob, ctx: MinionContext) -> dict[str, Any]:
    try:
        return run_job(job, ctx)
    # ``saltutil.signal_job`` with SIGINT; what ends the process itself the loop returns for.
    except KeyboardInterrupt:
        return build_failure_fields(job, "The job was interrupted (SIGINT).", CUT_SHORT)


def _delivery_of(job: TakenJob, load: Mapping[str, object], ctx: MinionContext) -> Delivery:
    """What of a return goes to which returners; most jobs have none."""
    option = ctx.config.returns.return_
    if not job.ret and not option:
        return Delivery([], {})
    from saltlite.jobs.deliver import returner_names

    names = ("ret_config", "ret_kwargs")
    wanted = {name: job.fields[name] for name in names if name in job.fields}
    ret = {name: value for name, value in load.items() if name != "cmd"}
    return Delivery(returner_names(job.ret, option), {**ret, **wanted})


def _give_to_returners(
    delivery: Delivery, ctx: MinionContext, note_had: Callable[[str], None]
) -> None:
    """After the master's return is safe: what takes long or fails here costs it nothing."""
    if delivery.names:
        from saltlite.jobs.deliver import deliver

        deliver(delivery.names, delivery.ret, ctx, note_had=note_had)


def _keep_report(load: Mapping[str, Any], ctx: MinionContext) -> None:
    """Keep here what a run of states did where no master will hear of it."""
    has_master = ctx.config.network.master_type != "disable"
    if (
        has_master
        or not ctx.config.files.state_reports
        or not str(load["fun"]).startswith("state.")
    ):
        return
    from saltlite.jobs.own_reports import keep_runs

    user = str(load.get("user") or "")
    keep_runs(ctx.config.paths.cachedir, load, user)


def _note_nothing(_name: str) -> None:
    """There is no note on disk."""


def job_context(pipe: Pipe, setup: Setup, start: Start) -> MinionContext:
    """All that the functions of one job may reach."""
    from saltlite.loader.registry import with_functions

    times = JobTimes(clock=now_us)
    return with_functions(
        MinionContext(
            config=setup.config,
            host=JobHost(),
            grains=start.grains,
            pillar=start.pillar,
            events=PipeEvents(pipe),
            jobs=PipeJobs(pipe, TakenJob.of(start.job).jid),
            master=PipeMaster(pipe, times),
            times=times,
            job=dict(start.job),
            listen=lambda prefix: _listen(setup, prefix),
            master_view=lambda: _view_masters(setup),
            # The one of the last refresh: runs of states have it compiled anew.
            pillar_is_fresh=False,
        )
    )


def _hear(setup: Setup, prefix: str) -> Any:
    """As :func:`_listen`, from now on: the bus has heard of it when this is back."""
    bus = _listen(setup, prefix)
    bus.connect_confirmed(BUS_TIMEOUT_S)
    return bus


def _listen(setup: Setup, prefix: str) -> Any:
    """Hear the minion's bus; what only few jobs want brings its ZeroMQ only here."""
    from saltlite.transport.addresses import MinionSockets
    from saltlite.transport.bus import EventSubscriber

    paths, hash_type = setup.config.paths, setup.config.files.hash_type
    sockets = MinionSockets(Path(paths.sock_dir), setup.minion_id, hash_type)
    return EventSubscriber(sockets.event_pub, (prefix,))


def _view_masters(setup: Setup) -> MasterView:
    from saltlite.minion.master_view import MasterViewOf

    return MasterViewOf(setup.config)


def return_load(minion_id: str, job: TakenJob, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The load of the ``_return`` request; the channel adds the rest.

    Source: docs/wire.md#_return.
    """
    names = ("user", "metadata", "master_id", "schedule")
    copied = {name: job.fields[name] for name in names if name in job.fields}
    # Fields that Salt's returns have only where a schedule has started the job.
    if job.schedule is not None:
        pid = os.getpid() if job.pid is None else job.pid
        copied |= {"pid": pid, "fun_args": unmark_args(fields.get("fun_args") or [])}
    if job.unasked:
        copied["jid"] = UNASKED_JID
    return {"cmd": "_return", "id": minion_id, **fields, **copied}


def unmark_args(args: Sequence[object]) -> list[Any]:
    """Arguments as a schedule's return shows them: keywords are a plain map at the end."""
    return [
        {name: value for name, value in each.items() if name != KWARG}
        if isinstance(each, dict)
        else each
        for each in args
    ]


def pack_return(parcel: Parcel, minion_id: str, job: TakenJob) -> bytes:
    """The return as it is spooled; one that cannot be packed becomes one that says so."""
    try:
        return parcel.pack()
    except WireError as error:
        log.error("the return of job %s cannot be sent: %s", job.jid, error)
        fields = build_failure_fields(job, f"ERROR: the return cannot be sent: {error}", 1)
        load = return_load(minion_id, job, fields)
        return Parcel(load, parcel.master, parcel.made_s).pack()


def _hand_over(pipe: Pipe, spool: Spool, jid: str, data: bytes) -> None:
    """Spool the return and say so; what the disk does not take goes through the pipe."""
    try:
        spool.put(jid, data)
        message: dict[str, Any] = {"op": "result", "name": jid}
    except StoreError as error:
        message = {"op": "result", "name": jid, "data": data, "problem": str(error)}
    try:
        pipe.send(message)
    except LoopGone:
        # Else it is on disk, where the next loop finds it.
        if "data" in message:
            log.error("the return of job %s is lost: %s", jid, message["problem"])
