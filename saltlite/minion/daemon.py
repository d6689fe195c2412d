"""The first process of a minion: it forks, and nothing else.

It holds no ZeroMQ socket, no thread and no lock, so that a fork at any moment is safe. It forks the
loop (:mod:`saltlite.minion.minion`) and starts it again should it die; it forks a child for every
job that the loop asks for, and tells the loop how each child ended. When it is told to stop, jobs
go on, and their returns wait in the spool for the next start. When it is killed, they are killed
with it (:mod:`saltlite.minion.parent_death`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import pwd
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.disk import PRIVATE_FILE, make_dir
from saltlite.errors import StoreError, WireError
from saltlite.minion.parent_death import Tethers
from saltlite.minion.pipe import frame_message
from saltlite.minion.process import Setup, run_forked
from saltlite.process import (
    become_user,
    go_background,
    notify,
    prepare_many_forks,
    remove_pid_file,
    rest,
    set_title,
    signal_name,
    write_pid_file,
)
from saltlite.transport.codec import pack_bin, unpack_bin

if TYPE_CHECKING:
    from saltlite.config.minion import MinionConfig

log = logging.getLogger(__name__)

PACKET_LIMIT_BYTES: Final = 64 * 1024
FINAL_CODES: Final = frozenset({0, 42, 68, 77, 78})
"""Codes with which the loop ends on purpose; any other end is a crash.

Source: docs/wire.md#what-the-minion-does-next for 42 and 77; 68 is ``session.UNRESOLVED_EXIT``, 78
``minion.CANNOT_START``.
"""

CAUGHT: Final = (
    signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGHUP, signal.SIGUSR1,
)  # fmt: skip

FIRST_RESTART_WAIT_S: Final = 0.1
LONGEST_RESTART_WAIT_S: Final = 5.0
HEALTHY_S: Final = 60.0
STOP_WAIT_S: Final = 10.0


def run(
    setup: Setup, *, background: bool = False, start_logging: Callable[[], None] = lambda: None
) -> int:
    """Be a minion until told to stop; the exit code.

    ``start_logging`` is called once we are the user that we stay, with the terminal left behind.

    Raises:
        ConfigError: we cannot be that user.
        StoreError: a directory cannot be made or used.
    """
    paths = setup.config.paths
    user = setup.config.process.user
    for directory in (setup.cachedir, Path(paths.pki_dir), Path(paths.sock_dir)):
        # Still as root: the directories above are not the user's.
        _make_for(directory, user)
    if user:
        become_user(user)
    # Before the terminal is left, so that the line about another minion is seen there.
    lock_fd = _hold_cachedir(setup.cachedir)
    if lock_fd is None:
        return 1
    if background:
        go_background()
    # After the forks of going to the background, which gave this process another id.
    _write_holder(setup.cachedir)
    start_logging()
    parent = Parent(setup, lock_fd)
    with _pid_file(Path(paths.pidfile)):
        set_title("salt-minion")
        return parent.run()


def _make_for(directory: Path, user: str) -> None:
    """Make a directory, for the user that the minion will be."""
    existed = directory.is_dir()
    make_dir(directory)
    if user and not existed and os.geteuid() == 0:
        with contextlib.suppress(LookupError):
            os.chown(directory, pwd.getpwnam(user).pw_uid, -1)


def _hold_cachedir(cachedir: Path) -> int | None:
    """Hold the cache directory until this process and the loop end.

    The descriptor of the lock; ``None``, after one line, if another minion has it. Jobs close it:
    one that outlives the minion must not keep the next one from starting.

    Raises:
        StoreError: the directory cannot be written.
    """
    path = _require_writable(cachedir) / ".minion.lock"
    # Closed on exec: what a job starts may outlive the minion, and would keep its lock.
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        holder = "?"
        with contextlib.suppress(OSError):
            holder = (cachedir / ".minion.pid").read_text().strip()
        sys.stderr.write(f"salt-minion: {cachedir} is in use by another minion, process {holder}\n")
        return None
    return fd


def _require_writable(directory: Path) -> Path:
    if not os.access(directory, os.W_OK | os.X_OK):
        raise StoreError(f"{directory} cannot be written by user id {os.geteuid()}")
    return directory


def _write_holder(cachedir: Path) -> None:
    with contextlib.suppress(OSError):
        (cachedir / ".minion.pid").write_text(f"{os.getpid()}\n")


@contextlib.contextmanager
def _pid_file(path: Path) -> Iterator[None]:
    try:
        write_pid_file(path)
    except (OSError, StoreError) as error:
        log.warning("no pid file: %s", error)
    try:
        yield
    finally:
        remove_pid_file(path)


@dataclass(slots=True)
class _Loop:
    """The loop process that lives now."""

    pid: int
    control: socket.socket
    started_s: float
    is_silent: bool = False
    """It has closed its end of ``control``: it is dead or ends."""

    children: dict[int, int] = field(default_factory=dict)


class Parent:
    """Forks, reaps and reports. One object for the life of the daemon."""

    def __init__(self, setup: Setup, lock_fd: int) -> None:
        self._setup = setup
        self._lock_fd = lock_fd
        self._pid = os.getpid()
        self._loop: _Loop | None = None
        self._stop_signals = 0
        self._stop_by_s = float("inf")
        self._restart_at_s = 0.0
        self._restart_wait_s = FIRST_RESTART_WAIT_S
        self._exit_code: int | None = None
        self._tethers = Tethers()
        # Python restarts a select that a signal interrupts; a byte in this pipe ends it.
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._catch_signals()

    def run(self) -> int:
        """Fork and watch until the loop ends on purpose or a signal says stop."""
        # Loaded before it is frozen: what the collector leaves alone stays shared with children.
        preload(self._setup.config)
        prepare_many_forks()
        if self._exit_code is None:
            self._start_loop()
        while self._exit_code is None:
            self._wait_and_serve()
        self._tethers.let_go()
        return self._exit_code

    def _wait_and_serve(self) -> None:
        fds = [self._wake_read]
        if self._loop is not None and not self._loop.is_silent:
            fds.append(self._loop.control.fileno())
        readable, _, _ = select.select(fds, [], [], self._patience_s())
        if self._wake_read in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
        if self._loop is not None and self._loop.control.fileno() in readable:
            self._serve_loop(self._loop)
        # Whatever the reason for waking: one SIGCHLD may stand for several children.
        self._reap_children()
        self._on_time()

    def _patience_s(self) -> float | None:
        """How long nothing is due; ``None`` for ever."""
        due_s = self._stop_by_s
        if self._loop is None:
            due_s = min(due_s, self._restart_at_s)
        return None if due_s == float("inf") else max(0.0, due_s - time.monotonic())

    def _on_time(self) -> None:
        now_s = time.monotonic()
        if self._loop is None and self._exit_code is None and now_s >= self._restart_at_s:
            self._start_loop()
        if self._loop is not None and now_s >= self._stop_by_s:
            log.warning("the minion's loop does not end; killing it")
            os.kill(self._loop.pid, signal.SIGKILL)
            # A process that sleeps in the kernel does not end at once: not a line at every turn.
            self._stop_by_s = now_s + STOP_WAIT_S

    # --- signals ---------------------------------------------------------------------------

    def _catch_signals(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, _ignore_signal)

    def _on_stop(self, number: int, _frame: FrameType | None) -> None:
        """The first signal lets the loop close in order, the second one does not."""
        # A signal handler, between any two lines: it sets flags and sends a signal, no more.
        self._stop_signals += 1
        if self._loop is None:
            self._exit_code = 0
            return
        self._stop_by_s = time.monotonic() + STOP_WAIT_S
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._loop.pid, signal.SIGTERM if self._stop_signals == 1 else signal.SIGKILL)

    def _reset_signals(self) -> None:
        """In a child: nothing of the parent's handlers stays."""
        signal.set_wakeup_fd(-1)
        for number in CAUGHT:
            signal.signal(number, signal.SIG_DFL)
        self._tethers.leave()
        os.close(self._wake_read)
        os.close(self._wake_write)

    # --- the loop ----------------------------------------------------------------------------

    def _start_loop(self) -> None:
        try:
            self._loop = self._make_loop()
        except OSError as error:  # there can be no more processes or open files now
            self._put_off_loop(f"cannot be started: {error.strerror}")
            return
        if self._stop_signals:  # told to stop while we forked
            self._exit_code = None
            self._stop_by_s = time.monotonic() + STOP_WAIT_S
            os.kill(self._loop.pid, signal.SIGTERM)

    def _make_loop(self) -> _Loop:
        # Packets keep a message and the descriptor that came with it together.
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.ExitStack() as unless_made, theirs:
            unless_made.callback(ours.close)
            grains = self._start_grains()
            unless_made.callback(grains.close)

            def live() -> int:
                ours.close()
                return _live_as_loop(self._setup, theirs, grains)

            pid = self._tethers.fork(lambda: self._fork_child(live))
            unless_made.pop_all()
        grains.close()
        # A loop that does not read must not stop the parent: a report that is lost costs less.
        ours.setblocking(False)
        return _Loop(pid, ours, time.monotonic())

    def _start_grains(self) -> socket.socket:
        """Have a child collect grains while the loop is still loading; the loop's end to it."""
        ours, theirs = socket.socketpair()
        # Nobody reads yet; so little fits into the socket.
        ours.sendall(frame_message({"task": "grains"}))

        def live() -> int:
            ours.close()
            os.close(self._lock_fd)
            set_title("salt-minion grains")
            return run_forked(theirs, self._setup)

        with theirs:
            try:
                self._tethers.fork(lambda: self._fork_child(live))
            except OSError:
                ours.close()
                raise
        return ours

    def _loop_ended(self, loop: _Loop, status: int) -> None:
        loop.control.close()
        self._loop = None
        self._stop_by_s = float("inf")
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) in FINAL_CODES:
            self._exit_code = os.WEXITSTATUS(status)
            return
        if self._stop_signals:
            self._exit_code = 0
            return
        # The back-off is for a loop that dies at its start, not for one that ran for long.
        if time.monotonic() - loop.started_s > HEALTHY_S:
            self._restart_wait_s = FIRST_RESTART_WAIT_S
        self._put_off_loop(_describe_end(status))

    def _put_off_loop(self, why: str) -> None:
        wait_s = self._restart_wait_s
        self._restart_wait_s = min(LONGEST_RESTART_WAIT_S, wait_s * 2)
        self._restart_at_s = time.monotonic() + wait_s
        log.error("the minion's loop %s; starting it again in %.1f s", why, wait_s)

    # --- children ------------------------------------------------------------------------------

    def _serve_loop(self, loop: _Loop) -> None:
        """Do what the loop asks for in one packet."""
        try:
            packet, fds, _, _ = socket.recv_fds(loop.control, PACKET_LIMIT_BYTES, 4)
        except OSError:
            return
        try:
            message = unpack_bin(packet) if packet else None
        except WireError:
            message = None
        if isinstance(message, dict) and message.get("ready"):
            notify("READY=1")
            # From here on this process waits, and forks at times.
            rest()
        elif isinstance(message, dict) and len(fds) == 1:
            self._spawn_child(loop, message, fds[0])
            return
        elif isinstance(message, dict):  # the kernel drops what there is no number left for
            self._refuse_child(loop, message, os.strerror(errno.EMFILE))
        # Descriptors that came with anything else would stay open for ever.
        for fd in fds:
            os.close(fd)
        if not packet:
            # Not looked at any more: at its end it would be readable at every turn.
            loop.is_silent = True
            self._stop_by_s = min(self._stop_by_s, time.monotonic() + STOP_WAIT_S)

    def _spawn_child(self, loop: _Loop, message: dict[str, Any], fd: int) -> None:
        number = int(message["number"])
        sock = socket.socket(fileno=fd)

        def live() -> int:
            os.close(self._lock_fd)
            loop.control.close()
            set_title(f"salt-minion {message['title']}")
            return run_forked(sock, self._setup)

        try:
            pid = self._tethers.fork(lambda: self._fork_child(live))
        except OSError as error:
            self._refuse_child(loop, message, str(error.strerror))
            return
        finally:
            # While it is open here too, the loop never sees the job's pipe end.
            sock.close()
        loop.children[pid] = number

    def _refuse_child(self, loop: _Loop, message: dict[str, Any], why: str) -> None:
        self._tell_loop(loop, {"number": int(message["number"]), "error": why})

    def _fork_child(self, live: Callable[[], int]) -> int:
        """Fork a child that does ``live`` and exits with its code; nothing of ours runs in it."""
        # Or what is in the buffers is written twice, by the parent and by the child.
        sys.stdout.flush()
        sys.stderr.flush()
        # A signal that came to the child before it has let go of our handlers would be lost.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, CAUGHT)
        try:
            pid = os.fork()
        finally:
            # In the child they stay blocked until the parent's handlers are gone.
            if os.getpid() == self._pid:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if pid:
            return pid
        code = 70
        try:
            self._reset_signals()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            code = live()
        except BaseException:  # noqa: BLE001 - a child must never return into its parent's code
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            # Not ``sys.exit``: what the parent has registered for its end is not to run here.
            os._exit(code)

    def _reap_children(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._tethers.forget(pid)
            loop = self._loop
            if loop is not None and pid == loop.pid:
                self._loop_ended(loop, status)
            # A child of an earlier loop is only reaped: each loop counts its children anew.
            elif loop is not None and pid in loop.children:
                self._tell_loop(loop, {"number": loop.children.pop(pid), "status": status})

    def _tell_loop(self, loop: _Loop, message: dict[str, Any]) -> None:
        """Report to the loop; it sees a child's end by its pipe too, so a lost one costs little."""
        with contextlib.suppress(OSError):
            loop.control.send(pack_bin(message))


def _live_as_loop(setup: Setup, control: socket.socket, grains: socket.socket) -> int:
    """Load and be the loop.

    asyncio and hashlib would each load the system's OpenSSL, beside the one in ``cryptography``,
    for TLS and hashes that the loop does not use or has from Python itself: a megabyte.
    """
    modules: dict[str, Any] = sys.modules
    modules["ssl"] = modules["_hashlib"] = None  # "there is no such module", as documented
    import asyncio  # noqa: F401 - now, without TLS

    del modules["ssl"]
    from saltlite.minion.minion import run_loop

    return run_loop(setup, control, grains)


def preload(config: MinionConfig) -> None:
    """Import what every job needs, once, before the forks share it."""
    import saltlite.host
    import saltlite.loader.registry  # noqa: F401 - loading it is the point

    if config.returns.return_:
        from saltlite.jobs.deliver import returner_names
        from saltlite.loader.returners import preload_drivers

        names = returner_names(None, config.returns.return_)
        preload_drivers(set(names).difference(config.modules.disable_returners))


def _ignore_signal(_number: int, _frame: FrameType | None) -> None:
    """Only wake the select."""


def _describe_end(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was ended by {signal_name(os.WTERMSIG(status))}"
    return f"ended with exit code {os.waitstatus_to_exitcode(status)}"
