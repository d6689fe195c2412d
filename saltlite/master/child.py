"""What a child process of the master knows of its parent: how to show life, and when to end.

Every child's loop waits through :meth:`Life.poll`, so that none forgets its heartbeat, a signal, or
that the parent is gone.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import zmq

from saltlite import process
from saltlite.master.shared import Beat, HeartBeats

BEAT_S: Final = 5.0
"""A child that waits for work shows life at least this often."""

EXIT_CANNOT_START: Final = 78
"""A child's exit code for: starting again will not help. Source: sysexits.h, EX_CONFIG."""

EXIT_FOR_GOOD: Final = 69
"""The exit code of a child that is not started again. Source: sysexits.h, EX_UNAVAILABLE."""

CHILDREN_OOM_SCORE: Final = 100
"""The kernel out of memory is to take a child before the parent. Source: proc(5), oom_score_adj."""


class Life:
    """One child's tie to its parent. Made in the child, right after the fork."""

    def __init__(
        self,
        beats: HeartBeats,
        slot: int,
        *,
        ready_fd: int,
        parent_fd: int,
        restarts: int,
        reload: Callable[[], None],
    ) -> None:
        self._beats = beats
        self._slot = slot
        self._ready_fd = ready_fd
        self._parent_fd = parent_fd
        self._reload = reload
        self._requests = 0
        self._hang_up = False
        self._worked_s = time.monotonic()
        self._rested_s = float("-inf")
        self.restarts = restarts
        """How often this child was started before."""
        self.stopping = False
        """Whether the parent wants this child to finish what it has in hand and end."""
        self._wake_fd, self._signal_fd = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def attach(self, parent_pid: int) -> None:
        """Take the signals, and end with the parent, however it ends."""
        process.die_with_parent(parent_pid, signal.SIGKILL)
        # A pipe that is full wakes the loop as well as one more byte would.
        signal.set_wakeup_fd(self._signal_fd, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGHUP, self._on_hup)
        signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # Ctrl-C is for the parent, which stops us in order
        # The supervisor's handler came along with the fork.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _offer_to_oom_killer()
        self.beat()

    def register(self, poller: zmq.Poller) -> None:
        """Have ``poller`` wait for signals and the parent's end too."""
        poller.register(self._wake_fd, zmq.POLLIN)
        poller.register(self._parent_fd, zmq.POLLIN)

    def ready(self) -> None:
        """Tell the parent that this child can do its work."""
        if self._ready_fd >= 0:
            os.write(self._ready_fd, b"R")
            os.close(self._ready_fd)
            self._ready_fd = -1

    def poll(self, poller: zmq.Poller, timeout_s: float = BEAT_S) -> list[tuple[Any, int]]:
        """Wait for what ``poller`` waits for, at most ``timeout_s``, and show life.

        Returns early, perhaps with nothing, when a signal came; look at :attr:`stopping` then.
        """
        # Before the wait: the request in hand has ended, and its limit with it.
        self.beat()
        found = poller.poll(round(max(0.0, min(timeout_s, self._patience_s())) * 1000))
        if not found:
            self._rest_if_due()
        mine = (self._wake_fd, self._parent_fd)
        theirs = [(socket, events) for socket, events in found if socket not in mine]
        if theirs:
            self._worked_s = time.monotonic()
        if len(theirs) != len(found):
            self._answer_signals()
        return theirs

    def _patience_s(self) -> float:
        """How long to wait at once."""
        is_rested = self._rested_s >= self._worked_s
        return BEAT_S if is_rested else min(BEAT_S, process.REST_AFTER_S)

    def _rest_if_due(self) -> None:
        """Give back memory that was used for the start or for work, after a while without any."""
        now_s = time.monotonic()
        if self._rested_s >= self._worked_s or now_s < self._worked_s + process.REST_AFTER_S:
            return
        if now_s >= self._rested_s + process.REST_EVERY_S:
            self._rested_s = now_s
            process.rest()

    def do_not_poll(self) -> None:
        """For a child whose code is not ours and waits in its own way.

        SIGTERM ends it where it is, as ``sys.exit`` would; the logs are re-opened at once.
        """
        signal.signal(signal.SIGTERM, _exit_on_signal)
        signal.signal(signal.SIGHUP, lambda _number, _frame: self._reload())

    def let_go(self) -> None:
        """In a child of this child: close what ties to the master; it has its own ties."""
        for fd in (self._wake_fd, self._signal_fd, self._parent_fd):
            os.close(fd)

    def beat(self) -> None:
        """Show life, and that nothing is in hand."""
        self._beats.write(self._slot, Beat(time.monotonic(), 0.0, 0.0, self._requests))

    def busy(self, limit_s: float) -> None:
        """Say that a request is in hand, and how long it may take before this child is replaced."""
        self._requests += 1
        now_s = time.monotonic()
        self._beats.write(self._slot, Beat(now_s, now_s, limit_s, self._requests))

    def extend(self, limit_s: float) -> None:
        """The request in hand may take longer than said."""
        before = self._beats.read(self._slot)
        # busy_since_s stays: the limit counts from the beginning of the request.
        beat = Beat(before.beat_s, before.busy_since_s, limit_s, before.requests)
        self._beats.write(self._slot, beat)

    def _answer_signals(self) -> None:
        # Emptied before the flags are looked at: a signal in between wakes the next poll.
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_fd, 4096)
        if self._parent_is_gone():
            self.stopping = True
        if self._hang_up:
            self._hang_up = False
            self._reload()

    def _parent_is_gone(self) -> bool:
        """The parent never writes; the pipe is readable only when its other end is closed."""
        poll = select.poll()
        poll.register(self._parent_fd, select.POLLIN)
        return bool(poll.poll(0))

    def _on_term(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def _on_hup(self, _number: int, _frame: FrameType | None) -> None:
        self._hang_up = True


def _offer_to_oom_killer() -> None:
    # Not a file object: making one changes 140 KiB of what this child shares with the others.
    with contextlib.suppress(OSError):
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, b"%d" % CHILDREN_OOM_SCORE)
        finally:
            os.close(fd)


def _exit_on_signal(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
