"""What a job process and the loop say to each other: length-prefixed msgpack maps.

Four bytes of length (big endian), then one map packed with bin types. The job's end blocks and is
here; the loop's end is in :mod:`saltlite.minion.stream`. Maps from the job have an ``op``::

    {"op": "started", "pid": 4711}
    {"op": "state", "now": "...", "number": 1, "len": 3}           no answer
    {"op": "output", "text": "...", "is_cut": False}               no answer; see job_output.py
    {"op": "event", "tag": "...", "data": {...}}                   no answer
    {"op": "request", "n": 1, "load": {...}}                       -> {"n": 1, "reply": ...}
    {"op": "jobs", "n": 2}                                         -> {"n": 2, "reply": [...]}
    {"op": "signal", "n": 3, "jid": "...", "number": 15}           -> {"n": 3, "reply": "..."}
    {"op": "refresh", "n": 4, "what": "grains"}                    -> {"n": 4, "reply": {...}}
    {"op": "result", "name": "20240102...", "load": {...}}         the last one; see outbox.py

An answer may also be ``{"n": 1, "error": "<text>"}``.
"""

from __future__ import annotations

import itertools
import socket
import struct
import threading
from typing import Any

from saltlite.errors import RequestTimeout, SaltliteError, WireError
from saltlite.transport.codec import pack_bin, unpack_bin

LENGTH = struct.Struct(">I")
FRAME_LIMIT_BYTES = 128 * 1024 * 1024


class LoopGone(SaltliteError):
    """The minion's main process is not there any more; the job goes on without it."""


def frame_message(message: dict[str, Any]) -> bytes:
    """One map as it goes through a pipe."""
    body = pack_bin(message)
    if len(body) > FRAME_LIMIT_BYTES:
        raise WireError(f"{len(body)} bytes are too many for one message")
    return LENGTH.pack(len(body)) + body


def read_length(head: bytes) -> int:
    """The length in a message's first four bytes.

    Raises:
        WireError: longer than any message.
    """
    length = int(LENGTH.unpack(head)[0])
    if length > FRAME_LIMIT_BYTES:
        raise WireError(f"a message of {length} bytes is announced")
    return length


def as_map(body: bytes) -> dict[str, Any]:
    """The map in a message's body.

    Raises:
        WireError: there is none.
    """
    message = unpack_bin(body)
    if not isinstance(message, dict):
        raise WireError("a message that is not a map")
    return message


class Pipe:
    """The job's end. Safe for several threads of one process."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._asking = threading.Lock()
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)

    def send(self, message: dict[str, Any]) -> None:
        """Send one map, whole; while another thread waits for its answer, too.

        Raises:
            LoopGone: nobody is at the other end.
        """
        frame = frame_message(message)
        try:
            # Apart from the other lock: events of one thread go out while another one waits.
            with self._sending:
                self._sock.sendall(frame)
        except OSError as error:
            raise LoopGone("the minion has gone away") from error

    def receive(self) -> dict[str, Any]:
        """Wait for one map.

        Raises:
            LoopGone: nobody is at the other end.
        """
        return as_map(self._read_exactly(read_length(self._read_exactly(LENGTH.size))))

    def ask(self, message: dict[str, Any]) -> Any:
        """Send a question and wait for its answer.

        Raises:
            LoopGone: nobody is at the other end.
            RequestTimeout, SaltliteError: the answer is an error.
        """
        # Until the answer is there: two threads that read would take each other's.
        with self._asking:
            number = next(self._numbers)
            self.send({**message, "n": number})
            while True:
                answer = self.receive()
                # One that was interrupted while it waited has left its answer behind.
                if answer.get("n") == number:
                    break
        if "waited_s" in answer:
            raise RequestTimeout(str(answer.get("address")), float(answer["waited_s"]))
        if "error" in answer:
            raise SaltliteError(str(answer["error"]))
        return answer.get("reply")

    def close(self) -> None:
        """Close this end; the other one reads the end of the stream."""
        self._sock.close()

    def _read_exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            try:
                # In pieces: a buffer for all that is announced would be taken at once.
                part = self._sock.recv(min(size - len(parts), 1 << 20))
            except OSError as error:
                raise LoopGone("the minion has gone away") from error
            if not part:
                raise LoopGone("the minion has gone away")
            parts += part
        return bytes(parts)
