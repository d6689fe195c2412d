"""Ends what a job waits for when the job itself is killed, whoever else is killed with it.

A job's first command brings a shell that outlives the job. The job tells it through a pipe of the
commands that it waits for, each the leader of a process group. The pipe ends with the job, however
the job ends; then the shell kills the groups that are left and ends too. A shell and no child of
our own: a process that may have threads must not fork
(docs/reliability.md#the-network-misbehaves), and it is small.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import subprocess

log = logging.getLogger(__name__)

SHELL: Final = "/bin/sh"
TITLE: Final = "salt-job-guard"
"""Its name in the process list; not the minion's, so that who kills those leaves it to its work."""

END_WAIT_S: Final = 2.0

# Deaf to the signals that end a job's session: it has to be there after the job.
SCRIPT: Final = """\
trap '' HUP INT TERM
held=
while read -r sign pid; do
    case $sign in
    +) held="$held $pid " ;;
    -) held="${held%% $pid *}${held#* $pid }" ;;
    esac
done
for pid in $held; do kill -9 "-$pid"; done
"""

_inherited: set[int] = set()
"""The pipes that are open in this process: a fork of it must not keep them open."""


class Guard:
    """The guard of one job. Safe for several threads; a fork of the job's process has its own."""

    def __init__(self) -> None:
        self._be_new()

    def prepare(self) -> None:
        """See to it that there is a guard, before there is anything to guard."""
        if os.getpid() != self._pid:
            self._be_new()
        with self._lock:
            if self._shell is None:
                self._start_shell()

    def hold(self, pid: int) -> None:
        """From now on the process group of ``pid`` ends with the job."""
        with self._lock:
            self._held.add(pid)
            self._write_line(f"+ {pid}\n")

    def let_go(self, pid: int) -> None:
        """That command has ended; what it left behind lives on."""
        with self._lock:
            self._held.discard(pid)
            self._write_line(f"- {pid}\n")

    def close(self) -> None:
        """The job is over. Waits for the guard's end: not every machine's init reaps orphans."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            if self._shell is not None:
                self._end_shell(self._shell)

    def _be_new(self) -> None:
        """Without a guard; in a fork the one there was is the parent's, as its commands are."""
        # Not the parent's: a thread that held it at the fork does not exist here to release it.
        self._lock = threading.Lock()
        self._held: set[int] = set()
        self._shell: subprocess.Popen[bytes] | None = None
        self._fd = -1
        self._pid = os.getpid()

    def _start_shell(self) -> None:
        import subprocess

        read_fd, self._fd = os.pipe2(os.O_CLOEXEC)
        _inherited.add(self._fd)
        try:
            self._shell = subprocess.Popen(
                [TITLE, "-c", SCRIPT],
                executable=SHELL,
                stdin=read_fd,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                # Whoever kills the job's whole process group must not kill it too.
                start_new_session=True,
            )
        except OSError as error:
            log.warning("what this job waits for would outlive it: %s: %s", SHELL, error)
            self._close_pipe()
        else:
            # A guard that does not read counts as gone: a full pipe must not stop the job.
            os.set_blocking(self._fd, False)
            # One that is started anew learns what is held already.
            for pid in self._held:
                self._write_line(f"+ {pid}\n")
        finally:
            os.close(read_fd)

    def _write_line(self, line: str) -> None:
        if self._shell is None:
            return
        try:
            os.write(self._fd, line.encode())
        except OSError as error:
            log.warning("the guard of this job's commands has gone: %s", error)
            # One that hears no ``-`` any more would kill the groups of others that get these ids.
            self._shell.kill()
            self._end_shell(self._shell)

    def _end_shell(self, shell: subprocess.Popen[bytes]) -> None:
        import subprocess

        self._close_pipe()
        self._shell = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            shell.wait(END_WAIT_S)

    def _close_pipe(self) -> None:
        _inherited.discard(self._fd)
        os.close(self._fd)
        self._fd = -1


def is_guard(pid: int) -> bool:
    """Whether process ``pid`` is a guard: who ends a job leaves it to its work."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(TITLE.encode() + b"\0")
    except OSError:
        return False


def _after_fork() -> None:
    while _inherited:
        os.close(_inherited.pop())


os.register_at_fork(after_in_child=_after_fork)
