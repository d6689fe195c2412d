"""The parent of the master's processes: starts them, watches them, replaces them, ends them.

It binds nothing, parses nothing and owns no socket, thread or lock, so that it can fork at any
time. It learns of a death from the kernel at once. It never gives up on a child; it only slows
down. Source: docs/reliability.md#processes-die, #start-stop-configuration.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Final

from saltlite import process
from saltlite.core.dataclasses import dataclass, field
from saltlite.master.child import EXIT_CANNOT_START, EXIT_FOR_GOOD, Life
from saltlite.master.shared import Beat, HeartBeats

log = logging.getLogger(__name__)

BACK_OFF_FIRST_S: Final = 0.1
BACK_OFF_LAST_S: Final = 5.0
HEALTHY_AFTER_S: Final = 60.0
READY_WITHIN_S: Final = 30.0
SILENT_FOR_S: Final = 60.0
"""A child that shows no sign of life for this long is dead, whatever the process list says."""

CAUGHT: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)

LONGEST_LOOK_S: Final = 2.0
"""The supervisor looks every second. What goes by between two looks beyond this is no child's
fault: the machine was paused, or everybody was stopped.
"""

MANY_DEATHS: Final = 10
COMPLAIN_EVERY_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """One child: its name in the process list, what it does, and when it is stopped.

    Children are stopped group by group, the lowest ``stop_group`` first; each has ``grace_s``. One
    that does not poll (``Life.do_not_poll``) shows no life and is not replaced for that.
    """

    name: str
    run: Callable[[Life], None]
    stop_group: int = 0
    grace_s: float = 2.0
    polls: bool = True


class WatchClock:
    """Seconds in which the supervisor was there to look. A pause of the machine is none."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._looked_s: float | None = None

    def look(self, monotonic_s: float) -> float:
        """Go on to this moment; the seconds until now."""
        if self._looked_s is not None:
            self.now_s += min(monotonic_s - self._looked_s, LONGEST_LOOK_S)
        self._looked_s = monotonic_s
        return self.now_s


@dataclass(slots=True)
class Child:
    """The state of one child. ``pid`` is 0 while there is no process.

    ``sign`` is what it last showed of itself, and ``sign_s`` when that was first seen, by the
    supervisor's own clock.
    """

    spec: ChildSpec
    slot: int
    pid: int = 0
    started_s: float = 0.0
    is_ready: bool = False
    sign: tuple[float, int] = (0.0, 0)
    sign_s: float = 0.0
    ready_fd: int = -1
    starts: int = 0
    back_off_s: float = BACK_OFF_FIRST_S
    start_at_s: float = 0.0
    deaths: list[float] = field(default_factory=list)
    complained_s: float = 0.0


class Supervisor:
    """Runs children until it is told to stop.

    ``title`` goes before a child's name in the process list. ``on_ready`` is called once, when all
    children have reported; ``reload`` on SIGHUP, here and in every child. ``after_fork`` runs
    first in every child, to let go of what is the parent's alone.
    """

    def __init__(
        self,
        specs: Sequence[ChildSpec],
        *,
        title: str = "salt-master",
        on_ready: Callable[[], None] = lambda: None,
        reload: Callable[[], None] = lambda: None,
        after_fork: Callable[[], None] = lambda: None,
        silent_for_s: float = SILENT_FOR_S,
        ready_within_s: float = READY_WITHIN_S,
    ) -> None:
        self._title = title
        self._on_ready = on_ready
        self._reload = reload
        self._after_fork = after_fork
        self._silent_for_s = silent_for_s
        self._ready_within_s = ready_within_s
        self._beats = HeartBeats(len(specs))
        self._children = [Child(spec, slot) for slot, spec in enumerate(specs)]
        self._clock = WatchClock()
        self._told_ready = False
        self._terms = 0
        self._hang_up = False
        self._failed = False
        self._wake_fd, self._signal_fd = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._parent_end_fd, self._child_end_fd = -1, -1

    def run(self) -> int:
        """Watch over the children until SIGTERM or SIGINT; the exit code."""
        # Nobody writes: a child finds it readable once the parent is gone.
        self._child_end_fd, self._parent_end_fd = os.pipe2(os.O_CLOEXEC)
        self._take_signals()
        process.prepare_to_die_with_parent()
        process.keep_large_buffers()
        process.prepare_many_forks()
        try:
            while not self._terms and not self._failed:
                self._start_due()
                self._wait(self._next_deadline_s())
                self._reap()
                self._replace_hung()
            self._stop_all()
        finally:
            # Also after an error of ours: no child outlives this process.
            self._kill_all()
            self._close()
        return 1 if self._failed else 0

    # --- signals -------------------------------------------------------------------------

    def _take_signals(self) -> None:
        # A full pipe wakes the loop as well as another byte would.
        signal.set_wakeup_fd(self._signal_fd, warn_on_full_buffer=False)
        handlers = (self._on_term, self._on_term, self._on_hup, _on_child)
        for number, handler in zip(CAUGHT, handlers, strict=True):
            signal.signal(number, handler)

    def _on_term(self, _number: int, _frame: FrameType | None) -> None:
        self._terms += 1

    def _on_hup(self, _number: int, _frame: FrameType | None) -> None:
        # Only noted: a handler may run in the middle of anything.
        self._hang_up = True

    def _wait(self, until_s: float) -> None:
        """Until a signal, a report of readiness, or ``until_s``."""
        reports = {child.ready_fd: child for child in self._children if child.ready_fd >= 0}
        poll = select.poll()
        for fd in (self._wake_fd, *reports):
            poll.register(fd, select.POLLIN)
        timeout_s = max(0.0, until_s - time.monotonic())
        for fd, _events in poll.poll(timeout_s * 1000):
            if fd == self._wake_fd:
                with contextlib.suppress(BlockingIOError):
                    os.read(fd, 4096)
            else:
                self._take_report(reports[fd])
        if self._hang_up:
            self._hang_up = False
            self._reload()
            self._signal(signal.SIGHUP, self._children)

    def _take_report(self, child: Child) -> None:
        # An end without a byte is that of a child that died; _reap sees to it.
        child.is_ready = os.read(child.ready_fd, 1) == b"R"
        self._close_report(child)
        if child.is_ready:
            log.debug("%s is ready (process %d)", child.spec.name, child.pid)
        if not self._told_ready and all(one.is_ready for one in self._children):
            self._told_ready = True
            self._on_ready()

    # --- starting ------------------------------------------------------------------------

    def _start_due(self) -> None:
        now_s = time.monotonic()
        for child in self._children:
            if not child.pid and child.start_at_s <= now_s:
                self._start(child)

    def _start(self, child: Child) -> None:
        try:
            report_fd, ready_fd = os.pipe2(os.O_CLOEXEC)
        except OSError as error:
            self._put_off(child, error)
            return
        parent_pid = os.getpid()
        child.started_s = time.monotonic()
        # Else the slot still shows the last sign of the process before it.
        self._beats.write(child.slot, Beat(child.started_s, 0.0, 0.0, 0))
        # A signal that came to the child before it has handlers of its own would be lost in ours.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, CAUGHT)
        try:
            pid = os.fork()
            if not pid:
                os.close(report_fd)
                self._be(child, ready_fd, parent_pid, before)
        except OSError as error:
            os.close(report_fd)
            self._put_off(child, error)
            return
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(ready_fd)
        child.pid = pid
        child.ready_fd = report_fd
        child.is_ready = False
        child.starts += 1
        child.sign_s = self._clock.look(time.monotonic())

    def _put_off(self, child: Child, error: OSError) -> None:
        """There can be no more processes, or open files, on this machine now."""
        log.error("%s cannot be started: %s", child.spec.name, error.strerror)
        child.start_at_s = time.monotonic() + child.back_off_s
        child.back_off_s = min(child.back_off_s * 2, BACK_OFF_LAST_S)

    def _be(
        self, child: Child, ready_fd: int, parent_pid: int, mask: Iterable[int | signal.Signals]
    ) -> None:
        """The child's whole life; never returns. ``mask``: the signals that it blocks."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            self._drop_what_is_the_parents()
            process.set_title(f"{self._title} {child.spec.name}")
            life = Life(
                self._beats,
                child.slot,
                ready_fd=ready_fd,
                parent_fd=self._child_end_fd,
                restarts=child.starts,
                reload=self._reload,
            )
            life.attach(parent_pid)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            child.spec.run(life)
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException:
            log.exception("%s ends by an error", child.spec.name)
        finally:
            logging.shutdown()
            os._exit(code)

    def _drop_what_is_the_parents(self) -> None:
        self._after_fork()
        for fd in (self._parent_end_fd, self._wake_fd, self._signal_fd):
            os.close(fd)
        for other in self._children:
            self._close_report(other)

    # --- watching ------------------------------------------------------------------------

    def _next_deadline_s(self) -> float:
        now_s = time.monotonic()
        starts = [child.start_at_s for child in self._children if not child.pid]
        watched = [now_s + 1.0] if any(child.pid for child in self._children) else []
        return min([*starts, *watched], default=now_s + 1.0)

    def _reap(self) -> None:
        for child in self._children:
            status = _wait_status(child.pid) if child.pid else None
            if status is not None:
                self._note_death(child, status)

    def _note_death(self, child: Child, status: int) -> None:
        now_s = time.monotonic()
        pid, child.pid = child.pid, 0
        self._close_report(child)
        if self._terms or self._failed:
            return
        code = os.waitstatus_to_exitcode(status)
        # At the start of the master alone: later it may pass, as a port that is taken does.
        if code == EXIT_CANNOT_START and not self._told_ready:
            self._failed = True
            return
        # Only for an engine; there is no other child that a master can do without.
        if code == EXIT_FOR_GOOD and not child.spec.polls:
            child.start_at_s = float("inf")
            return
        # After a minute without fault the earlier deaths count no longer.
        if now_s - child.started_s > HEALTHY_AFTER_S:
            child.back_off_s = BACK_OFF_FIRST_S
        child.deaths = [one for one in child.deaths if now_s - one < COMPLAIN_EVERY_S] + [now_s]
        child.start_at_s = now_s + child.back_off_s
        self._say_death(child, pid, code, now_s)
        child.back_off_s = min(child.back_off_s * 2, BACK_OFF_LAST_S)

    def _say_death(self, child: Child, pid: int, code: int, now_s: float) -> None:
        how = process.signal_name(-code) if code < 0 else f"exit code {code}"
        if len(child.deaths) <= MANY_DEATHS:
            log.warning(
                "%s (process %d) ended with %s; starting it again in %.1f s",
                child.spec.name,
                pid,
                how,
                child.back_off_s,
            )
        elif now_s - child.complained_s > COMPLAIN_EVERY_S:
            child.complained_s = now_s
            log.error(
                "%s ended %d times in a minute, last with %s; it is started every %.0f s",
                child.spec.name,
                len(child.deaths),
                how,
                BACK_OFF_LAST_S,
            )

    def _replace_hung(self) -> None:
        self._clock.look(time.monotonic())
        for child in self._children:
            reason = self._hung(child) if child.pid else None
            if reason:
                log.error("%s (process %d) %s; replacing it", child.spec.name, child.pid, reason)
                # What hangs might not come back to a handler of another signal.
                self._signal(signal.SIGKILL, [child])
                self._wait_for([child], time.monotonic() + 5.0)

    def _hung(self, child: Child) -> str | None:
        """What a child has done for too long, in the time that we were there to see it."""
        now_s = self._clock.now_s
        if not child.is_ready:
            late = now_s - child.sign_s > self._ready_within_s
            return f"did not get ready within {self._ready_within_s:.0f} s" if late else None
        if not child.spec.polls:
            return None
        beat = self._beats.read(child.slot)
        # Of a busy child the beginning: while it is at one request the sign is the same.
        sign = (beat.busy_since_s or beat.beat_s, beat.requests)
        if sign != child.sign:
            child.sign, child.sign_s = sign, now_s
        limit_s = beat.limit_s if beat.busy_since_s else self._silent_for_s
        if now_s - child.sign_s <= limit_s:
            return None
        if beat.busy_since_s:
            return f"was at request {beat.requests} for {limit_s:.0f} s"
        return f"showed no life for {limit_s:.0f} s"

    # --- stopping ------------------------------------------------------------------------

    def _stop_all(self) -> None:
        """Group after group; a second SIGTERM ends the courtesy."""
        for group in sorted({child.spec.stop_group for child in self._children}):
            members = [c for c in self._children if c.spec.stop_group == group and c.pid]
            self._signal(signal.SIGTERM, members)
            grace_s = max((one.spec.grace_s for one in members), default=0.0)
            self._wait_for(members, time.monotonic() + grace_s)
            if self._terms > 1:
                return
            late = [one for one in members if one.pid]
            for one in late:
                log.warning("%s did not end within %.0f s; killing it", one.spec.name, grace_s)
            self._signal(signal.SIGKILL, late)
            self._wait_for(late, time.monotonic() + 1.0)

    def _kill_all(self) -> None:
        alive = [child for child in self._children if child.pid]
        self._signal(signal.SIGKILL, alive)
        self._wait_for(alive, time.monotonic() + 2.0)

    def _wait_for(self, children: Sequence[Child], until_s: float) -> None:
        """Until they have ended, it is late, or a second SIGTERM came."""
        while any(child.pid for child in children):
            self._reap()
            if time.monotonic() >= until_s or not any(child.pid for child in children):
                return
            if self._terms > 1:
                self._signal(signal.SIGKILL, self._children)
            self._wait(min(until_s, time.monotonic() + 0.5))

    def _signal(self, number: int, children: Sequence[Child]) -> None:
        for child in children:
            if child.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, number)

    def _close_report(self, child: Child) -> None:
        if child.ready_fd >= 0:
            os.close(child.ready_fd)
            child.ready_fd = -1

    def _close(self) -> None:
        signal.set_wakeup_fd(-1)
        for child in self._children:
            self._close_report(child)
        for fd in (self._child_end_fd, self._parent_end_fd, self._wake_fd, self._signal_fd):
            os.close(fd)
        self._beats.close()


def _on_child(_number: int, _frame: FrameType | None) -> None:
    """Nothing to do here; the wake-up descriptor has brought the loop back."""


def _wait_status(pid: int) -> int | None:
    """The wait status of a child that has ended, else ``None``."""
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        # SIGCHLD is ignored, or somebody else took its status: it is gone all the same.
        return 0
    return status if found else None
