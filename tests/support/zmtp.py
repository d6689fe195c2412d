"""ZMTP 3.0 spoken by hand, to say what libzmq would never say. Source: rfc.zeromq.org/spec/23."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

MECHANISM_BYTES = 20
MORE, LONG, COMMAND = 1, 2, 4


def greeting(mechanism: bytes = b"NULL", *, major: int = 3) -> bytes:
    """The 64 bytes both sides begin with."""
    signature = b"\xff" + bytes(8) + b"\x7f"
    return signature + bytes((major, 0)) + mechanism.ljust(MECHANISM_BYTES, b"\0") + bytes(32)


def frame(body: bytes, *, flags: int = 0, announced: int | None = None) -> bytes:
    """One frame; ``announced`` lies about its size."""
    size = len(body) if announced is None else announced
    if size > 255 or flags & LONG:
        return bytes((flags | LONG,)) + struct.pack(">Q", size) + body
    return bytes((flags, size)) + body


def ready(socket_type: bytes = b"DEALER", identity: bytes = b"") -> bytes:
    """The READY command of the NULL mechanism."""
    body = b"\x05READY"
    for name, value in ((b"Socket-Type", socket_type), (b"Identity", identity)):
        body += bytes((len(name),)) + name + struct.pack(">I", len(value)) + value
    return frame(body, flags=COMMAND)


@contextlib.contextmanager
def connection(address: int | str, *, timeout_s: float = 5.0) -> Iterator[socket.socket]:
    """A plain socket to a port on loopback or to a Unix socket."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(timeout_s)
        one.connect(address if isinstance(address, str) else ("127.0.0.1", address))
        yield one


@contextlib.contextmanager
def peer(address: int | str, socket_type: bytes = b"DEALER") -> Iterator[socket.socket]:
    """A connection whose handshake is done."""
    with connection(address) as one:
        one.sendall(greeting() + ready(socket_type))
        exactly(one, 64)
        flags, size = exactly(one, 2)
        assert flags & COMMAND
        exactly(one, size)
        yield one


def exactly(one: socket.socket, size: int) -> bytes:
    """So many bytes, or ``ConnectionError``."""
    data = b""
    while len(data) < size:
        part = one.recv(size - len(data))
        if not part:
            raise ConnectionError("closed by the other side")
        data += part
    return data


def is_closed(one: socket.socket, within_s: float = 5.0) -> bool:
    """Whether the other side hangs up in time; what it says before does not matter."""
    one.settimeout(within_s)
    try:
        while one.recv(65_536):
            pass
    except (ConnectionError, BrokenPipeError):
        return True
    except TimeoutError:
        return False
    return True
