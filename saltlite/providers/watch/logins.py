"""Logins as the files ``wtmp`` and ``btmp`` have them. Source: utmp(5), the layout of glibc."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import Final

from saltlite.core.dataclasses import dataclass

_RECORD: Final = struct.Struct("hi32s4s32s256shhiii16s20x")
READ_LIMIT: Final = 10_000
"""So many records are read at one look; the rest at the next one."""

LOGIN, LOGOUT = 7, 8


@dataclass(frozen=True, slots=True)
class Record:
    """One record. ``time_s`` is since the epoch; ``address`` is empty for a local login."""

    type: int
    pid: int
    line: str
    inittab: str
    user: str
    hostname: str
    exit_status: int
    session: int
    time_s: int
    address: str


def parse(data: bytes) -> Iterator[Record]:
    """The records in what was read; half of one at the end is left out. Pure."""
    for at in range(0, len(data) - _RECORD.size + 1, _RECORD.size):
        kind, pid, line, ident, user, host, _signal, code, session, seconds, _micro, address = (
            _RECORD.unpack_from(data, at)
        )
        line, ident, user, host = map(_decode_text, (line, ident, user, host))
        yield Record(
            kind, pid, line, ident, user, host, code, session, seconds, _decode_address(address)
        )


def _decode_text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("utf-8", "replace")


def _decode_address(data: bytes) -> str:
    """An IPv4 address has its four bytes first and nothing after them."""
    if not any(data):
        return ""
    if not any(data[4:]):
        return socket.inet_ntop(socket.AF_INET, data[:4])
    return socket.inet_ntop(socket.AF_INET6, data)


class LoginFile:
    """A file of records that grows; what is in it at the first look is old."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at, self._inode = self._find_end()

    def records(self) -> list[Record]:
        """The records that have come since the last look, also to a file that took the name."""
        try:
            with open(self._path, "rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._at:
                    self._at, self._inode = 0, status.st_ino
                file.seek(self._at)
                data = file.read(READ_LIMIT * _RECORD.size)
        except OSError:
            return []
        whole = len(data) - len(data) % _RECORD.size
        self._at += whole
        return list(parse(data[:whole]))

    def _find_end(self) -> tuple[int, int]:
        try:
            status = os.stat(self._path)
        except OSError:
            return 0, -1
        return status.st_size - status.st_size % _RECORD.size, status.st_ino


def describe(record: Record) -> dict[str, str | int]:
    """A record as events have it."""
    return {
        "type": record.type,
        "PID": record.pid,
        "line": record.line,
        "inittab": record.inittab,
        "user": record.user,
        "hostname": record.hostname,
        "exit_status": record.exit_status,
        "session": record.session,
        "time": record.time_s,
        "addr": record.address,
    }
