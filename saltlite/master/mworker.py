"""MWorker: takes requests from ReqServer and answers each once, whatever it is.

One at a time while there are workers enough. When requests have to wait, ReqServer hands over
several together: they cost one wake-up, and their returns one wait for the disk. A request that
might keep the others waiting is handed back, to be asked alone, or when it may take its time.

ReqServer prefers who worked last, so on a quiet master one worker has all the work. What answers
requests is made with the first of them: a worker that never had one is a megabyte smaller.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import zmq

from saltlite.master.child import Life
from saltlite.master.lanes import ANY, unpack_turn
from saltlite.transport.addresses import MasterSockets, ipc
from saltlite.transport.bus import EVENTS_LINGER_MS
from saltlite.transport.codec import pack

log = logging.getLogger(__name__)

REQUEST_LIMIT_S: Final = 60.0
"""A request that takes longer costs the worker its life. Source: docs/security.md#limits."""

RENEW_AFTER: Final = 100_000
"""Requests after which a worker makes room for a fresh one.

Source: docs/reliability.md#processes-die.
"""

HANDLER_FAILED: Final = pack("Some exception handling minion payload")


class Answerer(Protocol):
    """What a worker needs of the dispatcher."""

    def begin(self, frame: bytes, *, alone: bool, slow: bool, came_s: float = 0.0) -> bytes | Any:
        """The reply, or what :meth:`finish` needs; see :mod:`saltlite.master.lanes`."""

    def finish(self, begun: Sequence[Any]) -> list[bytes]:
        """The replies to what has begun, in that order."""

    def rest(self) -> None:
        """Do chores between requests."""


class MWorker:
    """One request worker.

    ``make_answerer`` is called in the worker's own process, with the first request.
    """

    def __init__(
        self,
        number: int,
        sockets: MasterSockets,
        make_answerer: Callable[[Life, zmq.Context[zmq.Socket[bytes]]], Answerer],
    ) -> None:
        self._number = number
        self._sockets = sockets
        self._make_answerer = make_answerer
        self._answerer: Answerer | None = None

    def run(self, life: Life) -> None:
        """Connect, answer until told to stop, and end after the request in hand."""
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            socket = self._connect_socket(context)
            poller = zmq.Poller()
            poller.register(socket, zmq.POLLIN)
            life.register(poller)
            life.ready()
            served = 0
            # An end without an error: the supervisor starts the next one.
            while not life.stopping and served < RENEW_AFTER:
                for found, _events in life.poll(poller):
                    if found is socket:
                        served += self._serve_requests(socket, life, context)
                if self._answerer is not None:
                    self._answerer.rest()
        finally:
            context.destroy(linger=EVENTS_LINGER_MS)

    def _connect_socket(self, context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
        socket = context.socket(zmq.REP)
        # The last reply has a second to leave.
        socket.setsockopt(zmq.LINGER, 1000)
        # After ReqServer was replaced nothing is answered until workers are back.
        socket.setsockopt(zmq.RECONNECT_IVL, 50)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
        socket.connect(ipc(self._sockets.workers(self._number)))
        return socket

    def _serve_requests(
        self, socket: zmq.Socket[bytes], life: Life, context: zmq.Context[zmq.Socket[bytes]]
    ) -> int:
        """Answer what was handed over; how many requests that was."""
        try:
            turn, *frames = socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return 0
        # The supervisor counts from here; the next poll shows that it is done.
        life.busy(REQUEST_LIMIT_S)
        if self._answerer is None:
            self._answerer = self._make_answerer(life, context)
        lane, came_s = unpack_turn(turn, len(frames))
        socket.send_multipart(answer_all(self._answerer, frames, slow=lane == ANY, came_s=came_s))
        return len(frames)


def answer_all(
    answerer: Answerer,
    frames: Sequence[bytes],
    *,
    slow: bool = True,
    came_s: Sequence[float] = (),
) -> list[bytes]:
    """The replies to ``frames``, one each; nothing escapes from here.

    ``slow``: one of them may take its time. ``came_s``: when each came to this machine.
    """
    alone = len(frames) == 1
    begun = [
        _begin_request(answerer, frame, alone=alone, slow=slow, came_s=came)
        for frame, came in zip(frames, came_s or [0.0] * len(frames), strict=True)
    ]
    # All that have begun together: their returns are one transaction and one flush.
    finished = iter(
        _finish_requests(answerer, [one for one in begun if not isinstance(one, bytes)])
    )
    return [one if isinstance(one, bytes) else next(finished) for one in begun]


def _begin_request(
    answerer: Answerer, frame: bytes, *, alone: bool, slow: bool, came_s: float
) -> bytes | Any:
    try:
        return answerer.begin(frame, alone=alone, slow=slow, came_s=came_s)
    except Exception:
        log.exception("A request of %d bytes could not be handled", len(frame))
        return HANDLER_FAILED


def _finish_requests(answerer: Answerer, begun: Sequence[object]) -> list[bytes]:
    try:
        return answerer.finish(begun) if begun else []
    except Exception:
        log.exception("%d requests could not be handled to their end", len(begun))
        return [HANDLER_FAILED] * len(begun)
