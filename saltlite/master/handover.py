"""How a worker hands work to another process of the master: one message each over a Unix socket.

The other side answers with one byte, whether it takes the work. Used where the process that does
the work forks, and so may have no ZeroMQ. The frames are those of ``renderprocess.py`` too: a
length, and so many bytes.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.core.plain import Plain
from saltlite.errors import StoreError, WireError
from saltlite.transport.addresses import UNIX_PATH_LIMIT
from saltlite.transport.codec import pack_bin, unpack_bin

HAND_OVER_S: Final = 5.0
"""How long both sides may take to understand each other."""

NO_ROOM_S: Final = 0.1
"""Between two looks while there is no descriptor for a connection."""

REQUEST_LIMIT_BYTES: Final = 64 * 1024 * 1024
BACKLOG: Final = 128

TAKEN: Final = b"T"
FULL: Final = b"F"

_LENGTH = struct.Struct(">I")


class ConnectionEnded(WireError):
    """The other side closed the connection, or is gone."""


def hand_over(path: Path, message: Mapping[str, Plain]) -> bool:
    """Give a message to who listens at ``path``; ``False`` if there is too much to do already.

    Raises:
        OSError: nobody is there, or nobody answers in time.
        ConnectionEnded: the message was not understood, or there was no time for an answer.
    """
    packed = pack_bin(message)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(HAND_OVER_S)
        connection.connect(str(path))
        send_frame(connection, packed)
        answer = connection.recv(1)
    if not answer:
        raise ConnectionEnded("no answer")
    return answer == TAKEN


def accept(listener: socket.socket) -> socket.socket | None:
    """The next connection; ``None`` if whoever wanted one has gone, or there is no room for it.

    Without room the listener stays readable: a moment passes, or its caller would never rest.
    """
    try:
        return listener.accept()[0]
    except (BlockingIOError, ConnectionError):
        return None
    except OSError:
        time.sleep(NO_ROOM_S)
        return None


def listen(path: Path) -> socket.socket:
    """A socket at which messages are handed over; for the master's user alone.

    Raises:
        StoreError: the path is too long.
    """
    if len(bytes(path)) > UNIX_PATH_LIMIT:
        raise StoreError(f"socket path too long: {path}")
    # What a process that was killed has left there would make bind fail.
    disk.remove(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    listener.bind(str(path))
    os.chmod(path, 0o600)
    listener.listen(BACKLOG)
    return listener


def receive(connection: socket.socket, limit_bytes: int = REQUEST_LIMIT_BYTES) -> dict[str, Any]:
    """The message that was handed over.

    Raises:
        WireError: it is none, or too large.
        OSError: the connection failed.
    """
    value: Any = unpack_bin(receive_frame(connection, limit_bytes))
    if not isinstance(value, Mapping):
        raise WireError("not a map")
    return {str(name): item for name, item in value.items()}


def send_frame(connection: socket.socket, packed: bytes) -> None:
    """Send bytes, with their length before them."""
    connection.sendall(_LENGTH.pack(len(packed)) + packed)


def receive_frame(connection: socket.socket, limit_bytes: int) -> bytes:
    """The bytes that were sent.

    Raises:
        ConnectionEnded: there are no more.
        WireError: they are too many.
        OSError: the connection failed.
    """
    size = _LENGTH.unpack(_read_exactly(connection, _LENGTH.size))[0]
    # Before anything is read: the number is what the other side says.
    if size > limit_bytes:
        raise WireError(f"a frame of {size} bytes")
    return _read_exactly(connection, size)


def _read_exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        # In parts, so that a length that is only announced takes no memory.
        part = connection.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise ConnectionEnded("the connection ended early")
        parts += part
    return bytes(parts)
