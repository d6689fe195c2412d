"""MWorker: takes one request at a time from ReqServer and answers it, once, whatever it is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Protocol

import zmq

from saltlite.master.child import Life
from saltlite.transport.addresses import MasterSockets, ipc
from saltlite.transport.codec import pack

log = logging.getLogger(__name__)

REQUEST_LIMIT_S: Final = 60.0
"""A request that takes longer costs the worker its life. Source: security.md 3.2."""

RENEW_AFTER: Final = 100_000
"""Requests after which a worker makes room for a fresh one. Source: reliability.md 10."""

HANDLER_FAILED: Final = pack("Some exception handling minion payload")


class Answerer(Protocol):
    """What a worker needs of the dispatcher."""

    def answer(self, frame: bytes) -> bytes:
        """The reply frame to a request frame."""


class MWorker:
    """One request worker. ``make_answerer`` is called in the worker's own process."""

    def __init__(
        self,
        number: int,
        sockets: MasterSockets,
        make_answerer: Callable[[Life, zmq.Context[zmq.Socket[bytes]]], Answerer],
    ) -> None:
        self._number = number
        self._sockets = sockets
        self._make_answerer = make_answerer

    def run(self, life: Life) -> None:
        """Connect, answer until told to stop, and end after the request in hand."""
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            self._answerer = self._make_answerer(life, context)
            socket = self._connect(context)
            poller = zmq.Poller()
            poller.register(socket, zmq.POLLIN)
            life.register(poller)
            life.ready()
            served = 0
            while not life.stopping and served < RENEW_AFTER:
                for found, _events in life.poll(poller):
                    if found is socket:
                        self._serve(socket, life)
                        served += 1
        finally:
            context.destroy(linger=1000)

    def _connect(self, context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
        socket = context.socket(zmq.REP)
        socket.setsockopt(zmq.LINGER, 1000)
        socket.setsockopt(zmq.RECONNECT_IVL, 50)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
        socket.connect(ipc(self._sockets.workers(self._number)))
        return socket

    def _serve(self, socket: zmq.Socket[bytes], life: Life) -> None:
        try:
            frame = socket.recv(zmq.NOBLOCK)
        except zmq.Again:
            return
        life.busy(REQUEST_LIMIT_S)
        socket.send(self.answer(frame))

    def answer(self, frame: bytes) -> bytes:
        """The reply to ``frame``; nothing escapes from here."""
        try:
            return self._answerer.answer(frame)
        except Exception:
            log.exception("A request of %d bytes could not be handled", len(frame))
            return HANDLER_FAILED
