"""The event bus of a real Salt master, for salt-api before one.

Its sockets are no ZeroMQ: over a Unix stream come maps with the event as ``body``, each after a
length of four bytes, big-endian, or without one (3008). Who connects is told nothing, while ZeroMQ
greets at once; so the two are told apart. Source: observed on 3006.30 and 3008.5; docs/api.md,
"Before a real Salt master".
"""

from __future__ import annotations

import logging
import os
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgpack

from saltlite.core.readable import wait_readable
from saltlite.errors import WireError
from saltlite.transport.bus import EventSubscriber

if TYPE_CHECKING:
    import zmq

log = logging.getLogger(__name__)

GREETING_S: Final = 0.25
READ_BYTES: Final = 256 * 1024
EVENT_BYTES_MOST: Final = 64 * 1024 * 1024
_LENGTH = struct.Struct(">I")


class BusPlace:
    """The socket of a master's bus, and whose it is. Each master that starts makes another one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None

    def find_whose(self) -> bool:
        """Whether it is a real Salt master's: that takes the connection, and says nothing.

        Raises:
            OSError: nobody listens there now.
        """
        seen = _identify_socket(self._path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(str(self._path))
            is_salts = not wait_readable(probe, GREETING_S)
            # Who ends closes what he has taken, which says nothing of who comes next.
            if not is_salts and not probe.recv(1):
                raise ConnectionAbortedError("the bus is closed")
        self._seen = seen
        return is_salts

    def is_another(self) -> bool:
        """Whether there is a socket that :meth:`find_whose` has not seen."""
        try:
            return _identify_socket(self._path) != self._seen
        except OSError:
            return False


def open_bus(
    path: Path, context: zmq.Context[zmq.Socket[bytes]], *, is_salts: bool
) -> EventSubscriber | SaltBus:
    """Listen to the bus of a real Salt master, or of ours, which need not be there yet.

    Raises:
        OSError: a real Salt's is not there.
    """
    return SaltBus(path) if is_salts else EventSubscriber(path, context=context)


def _identify_socket(path: Path) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_ino, status.st_ctime_ns


class SaltBus:
    """The bus, with the methods of :class:`saltlite.transport.bus.EventSubscriber` that are used.

    ``lost`` is always 0: this bus has no numbers.
    """

    lost = 0

    def __init__(self, path: Path) -> None:
        """Connect.

        Raises:
            OSError: nobody listens there.
        """
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(path))
        self._socket.setblocking(False)
        self._data = bytearray()
        self._unpacker: Any = None
        self.has_lengths = True
        """Whether a length stands before each map: as of 3006, and not of 3008."""
        self.connections = 1
        self.is_over = False
        """Whether the master has closed it."""

    @property
    def fileno(self) -> int:
        """The descriptor that becomes readable."""
        return self._socket.fileno()

    def next_frame(self) -> bytes | None:
        """The next event, ``None`` if none is there; does not wait."""
        while (frame := self._cut()) is None:
            try:
                piece = self._socket.recv(READ_BYTES)
            except BlockingIOError:
                return None
            except OSError:
                piece = b""
            if not piece:
                self.is_over = True
                return None
            self._take(piece)
        return frame

    def _take(self, piece: bytes) -> None:
        if self._unpacker is None and not self._data and piece[0] & 0x80:
            self.has_lengths = False  # a map begins so, and no length does
            self._unpacker = msgpack.Unpacker(
                raw=False, strict_map_key=False, max_buffer_size=EVENT_BYTES_MOST
            )
        if self._unpacker is not None:
            self._unpacker.feed(piece)
        else:
            self._data += piece

    def _cut(self) -> bytes | None:
        """One whole event out of what was read."""
        if self._unpacker is not None:
            return next((body_of(one) for one in self._unpacker), None)
        while len(self._data) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._data)
            end = _LENGTH.size + size
            if size > EVENT_BYTES_MOST or len(self._data) < end:
                return None
            packed = bytes(self._data[_LENGTH.size : end])
            del self._data[:end]
            try:
                return read_body(packed)
            except WireError as error:
                log.debug("%s", error)
        return None

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


def read_body(packed: bytes) -> bytes:
    """The event in one frame of this bus.

    Raises:
        WireError: it is none.
    """
    try:
        return body_of(msgpack.unpackb(packed, raw=False, strict_map_key=False))
    except (ValueError, msgpack.UnpackException) as error:
        raise WireError("not an event of Salt's bus") from error


def body_of(message: object) -> bytes:
    """The event in one map of this bus.

    Raises:
        WireError: it is none.
    """
    body = message.get("body") if isinstance(message, dict) else None
    if not isinstance(body, bytes):
        raise WireError("not an event of Salt's bus")
    return body


def fire(path: Path, event: bytes, *, has_lengths: bool) -> bool:
    """Put one packed event on the bus of a real Salt master; whether it was taken."""
    packed = msgpack.packb({"head": {}, "body": event}, use_bin_type=True)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(1.0)
            connection.connect(str(path))
            connection.sendall((_LENGTH.pack(len(packed)) if has_lengths else b"") + packed)
    except OSError as error:
        log.error("An event is lost, the bus takes none: %s", error)
        return False
    return True
