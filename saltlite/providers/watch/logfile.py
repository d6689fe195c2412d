"""The new lines of a log file, also when it is cut or another one takes its place."""

from __future__ import annotations

import os
import stat
from typing import Final

READ_LIMIT_BYTES: Final = 8 * 1024 * 1024
"""So much is read of a file at one look; the rest at the next one."""

LINE_LIMIT_BYTES: Final = 256 * 1024
"""A line without an end is one when it is as long."""


class LogFile:
    """A file that others write at its end; what is in it at the first look is old."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._part = b""
        self._fd = self._open_file()
        if self._fd is not None:
            os.lseek(self._fd, 0, os.SEEK_END)

    def lines(self) -> list[str]:
        """The lines that have been finished since the last look."""
        data = self._read_new() if self._fd is not None else b""
        has_more = len(data) == READ_LIMIT_BYTES
        following = None if has_more else self._open_successor()
        if following is not None:
            # Nobody is expected to write to the old file any more: its last line is finished.
            data += self._end_line(data)
            self.close()
            self._fd = following
            data += self._read_new()
        return self._split_lines(data)

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open_file(self) -> int | None:
        """The file that has the name now; ``None`` without one. Nothing else has lines."""
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return None
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        return None

    def _open_successor(self) -> int | None:
        """The file that has taken the name since; ``None`` if it is still ours, or nobody's."""
        try:
            there = os.stat(self._path)
        except OSError:
            return None
        if self._fd is not None and os.path.samestat(there, os.fstat(self._fd)):
            return None
        return self._open_file()

    def _read_new(self) -> bytes:
        assert self._fd is not None  # noqa: S101 - only called with a file
        if os.fstat(self._fd).st_size < os.lseek(self._fd, 0, os.SEEK_CUR):
            os.lseek(self._fd, 0, os.SEEK_SET)  # it was cut: all that is there is new
            self._part = b""
        return os.read(self._fd, READ_LIMIT_BYTES)

    def _end_line(self, data: bytes) -> bytes:
        before = self._part + data
        return b"\n" if before and not before.endswith(b"\n") else b""

    def _split_lines(self, data: bytes) -> list[str]:
        *whole, self._part = (self._part + data).split(b"\n")
        if len(self._part) > LINE_LIMIT_BYTES:
            whole.append(self._part)
            self._part = b""
        return [line.decode("utf-8", "replace").rstrip("\r") for line in whole]
