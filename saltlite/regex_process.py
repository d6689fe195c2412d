"""Matches regular expressions that may take long, in a process that can be ended.

One child (:mod:`saltlite.regex_child`) for each process that needs one, made with the first such
expression; it ends after an idle minute, and with its parent. A question may take ``LIMIT_S`` of
the processor's time; the kernel ends the child that takes more, and the next question gets another
one. All questions about one expression may take ``TOGETHER_S`` within ``REMEMBERED_S``: after that
it is refused unasked, so that asking about ten thousand minions, or again and again, costs no more.

A fork gets a child of its own. Threads stand in line.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import struct
import sys
import threading
import time
from collections import OrderedDict
from typing import Any, Final

from saltlite.core.patterns import LIMIT_S
from saltlite.errors import PatternTooSlow

WAIT_S: Final = 5.0
"""What a question may take of the wall's time: the machine may be busy."""

TOGETHER_S: Final = 2.0
REMEMBERED_S: Final = 60.0
REMEMBERED: Final = 1000
"""Expressions of which it is known what they took."""

ANSWER_LIMIT_BYTES: Final = 512 * 1024 * 1024

_LENGTH: Final = struct.Struct(">I")
_CHILD: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "regex_child.py")


class _ChildGone(Exception):
    """The child ended before it answered. ``too_slow``: by the kernel, since its time was over."""

    def __init__(self, *, too_slow: bool) -> None:
        self.too_slow = too_slow
        super().__init__()


class RegexProcess:
    """The way to one child. ``ask`` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = 0
        self._to = self._from = -1
        self._taken: OrderedDict[tuple[str, int], tuple[float, float]] = OrderedDict()

    def ask(
        self,
        how: str,
        expression: str,
        flags: int,
        text: str,
        value: str = "",
        limit_s: float = LIMIT_S,
    ) -> Any:
        """Groups of the match or ``None``; with ``sub``, the text with ``value`` for each match.

        Raises:
            PatternTooSlow: it takes too long, or cannot be asked.
            re.error: ``re`` has something against it.
        """
        key = (expression, flags)
        with self._lock:
            together_s = max(limit_s, TOGETHER_S)
            left_s = min(limit_s, together_s - self._time_taken_by(key))
            if left_s <= 0:
                raise _too_slow(expression, limit_s)
            question = json.dumps([how, expression, flags, text, value, left_s]).encode()
            try:
                reply = self._ask_twice(question, left_s)
            except _ChildGone as error:
                self._note_time(key, together_s)
                raise _too_slow(expression, limit_s) from error
            except OSError as error:
                self._end_child()
                reason = f"{expression!r:.80} cannot be matched: {error.strerror}"
                raise PatternTooSlow(reason) from error
            if len(reply) == 1:
                raise re.error(str(reply[0]))
            self._note_time(key, reply[1])
            return reply[0]

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._end_child()

    # --- what was taken ------------------------------------------------------------------

    def _time_taken_by(self, key: tuple[str, int]) -> float:
        taken_s, since_s = self._taken.get(key, (0.0, 0.0))
        return taken_s if time.monotonic() - since_s < REMEMBERED_S else 0.0

    def _note_time(self, key: tuple[str, int], more_s: float) -> None:
        taken_s = self._time_taken_by(key)
        since_s = self._taken[key][1] if taken_s else time.monotonic()
        self._taken[key] = (taken_s + more_s, since_s)
        self._taken.move_to_end(key)
        while len(self._taken) > REMEMBERED:
            self._taken.popitem(last=False)

    # --- the child -----------------------------------------------------------------------

    def _ask_twice(self, question: bytes, limit_s: float) -> list[Any]:
        """Once more if the child had ended by itself: it does when idle."""
        if self._pid:
            try:
                return self._exchange_once(question, limit_s)
            except _ChildGone as error:
                if error.too_slow:
                    raise
        self._start_child()
        return self._exchange_once(question, limit_s)

    def _exchange_once(self, question: bytes, limit_s: float) -> list[Any]:
        until_s = time.monotonic() + max(WAIT_S, 2 * limit_s)
        try:
            self._send_data(_LENGTH.pack(len(question)) + question, until_s)
            size = _LENGTH.unpack(self._receive_data(_LENGTH.size, until_s))[0]
            if size > ANSWER_LIMIT_BYTES:
                raise TimeoutError
            reply = json.loads(self._receive_data(size, until_s))
        except TimeoutError as error:
            self._end_child()
            raise _ChildGone(too_slow=True) from error
        except (EOFError, BrokenPipeError) as error:
            raise _ChildGone(too_slow=self._end_child() == signal.SIGPROF) from error
        return list(reply)

    def _send_data(self, data: bytes, until_s: float) -> None:
        view = memoryview(data)
        while view:
            self._wait_for(self._to, select.POLLOUT, until_s)
            view = view[os.write(self._to, view) :]

    def _receive_data(self, size: int, until_s: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait_for(self._from, select.POLLIN, until_s)
            part = os.read(self._from, min(size - len(data), 1 << 20))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def _wait_for(self, fd: int, events: int, until_s: float) -> None:
        poll = select.poll()
        poll.register(fd, events)
        if not poll.poll(max(0.0, until_s - time.monotonic()) * 1000):
            raise TimeoutError

    def _start_child(self) -> None:
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        os.set_blocking(self._to, False)
        null = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        try:
            self._pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", _CHILD],
                {},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs_in, 0),
                    (os.POSIX_SPAWN_DUP2, theirs_out, 1),
                    null,
                ],
                setsigmask=[],
                setsigdef=[signal.SIGTERM, signal.SIGINT, signal.SIGPIPE],
            )
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def _end_child(self) -> int:
        """Let go of the child; the number of the signal that had ended it, 0 if none had."""
        for fd in (self._to, self._from):
            if fd >= 0:
                os.close(fd)
        self._to = self._from = -1
        pid, self._pid = self._pid, 0
        if not pid:
            return 0
        found, status = os.waitpid(pid, os.WNOHANG)
        if not found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0

    def let_go(self) -> None:
        """In a fork: close what leads to the parent's child."""
        for fd in (self._to, self._from):
            if fd >= 0:
                os.close(fd)
        self._to = self._from = -1


def _too_slow(expression: str, limit_s: float) -> PatternTooSlow:
    return PatternTooSlow(f"the expression {expression!r:.80} takes more than {limit_s:g} s")


_process: RegexProcess = RegexProcess()


def _begin_anew() -> None:
    global _process
    _process.let_go()
    _process = RegexProcess()


os.register_at_fork(after_in_child=_begin_anew)


def ask(how: str, expression: str, flags: int, text: str, value: str, limit_s: float, /) -> Any:
    """Ask the one child of this process; see :meth:`RegexProcess.ask`."""
    return _process.ask(how, expression, flags, text, value, limit_s)
