"""What the people at this machine's shells run, from ``strace`` of each shell.

A tracer that writes to a full pipe holds up the shell that it traces; so a thread for each reads
at once, and keeps a bounded number of commands until they are asked for. Tracers end with the
process that started them, however that ends; a shell whose tracer ends goes on.
Source: strace(1), shells(5); which processes are shells was observed on Salt 3006.30.
"""

from __future__ import annotations

import logging
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO, Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers.status import processes

log = logging.getLogger(__name__)

SHELLS_FILE: Final = "/etc/shells"
TRACERS_LIMIT: Final = 100
"""So many shells at a time; each costs a process and a thread."""

COMMANDS_LIMIT: Final = 1000
"""So many commands of one shell are kept between two looks; the oldest are dropped."""

LINE_LIMIT_BYTES: Final = 64 * 1024
STRING_BYTES: Final = 1024
"""So much of one argument is told; strace's own 32 would cut most paths."""

RETRY_S: Final = 60.0
"""A shell that cannot be traced, somebody else's perhaps, is tried again so much later."""

END_WAIT_S: Final = 1.0

_CALL: Final = regex(r"^(?:\[pid +\d+\] )?execve\(")
_TEXT: Final = regex(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Command:
    """A program that was run below the shell ``pid`` of ``user``; ``args`` begin with its name."""

    pid: str
    user: str
    cmd: str
    args: tuple[str, ...]


def parse_execve(line: str) -> tuple[str, tuple[str, ...]] | None:
    """Return path and arguments of a line of strace, as it writes them; ``None`` if it is no call.

    Whether the call worked does not matter. The second half of one that was interrupted is none.
    """
    call = _CALL.search(line)
    if call is None:
        return None
    path = _TEXT.match(line, call.end())
    if path is None:  # an address: what it pointed to could not be read
        return None
    args = line.find("[", path.end())
    return path.group(1), tuple(_parse_args(line, args + 1)) if args >= 0 else ()


def _parse_args(line: str, start: int) -> Iterator[str]:
    """The texts of a list that begins at ``start``; ``...`` after one says that it was cut."""
    while (found := _TEXT.match(line, start)) is not None:
        yield found.group(1)
        start = found.end()
        if line.startswith("...", start):
            start += 3
        if not line.startswith(", ", start):
            return
        start += 2


def find_shells(host: Host) -> dict[str, str]:
    """Return pid → user of every process that is nothing but a shell of ``/etc/shells``.

    That is one whose command line is the shell alone: ``bash``, ``-bash``, ``/bin/bash``.
    """
    lines = (host.read_text(SHELLS_FILE) or "").splitlines()
    paths = {line.strip() for line in lines if line.strip() and not line.strip().startswith("#")}
    names = paths | {path.rpartition("/")[2] for path in paths}
    there = processes.read(host)
    return {pid: one["user"] for pid, one in there.items() if one["cmd"].removeprefix("-") in names}


class ShellWatch:
    """The tracers of all shells there are."""

    def __init__(self, host: Host, now_s: Callable[[], float]) -> None:
        """Raises FunctionError: there is no ``strace``."""
        program = host.which("strace")
        if program is None:
            raise FunctionError("strace is missing.")
        self._program = program
        self._host = host
        self._now_s = now_s
        self._tracers: dict[str, _Tracer] = {}
        self._later: dict[str, float] = {}
        self._is_full = False

    def follow(self) -> None:
        """Trace the shells that have come since."""
        found = find_shells(self._host)
        self._later = {pid: at_s for pid, at_s in self._later.items() if pid in found}
        fresh = [pid for pid in found if pid not in self._tracers and self._is_due(pid)]
        room = TRACERS_LIMIT - len(self._tracers)
        if len(fresh) > room and not self._is_full:
            log.error("only %d of %d shells are traced", TRACERS_LIMIT, len(found))
        self._is_full = len(fresh) > room
        for pid in fresh[: max(0, room)]:
            self._tracers[pid] = self._start_tracer(pid, found[pid])

    def commands(self) -> list[Command]:
        """Return what was run since the last look, by shell; forget tracers that have ended."""
        found: list[Command] = []
        for pid, tracer in list(self._tracers.items()):
            has_ended = not tracer.thread.is_alive()  # before the look: what it read is there
            found += tracer.take()
            if has_ended:
                del self._tracers[pid]
                self._end_tracer(tracer)
                self._later[pid] = self._now_s() + RETRY_S
        return found

    def close(self) -> None:
        """End all tracers; their shells go on."""
        tracers, self._tracers = list(self._tracers.values()), {}
        for tracer in tracers:
            tracer.child.terminate()  # it lets go of the shell then
        for tracer in tracers:
            self._end_tracer(tracer)

    def _is_due(self, pid: str) -> bool:
        return self._later.get(pid, 0.0) <= self._now_s()

    def _start_tracer(self, pid: str, user: str) -> _Tracer:
        self._host.will_await()
        options = ("-f", "-qq", "-e", "trace=execve", "-e", "signal=none", "-s", str(STRING_BYTES))
        child = subprocess.Popen(
            [self._program, *options, "-p", pid],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        )
        self._host.awaits(child.pid)  # it ends when we do, however we end
        tracer = _Tracer(pid, user, child)
        tracer.thread.start()
        return tracer

    def _end_tracer(self, tracer: _Tracer) -> None:
        try:
            tracer.child.wait(END_WAIT_S)
        except subprocess.TimeoutExpired:
            tracer.child.kill()
            tracer.child.wait()
        tracer.thread.join(END_WAIT_S)
        self._host.awaits_no_more(tracer.child.pid)


@dataclass(slots=True)
class _Tracer:
    """One strace, and the thread that reads it."""

    pid: str
    user: str
    child: subprocess.Popen[bytes]
    thread: threading.Thread = field(init=False)
    _commands: deque[Command] = field(default_factory=deque, init=False)
    _lock: Any = field(default_factory=threading.Lock, init=False)
    _dropped: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        assert self.child.stderr is not None  # noqa: S101 - its maker has asked for it
        self.thread = threading.Thread(
            target=self._read_lines, args=(self.child.stderr,), daemon=True
        )

    def take(self) -> list[Command]:
        """The commands that were read since the last call."""
        with self._lock:
            found, dropped = list(self._commands), self._dropped
            self._commands.clear()
            self._dropped = 0
        if dropped:
            log.error("%d commands of the shell %s are not told: too many", dropped, self.pid)
        return found

    def _read_lines(self, lines: IO[bytes]) -> None:
        with lines:
            while line := lines.readline(LINE_LIMIT_BYTES):
                called = parse_execve(line.decode("utf-8", "replace"))
                if called is not None:
                    self._keep_command(Command(self.pid, self.user, *called))

    def _keep_command(self, command: Command) -> None:
        with self._lock:
            self._commands.append(command)
            if len(self._commands) > COMMANDS_LIMIT:
                self._commands.popleft()
                self._dropped += 1
