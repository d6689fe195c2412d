"""Runners and wheel functions that somebody asked the master for, each in a process of its own.

A worker hands a request over a Unix socket to ``RunServer``, a child of the master that owns no
ZeroMQ, thread or lock and can therefore fork at any time. The fork runs the function, fires its
events, keeps its record, and where somebody waits for the value pushes the reply to ReqServer
(:mod:`saltlite.master.deferred_replies`). So a runner that takes hours blocks nobody, one that
crashes ends nothing else, and all of them end with the master.

``RUNS_AT_ONCE`` processes at most; ``WAITING_MOST`` more requests wait; beyond that they are
refused at once. Of each a minion has a share, so that one alone does not keep it from everybody.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import zmq

from saltlite import process
from saltlite.channel.master import seal_reply
from saltlite.config.master import MasterConfig
from saltlite.core import tags
from saltlite.core.dataclasses import dataclass
from saltlite.core.rare_lines import RareLine
from saltlite.errors import WireError
from saltlite.master.child import BEAT_S, Life
from saltlite.master.deferred_replies import push_reply
from saltlite.master.handover import (
    FULL,
    HAND_OVER_S,
    TAKEN,
    accept,
    listen,
    receive,
)
from saltlite.master.refusals import printable
from saltlite.master.run_requests import FILE_HASH, RunOutcome, RunRequest
from saltlite.transport.bus import stamp
from saltlite.transport.codec import pack

if TYPE_CHECKING:
    from saltlite.master.context import Shared

log = logging.getLogger(__name__)

RUNS_AT_ONCE: Final = 50
WAITING_MOST: Final = 1000
RUNS_OF_MINION: Final = 10
WAITING_OF_MINION: Final = 100
STOP_S: Final = 3.0
ENDING: Final = (signal.SIGTERM, signal.SIGHUP)
"""Signals that RunServer has a handler for, and its children have not."""

NO_HANDLE: Final = -1

HASHES_AT_ONCE: Final = 2
"""More would only keep the disk from each other."""


Execute = Callable[[MasterConfig, RunRequest], RunOutcome]
"""Runs one request in this process; layer 5 hands it in, for it knows clients and stores."""


class RunSource(Protocol):
    """What begins runs by itself, instead of a socket."""

    def due(self, running: Sequence[RunRequest]) -> list[RunRequest]:
        """What is to be run now; ``running`` is what runs or waits already."""

    def wait_s(self) -> float:
        """Seconds until it wants to be asked again."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """How many requests run at once and wait, and how long one may run (0: as long as it takes)."""

    at_once: int = RUNS_AT_ONCE
    waiting: int = WAITING_MOST
    run_s: float = 0.0


class RunServer:
    """The process that forks a child for each request. ``run`` is its whole life.

    ``path`` is its socket; ``None`` is that of the workers. With a ``source`` it has no socket, and
    runs what that one says.
    """

    def __init__(
        self,
        shared: Shared,
        execute: Execute,
        *,
        path: Path | None = None,
        limits: RunLimits = RunLimits(),
        source: RunSource | None = None,
    ) -> None:
        self._shared = shared
        self._execute = execute
        self._path = path
        self._limits = limits
        self._source = source
        self._listener: socket.socket | None = None
        self._until_s: dict[int, float] = {}  # pidfd → when its run is ended
        self._refused_lines = RareLine()
        self._overdue: set[int] = set()  # pidfds of those that were told to end
        self._waiting: deque[RunRequest] = deque()
        self._hashes: dict[str, list[RunRequest]] = {}  # file → who waits for its hash
        self._hashing: dict[int, str] = {}  # pidfd → file
        self._running: dict[int, tuple[int, list[RunRequest]]] = {}  # pidfd → pid and what it runs

    def run(self, life: Life) -> None:
        """Take requests until told to stop; then end what still runs."""
        self._poller = zmq.Poller()
        if self._source is None:
            self._listener = listen(self._path or self._shared.sockets.runs)
            self._poller.register(self._listener.fileno(), zmq.POLLIN)
        life.register(self._poller)
        process.prepare_to_fork()
        life.ready()
        try:
            while not life.stopping:
                for found, _events in life.poll(self._poller, self._patience_s()):
                    if found in self._running:
                        self._reap(found)
                    elif self._listener is not None:
                        self._take(self._listener, life)
                self._end_overdue()
                self._ask_source()
                self._start_waiting(life)
        finally:
            self._close_listener()
            self._stop_all()

    def _patience_s(self) -> float:
        return BEAT_S if self._source is None else min(BEAT_S, self._source.wait_s())

    def _ask_source(self) -> None:
        if self._source is not None:
            # What waits counts too: with maxrunning it must not be due once more.
            running = [one for _pid, requests in self._running.values() for one in requests]
            self._waiting.extend(self._source.due([*running, *self._waiting]))

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def _take(self, listener: socket.socket, life: Life) -> None:
        connection = accept(listener)
        if connection is None:
            return
        with connection:
            # Nothing else is done meanwhile, so who hangs gets five seconds.
            connection.settimeout(HAND_OVER_S)
            try:
                request = _receive(connection)
                full = self._is_full_for(request)
                connection.sendall(FULL if full else TAKEN)
            except (OSError, WireError) as error:
                log.warning("A request to run something was not understood: %s", error)
                return
        if full:
            more = self._refused_lines.count(time.monotonic())
            if more is not None:
                who = printable(request.minion or request.user, 80)
                log.error("Too many runs wait; %.80s of %s is refused%s", request.fun, who, more)
            return
        # In line only once its caller knows: one that heard nothing takes it for refused.
        if request.kind == FILE_HASH:
            self._hashes.setdefault(repr(request.arg), []).append(request)
        else:
            self._waiting.append(request)
        self._start_waiting(life)

    def _is_full_for(self, request: RunRequest) -> bool:
        """Whether there is no place in the line for one more of who asks."""
        waiting = [*self._waiting, *chain.from_iterable(self._hashes.values())]
        if len(waiting) >= self._limits.waiting:
            return True
        own = sum(one.minion == request.minion for one in waiting) if request.minion else 0
        return own >= WAITING_OF_MINION

    def _start_waiting(self, life: Life) -> None:
        self._start_hashes(life)
        while len(self._running) - len(self._hashing) < self._limits.at_once:
            place = self._find_next()
            # It leaves the line when it runs: without room for a process it stays where it is.
            if place is None or self._try_to_start([self._waiting[place]], life) is None:
                return
            del self._waiting[place]

    def _find_next(self) -> int | None:
        """The place in the line of who is next: the first whose minion has not its share yet."""
        if not self._waiting:
            return None
        at_work = Counter(
            one.minion
            for _pid, requests in self._running.values()
            for one in requests
            if one.minion and one.kind != FILE_HASH
        )
        places = enumerate(self._waiting)
        return next((at for at, one in places if at_work[one.minion] < RUNS_OF_MINION), None)

    def _start_hashes(self, life: Life) -> None:
        """One child for each file, whoever asks; who comes later is answered by the next one."""
        for file in list(self._hashes):
            if len(self._hashing) >= HASHES_AT_ONCE:
                return
            if file in self._hashing.values():
                continue
            handle = self._try_to_start(self._hashes[file], life)
            if handle is None:
                return
            if handle != NO_HANDLE:
                self._hashing[handle] = file
            del self._hashes[file]

    def _try_to_start(self, requests: list[RunRequest], life: Life) -> int | None:
        try:
            return self._start(requests, life)
        except OSError as error:  # there can be no more processes now
            log.error("%s waits: %s", requests[0].fun, error.strerror)
            return None

    def _start(self, requests: list[RunRequest], life: Life) -> int:
        """Fork a child that answers requests for one and the same thing.

        Its handle; ``NO_HANDLE`` if it began and is over. Raises OSError if it did not begin.
        """
        parent = os.getpid()
        # A signal that came to the child before it has let go of our handlers would be lost.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            pid = os.fork()
            if not pid:
                self._be(requests, parent, life, before)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            # By this no signal meets another process that has got the number since.
            handle = os.pidfd_open(pid)
        except OSError as error:
            self._give_up(pid, requests, error)
            return NO_HANDLE
        self._poller.register(handle, zmq.POLLIN)
        self._running[handle] = (pid, requests)
        if self._limits.run_s:
            self._until_s[handle] = time.monotonic() + self._limits.run_s
        return handle

    def _give_up(self, pid: int, requests: list[RunRequest], error: OSError) -> None:
        """End a child that cannot be watched. It has begun, so it must not begin once more."""
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        log.error("%s is ended, since it cannot be watched: %s", requests[0].fun, error.strerror)
        for request in requests:
            self._report_lost(request)

    def _end_overdue(self) -> None:
        """End what has run for too long: SIGTERM first, and SIGKILL a moment later."""
        now_s = time.monotonic()
        for handle in [one for one, until_s in self._until_s.items() if until_s <= now_s]:
            first = self._running[handle][1][0]
            number = signal.SIGKILL if handle in self._overdue else signal.SIGTERM
            log.error(
                "%s %s (%s) has run for more than %g s; %s",
                first.kind, first.fun, first.jid, self._limits.run_s, number.name,
            )  # fmt: skip
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                signal.pidfd_send_signal(handle, number)
            self._overdue.add(handle)
            self._until_s[handle] = now_s + STOP_S

    def _reap(self, handle: int) -> None:
        pid, requests = self._running.pop(handle)
        self._until_s.pop(handle, None)
        self._overdue.discard(handle)
        self._hashing.pop(handle, None)
        self._poller.unregister(handle)
        os.close(handle)
        _pid, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code:
            how = process.signal_name(-code) if code < 0 else f"exit code {code}"
            first = requests[0]
            log.error("%s %s (%s) ended with %s", first.kind, first.fun, first.jid, how)
            for request in requests:
                self._report_lost(request)

    def _report_lost(self, request: RunRequest) -> None:
        """Tell who waits, from a process of its own: this one has no ZeroMQ."""
        if not request.ticket:
            return
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:  # there can be no more processes now; what runs goes on
            log.error("Nobody is told that %s was lost: %s", request.fun, error.strerror)
            return
        if not pid:
            code = 1
            try:
                process.die_with_parent(parent, signal.SIGKILL)
                self._answer(request, RunOutcome("The run was ended before it was done.", False))
                code = 0
            finally:
                os._exit(code)
        handle = os.pidfd_open(pid)
        self._poller.register(handle, zmq.POLLIN)
        self._running[handle] = (pid, [RunRequest("reply", request.fun, request.jid, "")])

    # --- in the child --------------------------------------------------------------------

    def _be(
        self,
        requests: list[RunRequest],
        parent: int,
        life: Life,
        mask: Iterable[int | signal.Signals],
    ) -> None:
        """The child's whole life; never returns. ``mask``: the signals that it blocks."""
        code, request = 1, requests[0]
        try:
            # The pipe is RunServer's, whose loop would wake up for a signal to this process.
            signal.set_wakeup_fd(-1)
            for number in ENDING:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            process.die_with_parent(parent, signal.SIGTERM)
            life.let_go()
            self._close_listener()
            process.set_title(f"salt-master Run {request.kind}.{request.fun} {request.jid}")
            for one, outcome in self._outcomes(requests):
                if one.ticket:
                    self._answer(one, outcome)
            code = 0
        except BaseException:
            log.exception("%s %s (%s)", request.kind, request.fun, request.jid)
        finally:
            logging.shutdown()
            os._exit(code)

    def _outcomes(self, requests: list[RunRequest]) -> Iterator[tuple[RunRequest, RunOutcome]]:
        """What each gets. A hash is taken for the first one, and known for the others."""
        from saltlite.master.filehash import take_hash

        for one in requests:
            execute = take_hash if one.kind == FILE_HASH else self._execute
            yield one, execute(self._shared.config, one)

    def _answer(self, request: RunRequest, outcome: RunOutcome) -> None:
        frame = reply_frame(self._shared, request, outcome)
        if frame is not None:
            push_reply(self._shared.sockets.late, request.ticket, frame)

    def _stop_all(self) -> None:
        """SIGTERM, a moment, SIGKILL."""
        for handle in self._running:
            signal.pidfd_send_signal(handle, signal.SIGTERM)
        # One deadline for all of them, or a stop could take STOP_S for each.
        until_s = time.monotonic() + STOP_S
        for handle, (pid, requests) in self._running.items():
            poller = zmq.Poller()
            poller.register(handle, zmq.POLLIN)
            if not poller.poll(round(max(0.0, until_s - time.monotonic()) * 1000)):
                first = requests[0]
                log.warning("%s %s did not end; killing it", first.kind, first.fun)
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(handle)
        self._running.clear()


def reply_frame(shared: Shared, request: RunRequest, outcome: RunOutcome) -> bytes | None:
    """The reply to who waits; ``None`` for a minion that has no session any more."""
    if not request.minion:
        return pack(wheel_reply(request, outcome))
    session = shared.stores().sessions.get(request.minion)
    if session is None:
        return None
    try:
        return seal_reply(session.crypticle, request.nonce, outcome.value)
    except WireError as error:
        log.error("The value of %s cannot be sent: %s", request.fun, error)
        # An empty value ends the wait of the minion; silence would last until its timeout.
        return seal_reply(session.crypticle, request.nonce, "")


def wheel_reply(request: RunRequest, outcome: RunOutcome) -> dict[str, Any]:
    """What a caller of a wheel function gets. Source: docs/wire.md#clear-commands."""
    tag = tags.wheel_new(request.jid).removesuffix("/new")
    data = {
        "fun": f"wheel.{request.fun}",
        "jid": request.jid,
        "tag": tag,
        "user": request.user,
        "_stamp": stamp(datetime.now(timezone.utc)),
        "return": outcome.value,
        "success": outcome.success,
    }
    return {"tag": tag, "data": data}


def _receive(connection: socket.socket) -> RunRequest:
    try:
        return RunRequest(**receive(connection))
    except TypeError as error:
        raise WireError(str(error)) from error
