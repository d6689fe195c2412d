"""Children that the kernel kills when their parent is killed, but not when it ends in order.

A minion that is told to stop lets its jobs finish; one that is killed takes them with it, so that
nothing of it goes on unwatched and the next start finds them cut short. ``PR_SET_PDEATHSIG`` knows
no such difference. So there is a pipe that nobody writes to, with its write end in the parent
alone. Each child is born with a read end whose signal-driven I/O sends it SIGKILL when the last
writer goes; the parent has that same open file, and switches this off before it ends in order.

Source: fcntl(2), ``F_SETOWN``, ``F_SETSIG``, ``O_ASYNC``.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
from collections.abc import Callable


class Tethers:
    """The ties of one parent to its children."""

    def __init__(self) -> None:
        self._read_fd, self._write_fd = os.pipe2(os.O_CLOEXEC)
        self._ties: dict[int, int] = {}
        self._own_fd: int | None = None

    def fork(self, fork: Callable[[], int]) -> int:
        """Have ``fork`` make a child, and tie it; its process id. Raises OSError."""
        # Not ``dup``: owner, signal and O_ASYNC belong to the open file; each child needs one.
        tie_fd = os.open(f"/proc/self/fd/{self._read_fd}", os.O_RDONLY | os.O_CLOEXEC)
        fcntl.fcntl(tie_fd, fcntl.F_SETSIG, signal.SIGKILL)
        _send_signals(tie_fd, on=True)  # to nobody yet
        self._own_fd = tie_fd
        try:
            pid = fork()
        except OSError:
            os.close(tie_fd)
            raise
        finally:
            self._own_fd = None
        fcntl.fcntl(tie_fd, fcntl.F_SETOWN, pid)
        self._ties[pid] = tie_fd
        return pid

    def forget(self, pid: int) -> None:
        """A child has ended, if it was tied."""
        tie_fd = self._ties.pop(pid, None)
        if tie_fd is not None:
            os.close(tie_fd)

    def let_go(self) -> None:
        """From now on the children do not end with us."""
        for tie_fd in self._ties.values():
            _send_signals(tie_fd, on=False)

    def leave(self) -> None:
        """In a child: nothing of this is ours, but for the tie that we were born with.

        The parent may have been killed before it told the kernel whom to signal, so the child says
        it too, and looks whether it is too late.
        """
        for fd in (self._read_fd, self._write_fd, *self._ties.values()):
            os.close(fd)
        if self._own_fd is None:
            return
        fcntl.fcntl(self._own_fd, fcntl.F_SETOWN, os.getpid())
        if _sends_signals(self._own_fd) and _is_without_writer(self._own_fd):
            os.kill(os.getpid(), signal.SIGKILL)


def _send_signals(fd: int, *, on: bool) -> None:
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_ASYNC if on else flags & ~os.O_ASYNC)


def _sends_signals(fd: int) -> bool:
    return bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ASYNC)


def _is_without_writer(fd: int) -> bool:
    poller = select.poll()
    poller.register(fd, 0)  # a hang-up is told whatever is asked for
    return bool(poller.poll(0))
