"""States that run beside the others, each in a process of its own that is forked for it.

A child has all that the run has, as it was at the fork; what it changes in there is its own. What
it wants of the master, of the event bus and of the table of jobs goes through a socket pair to the
run, where a thread for each child sees to it: nobody else may use those connections. Messages are
four bytes of length (big endian) and a msgpack map::

    {"ask": "request", "with": [...]}     -> {"said": ...} or {"not": "<text>"}; also fire, running,
    {"answer": {...}}                     signal. The answer is the last one
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from typing import Any, NoReturn

from saltlite.context import JobTable, MasterLink, MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.plain import Plain, PlainMap
from saltlite.core.services import EventSink
from saltlite.errors import SaltliteError
from saltlite.fileserver.client import STATE_KEY
from saltlite.process import die_with_parent, prepare_to_die_with_parent, signal_name
from saltlite.transport.codec import pack_bin, unpack_bin  # now: no import may be on while we fork

log = logging.getLogger(__name__)

Answer = dict[str, Any]
"""What a process came to, as it travels: the return of a state, the results of tests."""

AT_ONCE = 16
"""So many at once where ``state_max_parallel`` says nothing; Salt knows no bound then."""

INTERRUPTED = 130
_LENGTH = struct.Struct(">I")


def may_fork() -> bool:
    """Whether a state can have a process: not where jobs are threads of the minion's loop."""
    return threading.current_thread() is threading.main_thread()


@dataclass(slots=True)
class _Child:
    """A state that goes on. ``answer`` stays ``None`` if its process came to a bad end."""

    pid: int
    sock: socket.socket
    number: int
    thread: threading.Thread | None = None
    answer: Answer | None = None
    status: int = 0
    has_ended: bool = False


@dataclass(slots=True)
class Beside:
    """The states of one run that go on in processes of their own, at most ``at_once``."""

    ctx: MinionContext
    at_once: int = AT_ONCE
    _children: dict[str, _Child] = field(default_factory=dict)
    _doors: _Doors | None = None
    _news: threading.Condition = field(default_factory=threading.Condition)

    def __contains__(self, tag: str) -> bool:
        return tag in self._children

    def __len__(self) -> int:
        return len(self._children)

    def start(self, tag: str, number: int, work: Callable[[], Answer]) -> None:
        """Let ``work`` make the answer of a state. There must be a free place."""
        if self._doors is None:
            prepare_to_die_with_parent()
            self._doors = _Doors.shut(self.ctx)
        ours, theirs = socket.socketpair()
        # What is still buffered would be written twice, by us and by the child.
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        run = os.getpid()
        with self._doors.lock:  # so that no thread holds it in the child
            pid = os.fork()
            if pid == 0:
                _run_child(self.ctx, theirs, work, run)
        theirs.close()
        child = _Child(pid, ours, number)
        child.thread = threading.Thread(
            target=_serve_child, args=(child, self._doors, self._news), daemon=True
        )
        child.thread.start()
        self._children[tag] = child

    def take_ended(self) -> list[str]:
        """Those that have their answer, in the order in which they began."""
        return [tag for tag, child in self._children.items() if child.has_ended]

    def number(self, tag: str) -> int:
        """The ``__run_num__`` that a state began with."""
        return self._children[tag].number

    def next(self) -> str:
        """Wait until one of them has its answer; of several the one that began first."""
        with self._news:
            while not (ended := self.take_ended()):
                self._news.wait()
        return ended[0]

    def answer(self, tag: str) -> Answer | str:
        """Wait for the answer of a state; a sentence if its process was ended without one."""
        child = self._children.pop(tag)
        if child.thread is not None:
            child.thread.join()
        # Without children the run need not go through the lock any more.
        if not self._children and self._doors is not None:
            self._doors.open(self.ctx)
            self._doors = None
        if child.answer is not None:
            return child.answer
        return f"The process of this state {_end_of(child.status)}."

    def kill(self) -> None:
        """End those that go on: the run itself comes to its end."""
        for tag, child in list(self._children.items()):
            if not child.has_ended:
                # It may have ended since the look above.
                with suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGTERM)
            self.answer(tag)


def _end_of(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was ended by {signal_name(os.WTERMSIG(status))}"
    return f"ended with exit code {os.waitstatus_to_exitcode(status)}"


# --- the run's side ------------------------------------------------------------------------------


class _Doors:
    """What both the run and its children use of the outside, by one at a time."""

    def __init__(self, ctx: MinionContext) -> None:
        # One at a time: the link to the master carries one request and its reply.
        self.lock = threading.RLock()
        self._before = (ctx.master, ctx.events, ctx.jobs)

    @classmethod
    def shut(cls, ctx: MinionContext) -> _Doors:
        """Let the run itself take its turn, too."""
        doors = cls(ctx)
        _use_channel(ctx, doors, has_master=ctx.master is not None)
        return doors

    def open(self, ctx: MinionContext) -> None:
        """Give the run its own connections back."""
        ctx.master, ctx.events, ctx.jobs = self._before
        _forget_files(ctx)

    def ask(self, what: str, *given: Any) -> Any:
        """Do what a child or the run wants of the outside."""
        master, events, jobs = self._before
        with self.lock:
            if what == "request" and master is not None:
                return master.request(*given)
            if what == "fire":
                return events.fire(*given)
            return jobs.signal(*given) if what == "signal" else jobs.running()


def _serve_child(child: _Child, doors: _Doors, news: threading.Condition) -> None:
    """Do what a child asks for until it has its answer, or has gone."""
    try:
        while child.answer is None and (message := _receive_message(child.sock)) is not None:
            if "answer" in message:
                child.answer = message["answer"]
                continue
            try:
                said = {"said": doors.ask(message["ask"], *message["with"])}
            except SaltliteError as error:
                said = {"not": str(error)}
            _send_message(child.sock, said)
    except OSError as error:
        log.debug("a parallel state has gone: %s", error)
    finally:
        child.sock.close()
        # Nobody else waits for it: without this it would stay a zombie as long as the run.
        child.status = os.waitpid(child.pid, 0)[1]
        with news:
            child.has_ended = True
            news.notify()


# --- the child's side ----------------------------------------------------------------------------


def _run_child(
    ctx: MinionContext, sock: socket.socket, work: Callable[[], Answer], run: int
) -> NoReturn:
    """The life of a child: never back into the code of the run."""
    code = 1
    try:
        signal.signal(signal.SIGTERM, _stop_child)
        die_with_parent(run, signal.SIGTERM)
        _use_channel(ctx, _Far(sock), has_master=ctx.master is not None)
        _send_message(sock, {"answer": work()})
        code = 0
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException:  # a forked child must never return into its parent's code
        log.exception("a parallel state came to a bad end")
    finally:
        try:
            ctx.host.close()
        finally:
            os._exit(code)


def _stop_child(_number: int, _frame: object) -> NoReturn:
    """Unwind, so that commands are ended too."""
    raise KeyboardInterrupt


class _Far:
    """The outside as a child reaches it: through its run."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()

    def ask(self, what: str, *given: Any) -> Any:
        """Ask the run, and wait for what it says; raises SaltliteError."""
        with self._lock:
            _send_message(self._sock, {"ask": what, "with": list(given)})
            said = _receive_message(self._sock)
        if said is None:
            raise SaltliteError("the run of states has gone away")
        if "not" in said:
            raise SaltliteError(str(said["not"]))
        return said["said"]


# --- both ----------------------------------------------------------------------------------------


class _Asked(MasterLink, EventSink, JobTable):
    """The master, the bus and the jobs by way of something else."""

    def __init__(self, way: _Doors | _Far) -> None:
        self._way = way

    def request(self, load: PlainMap) -> Plain:
        reply: Plain = self._way.ask("request", load)
        return reply

    def fire(self, tag: str, data: PlainMap) -> None:
        self._way.ask("fire", tag, data)

    def running(self) -> list[PlainMap]:
        jobs: list[PlainMap] = self._way.ask("running")
        return jobs

    def signal(self, jid: str, number: int) -> str:
        return str(self._way.ask("signal", jid, number))


def _use_channel(ctx: MinionContext, way: _Doors | _Far, *, has_master: bool) -> None:
    asked = _Asked(way)
    # Everything that a state does goes by the context, so this is all that is to be turned.
    ctx.master = asked if has_master else None
    ctx.events, ctx.jobs = asked, asked
    _forget_files(ctx)


def _forget_files(ctx: MinionContext) -> None:
    """The client of the master's files keeps the way that it was made with."""
    if ctx.master is not None:
        ctx.state.pop(STATE_KEY, None)


def _send_message(sock: socket.socket, message: dict[str, Any]) -> None:
    body = pack_bin(_as_plain(message))
    sock.sendall(_LENGTH.pack(len(body)) + body)


def _as_plain(value: object) -> Any:
    """The value in types that travel: a custom state may give back anything."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, Mapping):
        return {_as_plain(key): _as_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, Set)):
        return [_as_plain(item) for item in value]
    return str(value)


def _receive_message(sock: socket.socket) -> dict[str, Any] | None:
    """One message; ``None`` if nobody is at the other end."""
    head = _receive_exactly(sock, _LENGTH.size)
    body = head and _receive_exactly(sock, _LENGTH.unpack(head)[0])
    if not body:
        return None
    message = unpack_bin(body)
    return message if isinstance(message, dict) else None


def _receive_exactly(sock: socket.socket, size: int) -> bytes:
    """So many bytes; none at the end."""
    parts = bytearray()
    while len(parts) < size:
        # In parts: recv makes room for as much as it is asked for, before any of it has come.
        part = sock.recv(min(size - len(parts), 1 << 20))
        if not part:
            return b""
        parts += part
    return bytes(parts)
