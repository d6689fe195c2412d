"""Events on their way from EventPublisher to EventReturn: every one, in order, until it is given.

A subscriber that is slow loses what goes beyond the bound of its socket, and the bus has to go
on. What ``event_return`` keeps is to have no such gaps, so EventReturn is no subscriber: it has a
socket of its own, and acknowledges what returners have been given. What is not acknowledged waits
here, also while EventReturn is started again, and then is sent to the new one. Beyond the bounds
the oldest events give way; they are counted and told of.

::

    EventReturn     → [token, number]          from the start, and now and then: it is there, and
                                               all events up to that number have been given
    EventPublisher  → [token, number, event]   in order, from the one after that; at most WINDOW
                                               are not acknowledged

``token`` says which process is meant: what was sent to one that has died is no use to the next. A
queue that was only bounded by its sockets (PUSH and PULL) would lose some at each stop: a libzmq
end whose own queue is full drops what the kernel holds when the other end closes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import zmq

from saltlite.core.waiting_frames import WaitingFrames
from saltlite.transport.addresses import ipc

log = logging.getLogger(__name__)

EVENTS_LIMIT: Final = 100_000
BYTES_LIMIT: Final = 128 * 1024 * 1024
COMPLAINT_S: Final = 60.0
WINDOW: Final = 2000
TOKEN_BYTES: Final = 16
NUMBER_BYTES: Final = 8


class EventQueue:
    """The line before EventReturn's socket. Nobody waits for it but at the end."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        path: Path,
        *,
        window: int = WINDOW,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``path`` is where EventReturn binds; it need not be there yet."""
        self._clock = clock
        self._window = window
        self._waiting = WaitingFrames(EVENTS_LIMIT, BYTES_LIMIT)
        # Higher than any number of a process before this one: its acknowledgements are no matter.
        self._first = time.monotonic_ns()
        self._sent = 0
        self._token = b""
        self._unsaid = 0
        self._said_s = float("-inf")
        self.socket = context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.SNDHWM, 2 * window)
        self.socket.setsockopt(zmq.RECONNECT_IVL, 50)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(ipc(path))

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, frame: bytes) -> None:
        """Put an event at the end of the line."""
        gone = self._waiting.add(frame)
        self._count_gone(gone)
        self._unsaid += gone
        if self._unsaid:
            self._complain()

    def send(self) -> None:
        """Take acknowledgements, and send what EventReturn may have now."""
        while (message := self._receive()) is not None:
            self._acknowledge(message)
        while self._token and self._sent < min(self._window, len(self._waiting)):
            number = (self._first + self._sent).to_bytes(NUMBER_BYTES, "big")
            try:
                message = [self._token, number, self._waiting[self._sent]]
                self.socket.send_multipart(message, zmq.NOBLOCK)
            except zmq.Again:
                return
            self._sent += 1

    def send_all(self, within_s: float) -> None:
        """Have everything given, at the end; what is left after that time is lost and told of."""
        deadline_s = self._clock() + within_s
        self.send()
        while self._waiting and (left_s := deadline_s - self._clock()) > 0:
            # What comes are acknowledgements, and each of them opens the window for more.
            self.socket.poll(round(left_s * 1000))
            self.send()
        if self._waiting:
            log.error("event_return: %d events at the end are lost", len(self._waiting))

    def _receive(self) -> list[bytes] | None:
        try:
            return self.socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return None

    def _acknowledge(self, message: Sequence[bytes]) -> None:
        if len(message) != 2:
            return
        token, number = message[0], int.from_bytes(message[1], "big")
        # Another process: it has nothing of what the last one was sent, so all goes again.
        if token != self._token:
            self._token, self._sent = token, 0
        given = min(len(self._waiting), max(0, number + 1 - self._first))
        self._waiting.drop(given)
        self._count_gone(given)

    def _count_gone(self, count: int) -> None:
        """The oldest are not there any more."""
        self._first += count
        # What went for want of room may not have been sent yet.
        self._sent = max(0, self._sent - count)

    def _complain(self) -> None:
        now_s = self._clock()
        if now_s - self._said_s >= COMPLAINT_S:
            log.error("event_return: %d events came too fast and are lost", self._unsaid)
            self._unsaid, self._said_s = 0, now_s


class EventIntake:
    """EventReturn's end of it."""

    def __init__(self, socket: zmq.Socket[bytes], token: bytes) -> None:
        """``socket`` is a bound DEALER; ``token`` is another one in each process."""
        self._socket = socket
        self._token = token
        self._number = 0

    def take(self, most: int) -> list[bytes]:
        """Return the events that are there already, ``most`` of them."""
        frames: list[bytes] = []
        while len(frames) < most and (message := self._receive()) is not None:
            # What was sent to the process before this one is passed over; it comes again.
            if len(message) == 3 and message[0] == self._token:
                self._number = int.from_bytes(message[1], "big")
                frames.append(message[2])
        return frames

    def _receive(self) -> list[bytes] | None:
        try:
            return self._socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return None

    def acknowledge(self) -> None:
        """Say that this process is there, and that all it has taken has been given."""
        try:
            self._socket.send_multipart(
                [self._token, self._number.to_bytes(NUMBER_BYTES, "big")], zmq.NOBLOCK
            )
        except zmq.Again:
            return  # nobody is there; it is said again
