"""Start jobs, listen to them, and see to it that each has a return, however it ends.

Runs in the loop. A job's process talks through its pipe; the executor passes its events and
requests on, and puts its return into the outbox. A process that ends without a return gets one
made here (retcode 254). At most ``limit`` jobs run at a time, a bounded number waits, more are
refused at once with a return that says so. The loop asks it which jobs run and has it signal them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from collections import deque
from typing import Any, Final, Protocol

from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.core.fields import read_fields
from saltlite.core.plain import PlainMap
from saltlite.errors import StoreError, WireError
from saltlite.minion.childrequests import ChildServices, answer
from saltlite.minion.guard import is_guard
from saltlite.minion.job import build_failure_fields
from saltlite.minion.outbox import Parcel, Spool
from saltlite.minion.pipe import frame_message
from saltlite.minion.proc import ProcEntry, show_job
from saltlite.minion.process import CUT_SHORT, Setup, pack_return, return_load
from saltlite.minion.spawner import Spawner, SpawnFailed
from saltlite.minion.stream import open_stream, read_map
from saltlite.minion.taken_job import TakenJob
from saltlite.process import descendants, signal_name, start_ticks

log = logging.getLogger(__name__)

DEFAULT_LIMIT: Final = 100
QUEUE_LIMIT: Final = 1000
# With it one finds out whether a busy minion is alive.
SLOTLESS: Final = frozenset({"test.ping"})
SLOTLESS_LIMIT: Final = 20
EXIT_WAIT_S: Final = 5.0
REFUSED_LOG_S: Final = 10.0

STOPPED_TEXT: Final = "The minion stopped while this job ran."
NOT_STARTED_TEXT: Final = "The minion stopped before this job was started."


class JobServices(ChildServices, Protocol):
    """What running jobs may ask of the minion."""

    def note_return(self, jid: str, master: str) -> None:
        """The return of a job is in the spool."""

    def tell_state(self, jid: str, master: str, state: PlainMap) -> None:
        """A state of a job has begun, and its master wants to know."""

    def tell_output(self, jid: str, master: str, text: str, *, is_cut: bool) -> None:
        """The command that is a job has printed this, and its master wants to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """A job's process says that it is done; ``data`` is the return that the disk did not take."""

    data: bytes | None = None
    problem: str = ""


@dataclass(slots=True, eq=False)
class _Running:
    """A job that was taken, until its return is in the spool."""

    job: TakenJob
    master: str
    received_us: int = 0
    pid: int = 0
    started: int = 0
    """When its process did, as ``start_ticks`` has it: another one may get the same id."""

    end_by: int = 0
    """The signal to end it by as soon as its process is known."""

    slotless: bool = False
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def jid(self) -> str:
        return self.job.jid

    @property
    def title(self) -> str:
        return f"job {self.jid} {','.join(self.job.functions)}"


class Executor:
    """The jobs of one minion. Fulfils ``context.JobTable``."""

    def __init__(
        self,
        setup: Setup,
        spawner: Spawner,
        spool: Spool,
        services: JobServices,
        *,
        queue_limit: int = QUEUE_LIMIT,
    ) -> None:
        self._setup = setup
        self._spawner = spawner
        self._spool = spool
        self._proc = setup.proc()
        self._services = services
        configured = setup.config.process.process_count_max
        self._limit = configured if configured > 0 else DEFAULT_LIMIT
        self._queue_limit = queue_limit
        self._running: dict[str, _Running] = {}
        self._waiting: deque[_Running] = deque()
        self._adopted: dict[str, ProcEntry] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._refused = 0
        self._refused_said_s = float("-inf")
        self._disk_works = True
        self._stopping = False

    # --- taking jobs -----------------------------------------------------------------------

    def take(self, job: TakenJob, master: str, received_us: int = 0) -> None:
        """Start ``job``, or let it wait its turn, or refuse it with a return.

        ``received_us`` is when it came, by the wall clock; 0 if it did not come from a master.
        """
        if self._stopping:
            return
        is_slotless = isinstance(job.fun, str) and job.fun in SLOTLESS
        running = _Running(job, master, received_us, slotless=is_slotless)
        # The proc file first: if the minion dies in between, the next start returns for the job.
        if self._has_slot(running):
            self._write_proc_file(running)
            self._start_job(running)
        elif len(self._waiting) < self._queue_limit:
            self._write_proc_file(running)
            self._waiting.append(running)
        else:
            self._refuse_job(running)

    def stop(self) -> None:
        """Take and start nothing more; jobs that run go on without us."""
        self._stopping = True
        # Only the listening ends; a job's process sees its pipe close and goes on.
        for task in self._tasks:
            task.cancel()

    def _has_slot(self, running: _Running) -> bool:
        # Counted apart: slow jobs keep no ping waiting, and pings take no slot of theirs.
        if running.slotless:
            return sum(one.slotless for one in self._running.values()) < SLOTLESS_LIMIT
        return sum(not one.slotless for one in self._running.values()) < self._limit

    def _write_proc_file(self, running: _Running) -> None:
        try:
            self._proc.write(running.job, 0, running.master)
        except StoreError as error:
            # Once while the disk fails: else it would be a line for each job.
            level = logging.WARNING if self._disk_works else logging.DEBUG
            log.log(level, "job %s and others are not noted on disk: %s", running.jid, error)
            self._disk_works = False
        else:
            self._disk_works = True

    def _start_job(self, running: _Running) -> None:
        self._running[running.jid] = running
        task = asyncio.get_running_loop().create_task(self._see_through(running))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _start_waiting(self) -> None:
        for running in list(self._waiting):
            # The first that has no slot ends it: jobs start in the order in which they came.
            if self._stopping or not self._has_slot(running):
                return
            self._waiting.remove(running)
            self._start_job(running)

    def _refuse_job(self, running: _Running) -> None:
        self._refused += 1
        # One line for a flood, with how many; each job has its own return all the same.
        now_s = time.monotonic()
        if now_s - self._refused_said_s >= REFUSED_LOG_S:
            log.warning(
                "%d jobs refused: the queue of %d is full", self._refused, self._queue_limit
            )
            self._refused, self._refused_said_s = 0, now_s
        self._return_failure(
            running.job,
            running.master,
            f"Refused: {self._limit} jobs run and {self._queue_limit} wait on this minion.",
        )

    # --- one job's life ----------------------------------------------------------------------

    async def _see_through(self, running: _Running) -> None:
        problem = None
        try:
            problem = await self._run_process(running)
        except SpawnFailed as error:
            problem = f"The job could not be started: {error}"
        except (OSError, WireError) as error:
            problem = f"The job's process cannot be understood: {error}"
        finally:
            self._running.pop(running.jid, None)
            for task in running.tasks:
                task.cancel()
        if problem is not None:
            log.error("job %s: %s", running.jid, problem)
            self._return_failure(running.job, running.master, problem)
            # Last: until the return is in the spool, a next start has only this file to return for.
            self._proc.remove(running.jid)
        self._start_waiting()

    async def _run_process(self, running: _Running) -> str | None:
        """Start the process and listen until it ends; what to return if it did not do it itself."""
        grains, pillar = self._services.facts(running.master)
        ours, theirs = socket.socketpair()
        reader, writer = await open_stream(ours)
        try:
            exited = await self._spawner.spawn(running.title, theirs)
            start = {
                "task": "job",
                "job": running.job.fields,
                "master": running.master,
                "received_us": running.received_us,
            }
            writer.write(frame_message({**start, "grains": grains, "pillar": pillar}))
            # The process may live on, for its returners; it takes no slot for that.
            if await self._listen_to_job(running, reader, writer):
                return None
            return await self._describe_end(exited)
        finally:
            writer.close()

    async def _describe_end(self, exited: asyncio.Future[int]) -> str:
        """How a process that sent no return has ended."""
        try:
            status = await asyncio.wait_for(exited, EXIT_WAIT_S)
        except asyncio.TimeoutError:
            return "The job's process closed its pipe without a return."
        if os.WIFSIGNALED(status):
            return f"The job's process was ended by {signal_name(os.WTERMSIG(status))}."
        code = os.waitstatus_to_exitcode(status)
        return f"The job's process ended with exit code {code} and without a return."

    async def _listen_to_job(
        self, running: _Running, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Serve the job until it has a result (true) or its pipe ends (false)."""
        while True:
            message = await read_map(reader)
            if message is None:
                return False
            if message.get("op") == "result":
                return self._take_result(running, read_fields(JobResult, message))
            self._serve_message(running, message, writer)

    def _take_result(self, running: _Running, result: JobResult) -> bool:
        name = running.jid
        if running.job.unreturned:
            return True
        # The disk did not take the return, so the job has sent it whole.
        if result.data is not None and not self._spool.keep_in_memory(
            name, result.data, result.problem
        ):
            return True
        self._services.note_return(name, running.master)
        return True

    def _serve_message(
        self, running: _Running, message: dict[str, Any], writer: asyncio.StreamWriter
    ) -> None:
        op = message.get("op")
        if op == "started":
            running.pid = int(message["pid"])
            # Asked while it is this process for certain; later another one may have its id.
            running.started = start_ticks(running.pid)
            if running.end_by:
                self.signal(running.jid, running.end_by)
        elif op == "state":
            state = {name: value for name, value in message.items() if name != "op"}
            self._services.tell_state(running.jid, running.master, state)
        elif op == "output":
            text, is_cut = str(message.get("text")), bool(message.get("is_cut"))
            self._services.tell_output(running.jid, running.master, text, is_cut=is_cut)
        elif op == "event":
            self._services.fire(str(message["tag"]), message["data"])
        else:
            # Not awaited: the master may take minutes, and events of the job come meanwhile.
            task = asyncio.get_running_loop().create_task(
                self._answer_request(running, message, writer)
            )
            running.tasks.add(task)
            task.add_done_callback(running.tasks.discard)

    async def _answer_request(
        self, running: _Running, message: dict[str, Any], writer: asyncio.StreamWriter
    ) -> None:
        writer.write(frame_message(await answer(message, running.master, self._services, self)))

    def _return_failure(self, job: TakenJob, master: str, text: str) -> None:
        if job.unreturned:
            return
        load = return_load(self._setup.minion_id, job, build_failure_fields(job, text, CUT_SHORT))
        parcel = Parcel(load, master, time.time())
        jid = job.jid
        if self._spool.put_anywhere(jid, pack_return(parcel, self._setup.minion_id, job)):
            self._services.note_return(jid, master)

    # --- questions about jobs ------------------------------------------------------------------

    def running(self) -> list[PlainMap]:
        """The jobs that run or wait (``pid`` 0), one map each."""
        return [show_job(one.job, one.pid) for one in self._known()]

    def jobs(self) -> list[TakenJob]:
        """The same as values."""
        return [one.job for one in self._known()]

    def _known(self) -> list[_Running | ProcEntry]:
        return [*self._running.values(), *self._waiting, *self._adopted.values()]

    def signal(self, jid: str, number: int) -> str:
        """Send a signal to a job; to end it, also to what it has started."""
        found = [one.pid for one in self._known() if one.jid == jid]
        if not found:
            return ""
        pid, ends = found[0], number in (signal.SIGTERM, signal.SIGKILL)
        if not pid and ends:
            return self._end_early(jid, number)
        # With ``multiprocessing: False`` a job is a thread here: the signal would end the minion.
        if pid in (0, os.getpid()):
            return f"Job {jid} has no process of its own to be signalled"
        if not self._is_alive(jid):
            return f"Job {jid} was not running and job data has been  cleaned up"
        # Before the job is killed: what it started is then a child of init and not to be found.
        below = [one for one in descendants(pid) if not is_guard(one)] if ends else []
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return f"Job {jid} was not running and job data has been  cleaned up"
        for child in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)
        return f"Signal {number} sent to job {jid} at pid {pid}"

    def _end_early(self, jid: str, number: int) -> str:
        """End a job that waits for its turn, or whose process has just been asked for."""
        waiting = next((one for one in self._waiting if one.jid == jid), None)
        if waiting is None:
            self._running[jid].end_by = number
            return f"Signal {number} will be sent to job {jid} as soon as it has a process"
        self._waiting.remove(waiting)
        why = f"The job was ended by {signal_name(number)} before its turn came."
        self._return_failure(waiting.job, waiting.master, why)
        # Last, as at the end of one that ran.
        self._proc.remove(jid)
        return f"Job {jid} waited for its turn and will not run"

    def _is_alive(self, jid: str) -> bool:
        """Whether the process that a job had is still that one."""
        if jid in self._adopted:
            return self._adopted[jid].alive()
        running = self._running.get(jid)
        return running is not None and start_ticks(running.pid) == running.started != 0

    # --- jobs of an earlier run ------------------------------------------------------------------

    def inherit(self, master: str) -> None:
        """Look after the jobs that an earlier run of this minion left behind.

        Those that still run are watched; those that have a return in the spool are done; the others
        get a return that says that the minion stopped. ``master`` is used where none was noted.

        A job may end at any moment of this: it spools its return, then removes its proc file. So
        the spool is looked at after the proc files, when all who still write to it are watched.
        """
        ended = [entry for entry in self._proc.entries() if not self._adopt_job(entry, master)]
        for name in self._spool.names():
            parcel = self._spool.get(name)
            if parcel is not None:
                self._services.note_return(name, parcel.master)
        for entry in ended:
            self._return_lost_job(entry, master)

    def _return_lost_job(self, entry: ProcEntry, master: str) -> None:
        """Return for a job whose process has gone, unless it came to its own end."""
        cut_short = entry.jid in self._proc and entry.jid not in self._spool
        if cut_short and not entry.job.unreturned:
            text = STOPPED_TEXT if entry.pid else NOT_STARTED_TEXT
            log.warning("job %s: %s", entry.jid, text)
            # In the return of a scheduled job stands the process that ran it, not this one.
            job = replace(entry.job, pid=entry.pid)
            self._return_failure(job, entry.job.master or master, text)
        self._proc.remove(entry.jid)

    def _adopt_job(self, entry: ProcEntry, master: str) -> bool:
        """Watch a job that still runs; ``False`` if it does not."""
        if not entry.alive():
            return False
        try:
            fd = os.pidfd_open(entry.pid)
        except OSError:
            return False
        if not entry.alive():  # it has ended since, and this may be another process
            os.close(fd)
            return False
        log.info("job %s still runs as process %d", entry.jid, entry.pid)
        self._adopted[entry.jid] = entry
        loop = asyncio.get_running_loop()

        def end() -> None:
            loop.remove_reader(fd)
            os.close(fd)
            del self._adopted[entry.jid]
            # The loop that it could tell of its return has gone: this one finds it on disk.
            if entry.jid in self._spool:
                self._services.note_return(entry.jid, entry.job.master or master)
            self._return_lost_job(entry, master)

        loop.add_reader(fd, end)
        return True
