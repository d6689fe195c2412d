"""A kernel that is only as much as the master's first process asks for, with a clock of its own.

Processes, signals, pipes and time are plain objects here. Before each system call something may
come that nobody can choose the moment of: a child ends or hangs, a signal arrives, there is no
room for a process, the machine is paused. The same plan gives the same run.
Source: docs/reliability.md#interleavings.
"""

from __future__ import annotations

import errno
import os
import select
import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.master import supervisor
from saltlite.master.shared import Beat, HeartBeats

STEP_S = 0.001
HAS_HANDLERS_S = 0.03
READY_S = 0.05
ENDS_S = 0.05
"""A child has its own handlers, is ready, and after SIGTERM has ended, so long afterwards."""

BEAT_S = 1.0
PAUSE_S = 600.0
OWN_PID = 100
OWN_FDS = 4
MOST_CALLS = 3000

Handler = Callable[[int, None], object]


@dataclass(frozen=True)
class Event:
    """What comes before a system call: ``what``, to which child, and its exit code."""

    what: str
    child: int = 0
    code: int = 0


@dataclass
class Pipe:
    data: bytes = b""
    writers: int = 1


@dataclass
class Process:
    """A child of the supervisor."""

    pid: int
    slot: int
    born_s: float
    report: Pipe
    blocked: frozenset[int]
    pending: list[int] = field(default_factory=list)
    has_handlers: bool = False
    is_ready: bool = False
    is_deaf: bool = False
    hung_s: float = float("inf")
    ends_s: float = float("inf")
    ended_s: float = float("inf")
    status: int = 0
    was_ended_by_plan: bool = False
    hang_ups: int = 0
    is_reaped: bool = False

    @property
    def is_alive(self) -> bool:
        return self.ended_s == float("inf")

    @property
    def is_hung(self) -> bool:
        return self.hung_s < float("inf")


class Kernel:
    """One supervisor and its children, under one plan: before call n, ``plan[n]`` comes."""

    def __init__(self, plan: Mapping[int, Event], *, term_at_s: float) -> None:
        self.plan = plan
        self.now_s = 1000.0
        self.term_at_s = self.now_s + term_at_s
        self.calls = 0
        self.processes: list[Process] = []
        self.sent: list[tuple[float, int, Process]] = []
        """When which signal went to whom."""
        self.terms: list[float] = []
        self.hang_ups: list[float] = []
        self.pauses: list[float] = []
        self.starting = 0
        self.beats: HeartBeats | None = None
        self.fds: dict[int, Pipe] = {}
        self._writing: set[int] = set()
        self._handlers: dict[int, Handler] = {}
        self._pending: list[int] = []
        self._blocked: frozenset[int] = frozenset()
        self._wakeup_fd = -1
        self._next_fd = 10
        self._refused: list[str] = []

    # --- what comes by itself ----------------------------------------------------------------

    def _step(self) -> None:
        """Before each call."""
        self.now_s += STEP_S
        self.calls += 1
        assert self.calls < MOST_CALLS, "it goes round without an end"
        self._live()
        event = self.plan.get(self.calls)
        if event is not None:
            self._happen(event)
        self._deliver()

    def _happen(self, event: Event) -> None:
        mine = [one for one in self.processes if one.slot == event.child and one.is_alive]
        if event.what == "term":
            self._term()
        elif event.what == "hup":
            self.hang_ups.append(self.now_s)
            self._pending.append(signal.SIGHUP)
        elif event.what == "pause":
            self._pause()
        elif event.what in ("fork", "pipe2"):
            self._refused.append(event.what)
        elif mine and event.what == "end":
            mine[0].was_ended_by_plan = True
            self._end(mine[0], event.code)
        elif mine and event.what == "hang":
            mine[0].hung_s, mine[0].is_deaf = self.now_s, True
        elif mine and event.what == "deaf":
            mine[0].is_deaf = True

    def _term(self) -> None:
        self.terms.append(self.now_s)
        self._pending.append(signal.SIGTERM)

    def _pause(self) -> None:
        """Nobody has done anything meanwhile."""
        self.pauses.append(self.now_s)
        self.now_s += PAUSE_S
        self.term_at_s += PAUSE_S
        for one in self.processes:
            one.born_s += PAUSE_S
            one.ends_s += PAUSE_S

    def _live(self) -> None:
        """What the children have done until now."""
        if self.now_s >= self.term_at_s and not self.terms:
            self._term()
        for one in self.processes:
            if one.is_alive:
                self._live_one(one)

    def _next_s(self) -> float:
        """When something comes by itself."""
        moments = [self.now_s - self.now_s % BEAT_S + BEAT_S]
        if not self.terms:
            moments.append(self.term_at_s)
        for one in self.processes:
            if one.is_alive:
                moments += (one.born_s + HAS_HANDLERS_S, one.born_s + READY_S, one.ends_s)
        # The clock is one of binary fractions: what is due at a moment is due just after it.
        return min((one for one in moments if one > self.now_s), default=self.now_s) + 1e-6

    def _live_one(self, one: Process) -> None:
        age_s = self.now_s - one.born_s
        if not one.has_handlers and age_s >= HAS_HANDLERS_S:
            one.has_handlers = True
            for number in one.pending:
                self._take(one, number)
        if one.is_hung:
            return
        if not one.is_ready and age_s >= READY_S:
            one.is_ready = True
            one.report.data += b"R"
        if self.beats is not None and one.is_ready:
            shown_s = self.now_s - self.now_s % BEAT_S
            self.beats.write(one.slot, Beat(shown_s, 0.0, 0.0, 0))
        if self.now_s >= one.ends_s:
            self._end(one, 0)

    def _take(self, one: Process, number: int) -> None:
        """A signal meets the child's own handler."""
        if number == signal.SIGHUP:
            one.hang_ups += 1
        elif not one.is_deaf:
            one.ends_s = min(one.ends_s, self.now_s + ENDS_S)

    def _end(self, one: Process, code: int) -> None:
        one.ended_s = self.now_s
        one.status = -code if code < 0 else code << 8
        one.report.writers -= 1
        self._pending.append(signal.SIGCHLD)

    def _deliver(self) -> None:
        """Run the supervisor's handlers, as Python does between two steps of a program."""
        ready = [one for one in self._pending if one not in self._blocked]
        self._pending = [one for one in self._pending if one in self._blocked]
        for number in ready:
            if number in self._handlers:
                if self._wakeup_fd >= 0:
                    self.fds[self._wakeup_fd].data += b"!"
                self._handlers[number](number, None)

    # --- calls -------------------------------------------------------------------------------

    def _pipe2(self, _flags: int) -> tuple[int, int]:
        self._step()
        # The first two are the supervisor's own, without which there is no start.
        if "pipe2" in self._refused and len(self.fds) >= OWN_FDS:
            self._refused.remove("pipe2")
            raise OSError(errno.ENFILE, os.strerror(errno.ENFILE))
        pipe = Pipe()
        first, second = self._next_fd, self._next_fd + 1
        self._next_fd += 2
        self.fds[first] = self.fds[second] = pipe
        self._writing.add(second)
        return first, second

    def _fork(self) -> int:
        self._step()
        if "fork" in self._refused:
            self._refused.remove("fork")
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        report = self.fds[self._next_fd - 1]
        report.writers += 1
        made = Process(OWN_PID + 1 + len(self.processes), self.starting, self.now_s, report,
                       self._blocked)  # fmt: skip
        self.processes.append(made)
        return made.pid

    def _close(self, fd: int) -> None:
        self._step()
        pipe = self.fds.pop(fd)
        if fd in self._writing:
            pipe.writers -= 1

    def _read(self, fd: int, most: int) -> bytes:
        self._step()
        pipe = self.fds[fd]
        data, pipe.data = pipe.data[:most], pipe.data[most:]
        if not data and pipe.writers:
            raise BlockingIOError
        return data

    def _kill(self, pid: int, number: int) -> None:
        self._step()
        one = next((one for one in self.processes if one.pid == pid), None)
        assert one is not None and not one.is_reaped, f"{pid} may be anybody's by now"
        self.sent.append((self.now_s, number, one))
        if not one.is_alive:
            return
        if number == signal.SIGKILL:
            self._end(one, -number)
        elif one.has_handlers:
            self._take(one, number)
        elif number in one.blocked:
            one.pending.append(number)
        # Else it met the handlers of the parent in the child, and nobody knows of it.

    def _waitpid(self, pid: int, _options: int) -> tuple[int, int]:
        self._step()
        one = next(one for one in self.processes if one.pid == pid)
        if one.is_alive:
            return 0, 0
        if one.is_reaped:
            raise ChildProcessError(errno.ECHILD, os.strerror(errno.ECHILD))
        one.is_reaped = True
        return pid, one.status

    def _sigmask(self, how: int, numbers: Iterable[int]) -> frozenset[int]:
        before = self._blocked
        self._blocked = frozenset(numbers) | (before if how == signal.SIG_BLOCK else frozenset())
        self._step()
        return before

    def _set_wakeup_fd(self, fd: int, **_options: bool) -> int:
        before, self._wakeup_fd = self._wakeup_fd, fd
        return before

    def _set_handler(self, number: int, handler: Handler) -> None:
        self._handlers[number] = handler

    def poll(self, fds: Iterable[int], timeout_ms: float) -> list[tuple[int, int]]:
        """Wait for one of these, from one thing that comes to the next."""
        self._step()
        until_s = self.now_s + timeout_ms / 1000
        while True:
            found = [fd for fd in fds if self.fds[fd].data or not self.fds[fd].writers]
            if found or self.now_s >= until_s:
                return [(fd, select.POLLIN) for fd in found]
            self.now_s = max(self.now_s, min(until_s, self._next_s()))
            self._live()
            self._deliver()

    def monotonic(self) -> float:
        self._step()
        return self.now_s

    # --- in the place of the real one ----------------------------------------------------------

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Have ``saltlite.master.supervisor`` ask this kernel."""
        nothing = lambda: None  # noqa: E731
        patch.setattr(supervisor, "os", _like(
            os, pipe2=self._pipe2, fork=self._fork, close=self._close, read=self._read,
            kill=self._kill, waitpid=self._waitpid, getpid=lambda: OWN_PID,
        ))  # fmt: skip
        patch.setattr(supervisor, "signal", _like(
            signal, signal=self._set_handler, set_wakeup_fd=self._set_wakeup_fd,
            pthread_sigmask=self._sigmask,
        ))  # fmt: skip
        patch.setattr(supervisor, "select", _like(select, poll=lambda: _Poll(self)))
        patch.setattr(supervisor, "time", SimpleNamespace(monotonic=self.monotonic))
        patch.setattr(supervisor, "process", _like(
            supervisor.process, prepare_to_die_with_parent=nothing, keep_large_buffers=nothing,
            prepare_many_forks=nothing,
        ))  # fmt: skip


class _Poll:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._fds: list[int] = []

    def register(self, fd: int, _events: int) -> None:
        self._fds.append(fd)

    def poll(self, timeout_ms: float) -> list[tuple[int, int]]:
        return self._kernel.poll(self._fds, timeout_ms)


def _like(module: Any, **others: Any) -> SimpleNamespace:
    """A module with some of its functions replaced."""
    return SimpleNamespace(**{**vars(module), **others})
