"""A process that renders for another one, and may be lost while it does.

Whoever has ZeroMQ must not fork, and a template may never end. So before its sockets are opened the
caller forks a keeper, which does nothing but fork the process that renders, and fork it again when
that one is gone. A request that takes longer than the limit ends the process that renders: the
kernel does it, whatever the template is at. The keeper then says so in its place.

Where what renders cannot be made, the process that was to render says so to who asks, for a while
that grows each time; then it is forked again.

A frame is a number, eight bytes, and a map. What cannot be read of the map is an error that is
answered; it costs neither process its life.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from saltlite import process
from saltlite.core.dataclasses import replace
from saltlite.core.readable import wait_readable
from saltlite.errors import StoreError, WireError
from saltlite.master.child import Life
from saltlite.master.handover import ConnectionEnded, receive_frame, send_frame
from saltlite.transport.codec import DEFAULT_LIMITS, pack_bin, unpack_bin

log = logging.getLogger(__name__)

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Answers one request; made in the process that renders."""

MARGIN_S: Final = 5.0
"""How much longer than the limit the caller waits: the process may have to be forked first."""

FRAME_LIMIT: Final = 256 * 1024 * 1024
BACK_OFF_S: Final = 0.5
LONGEST_PAUSE_S: Final = 60.0
CANNOT_RENDER: Final = 3
"""The exit code of a process that could not make what renders."""

LIMITS: Final = replace(
    DEFAULT_LIMITS,
    depth=DEFAULT_LIMITS.depth + 10,
    keys=DEFAULT_LIMITS.keys + 10,
    items=DEFAULT_LIMITS.items + 10,
)
"""Of a map that is sent: what is within the bounds of the bus or of a file is an item of it."""

NO_NUMBER: Final = 0
"""Of a frame that answers whatever was asked."""

_NUMBER = struct.Struct(">Q")
_LOST: Final = {"lost": True}


class RendererGone(StoreError):
    """Nobody answers any more; the caller cannot go on."""


class RenderProcess:
    """The caller's end: asks one thing after the other."""

    def __init__(self, title: str, make: Callable[[], Answer], limit_s: float) -> None:
        """Prepare; ``make`` is called in the process that renders, at its start."""
        self._title = title
        self._make = make
        self._limit_s = limit_s
        self._number = 0
        self._socket: socket.socket | None = None

    def start(self, life: Life) -> None:
        """Fork the keeper; before the caller has any thread."""
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        process.prepare_to_die_with_parent()
        process.prepare_to_fork()
        if not os.fork():
            _run_forked(lambda: self._keep_renderer(theirs, parent), life, ours)
        theirs.close()
        self._socket = ours

    def ask(self, request: Mapping[str, object], life: Life) -> Mapping[str, Any]:
        """The answer; ``{"lost": True}`` if the process ended over it.

        ``{"error": why}`` where the request or the answer cannot be sent.

        Raises:
            RendererGone: nobody answers; the caller cannot go on.
        """
        connection = self._socket
        assert connection is not None  # noqa: S101 - it was started
        self._number += 1
        until_s = time.monotonic() + self._limit_s + MARGIN_S
        try:
            packed = _pack_frame(self._number, request)
        except WireError as error:
            return {"error": f"the request cannot be sent: {error}"}
        try:
            # A loss has no number: one of an earlier request would pass for this one's answer.
            _drop_stale(connection)
            send_frame(connection, packed)
            while _is_readable(connection, until_s, life):
                number, body = _receive_frame(connection)
                if number in (self._number, NO_NUMBER):
                    return _read_answer(body)
        except (OSError, WireError) as error:
            raise RendererGone(f"the process that renders is gone: {error}") from error
        raise RendererGone("the process that renders does not answer")

    # --- in the keeper, and in the process that renders --------------------------------------

    def _keep_renderer(self, connection: socket.socket, parent: int) -> int:
        process.die_with_parent(parent, signal.SIGKILL)
        process.set_title(f"{self._title} keeper")
        keeper, failures = os.getpid(), 0
        while True:
            began_s = time.monotonic()
            pid = os.fork()
            if not pid:
                process.die_with_parent(keeper, signal.SIGKILL)
                process.set_title(self._title)
                return self._serve_renderings(connection, failures)
            _pid, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            if code == CANNOT_RENDER:  # it has paused, and answered who asked
                failures += 1
                continue
            failures = 0
            self._report_end(code, connection)
            # One that dies at once would have the keeper fork without a pause.
            if time.monotonic() - began_s < BACK_OFF_S:
                time.sleep(BACK_OFF_S)

    def _report_end(self, code: int, connection: socket.socket) -> None:
        if code:
            how = process.signal_name(-code) if code < 0 else f"exit code {code}"
            log.error("%s ended with %s; it is started again", self._title, how)
        send_frame(connection, _pack_frame(NO_NUMBER, _LOST))

    def _serve_renderings(self, connection: socket.socket, failures: int) -> int:
        """Answer until the caller is gone; the exit code, if there is nothing to answer with."""
        # By its default the kernel ends the process; a handler would wait for the template.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        try:
            answer = self._make()
        except Exception as error:
            pause_s = min(BACK_OFF_S * 2.0 ** min(failures, 10), LONGEST_PAUSE_S)
            log.exception("%s cannot start; it is tried again in %g s", self._title, pause_s)
            _refuse_for_a_while(connection, f"nothing can be rendered: {error}", pause_s)
            return CANNOT_RENDER
        while True:
            number, body = _receive_frame(connection)
            # Should the template have its own idea of this signal, the caller's patience ends it.
            signal.setitimer(signal.ITIMER_REAL, self._limit_s)
            packed = _answer_packed(answer, number, body)
            signal.setitimer(signal.ITIMER_REAL, 0)
            send_frame(connection, packed)


def _run_forked(work: Callable[[], int], life: Life, ours: socket.socket) -> None:
    """A forked process' whole life; never returns. ``work`` returns the exit code."""
    code = 1
    try:
        # The pipe is the caller's, whose loop would wake up for a signal to this process.
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        # A blocked SIGALRM, which a fork inherits, would end nothing.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM, signal.SIGTERM})
        life.let_go()
        ours.close()
        code = work()
    except (BrokenPipeError, ConnectionResetError, ConnectionEnded) as error:  # the caller is gone
        log.debug("%s", error)
        code = 0
    except BaseException:
        log.exception("a process that renders")
    finally:
        logging.shutdown()
        # Not sys.exit, which would run what the caller has in store for its own end.
        os._exit(code)


def _refuse_for_a_while(connection: socket.socket, why: str, pause_s: float) -> None:
    """Answer everybody with an error, for so long."""
    until_s = time.monotonic() + pause_s
    while (left_s := until_s - time.monotonic()) > 0:
        if wait_readable(connection, left_s):
            number, _body = _receive_frame(connection)
            send_frame(connection, _pack_frame(number, {"error": why}))


def _answer_packed(answer: Answer, number: int, body: bytes) -> bytes:
    """The frame that answers a request; what cannot be read or sent is an error in it."""
    try:
        return _pack_frame(number, answer(_unpack_frame(body)))
    except WireError as error:
        return _pack_frame(
            number, {"error": f"what it renders with, or to, cannot be sent: {error}"}
        )


def _read_answer(body: bytes) -> dict[str, Any]:
    try:
        return _unpack_frame(body)
    except WireError as error:
        return {"error": f"what it renders to cannot be sent: {error}"}


def _pack_frame(number: int, value: Mapping[str, object]) -> bytes:
    packed = pack_bin(value)
    if len(packed) > FRAME_LIMIT - _NUMBER.size:
        raise WireError(f"a frame of {len(packed)} bytes")
    return _NUMBER.pack(number) + packed


def _unpack_frame(body: bytes) -> dict[str, Any]:
    value: Any = unpack_bin(body, LIMITS)
    if not isinstance(value, dict):
        raise WireError("not a map")
    return value


def _receive_frame(connection: socket.socket) -> tuple[int, bytes]:
    """The number of a frame, and the map in it, packed."""
    frame = receive_frame(connection, FRAME_LIMIT)
    if len(frame) < _NUMBER.size:
        raise WireError(f"a frame of {len(frame)} bytes")
    return _NUMBER.unpack_from(frame)[0], frame[_NUMBER.size :]


def _drop_stale(connection: socket.socket) -> None:
    """Take what was said about requests that nobody waits for any more."""
    with contextlib.suppress(BlockingIOError):
        while wait_readable(connection, 0):
            _receive_frame(connection)


def _is_readable(connection: socket.socket, until_s: float, life: Life) -> bool:
    """Wait, and show life meanwhile."""
    while (left_s := until_s - time.monotonic()) > 0:
        life.beat()
        if wait_readable(connection, min(left_s, 1.0)):
            return True
    return False
