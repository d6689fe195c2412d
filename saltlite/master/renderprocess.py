"""A process that renders for another one, and may be lost while it does.

Whoever has ZeroMQ must not fork, and a template may never end. So before its sockets are opened the
caller forks a keeper, which does nothing but fork the process that renders, and fork it again when
that one is gone. A request that takes longer than the limit ends the process that renders: the
kernel does it, whatever the template is at. The keeper then says so in its place.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from saltlite import process
from saltlite.errors import StoreError, WireError
from saltlite.master.child import Life
from saltlite.transport.codec import pack_bin, unpack_bin

log = logging.getLogger(__name__)

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Answers one request; made in the process that renders."""

MARGIN_S: Final = 5.0
"""How much longer than the limit the caller waits: the process may have to be forked first."""

FRAME_LIMIT: Final = 256 * 1024 * 1024
BACK_OFF_S: Final = 0.5
_LENGTH = struct.Struct(">I")
_LOST: Final = {"lost": True}


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
            _live(lambda: self._keep(theirs, parent), life, ours)
        theirs.close()
        self._socket = ours

    def ask(self, request: Mapping[str, Any], life: Life) -> Mapping[str, Any]:
        """The answer, or ``{"lost": True}`` if the process ended over it.

        Raises:
            StoreError: nobody answers; the caller cannot go on.
        """
        connection = self._socket
        assert connection is not None  # noqa: S101 - it was started
        self._number += 1
        until_s = time.monotonic() + self._limit_s + MARGIN_S
        try:
            _drain(connection)
            _send(connection, {"number": self._number, **request})
            while _is_readable(connection, until_s, life):
                answer = _receive(connection)
                if answer.get("number", self._number) == self._number:
                    return answer
        except (OSError, WireError) as error:
            raise StoreError(f"the process that renders is gone: {error}") from error
        raise StoreError("the process that renders does not answer")

    # --- in the keeper, and in the process that renders --------------------------------------

    def _keep(self, connection: socket.socket, parent: int) -> None:
        process.die_with_parent(parent, signal.SIGKILL)
        process.set_title(f"{self._title} keeper")
        keeper = os.getpid()
        while True:
            began_s = time.monotonic()
            pid = os.fork()
            if not pid:
                process.die_with_parent(keeper, signal.SIGKILL)
                process.set_title(self._title)
                self._render(connection)
                return
            _pid, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            if code:
                how = process.signal_name(-code) if code < 0 else f"exit code {code}"
                log.error("%s ended with %s; it is started again", self._title, how)
            _send(connection, _LOST)
            if time.monotonic() - began_s < BACK_OFF_S:
                time.sleep(BACK_OFF_S)

    def _render(self, connection: socket.socket) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        answer = self._make()
        while True:
            request = _receive(connection)
            # Should the template have its own idea of this signal, the caller's patience ends it.
            signal.setitimer(signal.ITIMER_REAL, self._limit_s)
            packed = _pack({"number": request.get("number"), **answer(request)})
            signal.setitimer(signal.ITIMER_REAL, 0)
            connection.sendall(packed)


def _live(work: Callable[[], None], life: Life, ours: socket.socket) -> None:
    """A forked process' whole life; never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM, signal.SIGTERM})
        life.let_go()
        ours.close()
        work()
        code = 0
    except (BrokenPipeError, ConnectionResetError, WireError) as error:  # the caller is gone
        log.debug("%s", error)
        code = 0
    except BaseException:
        log.exception("a process that renders")
    finally:
        logging.shutdown()
        os._exit(code)


def _pack(value: Mapping[str, Any]) -> bytes:
    packed = pack_bin(value)
    return _LENGTH.pack(len(packed)) + packed


def _send(connection: socket.socket, value: Mapping[str, Any]) -> None:
    connection.sendall(_pack(value))


def _receive(connection: socket.socket) -> dict[str, Any]:
    size = _LENGTH.unpack(_exactly(connection, _LENGTH.size))[0]
    if size > FRAME_LIMIT:
        raise WireError(f"a frame of {size} bytes")
    value: Any = unpack_bin(_exactly(connection, size))
    if not isinstance(value, dict):
        raise WireError("not a map")
    return value


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise WireError("the connection ended")
        parts += part
    return bytes(parts)


def _drain(connection: socket.socket) -> None:
    """Take what was said about requests that nobody waits for any more."""
    with contextlib.suppress(BlockingIOError):
        while select.select([connection], [], [], 0)[0]:
            _receive(connection)


def _is_readable(connection: socket.socket, until_s: float, life: Life) -> bool:
    """Wait, and show life meanwhile."""
    while (left_s := until_s - time.monotonic()) > 0:
        life.beat()
        if select.select([connection], [], [], min(left_s, 1.0))[0]:
            return True
    return False
