"""Where each process of a master was with a job, and when: ``cachedir/times``.

A file for each process, a ring of records of one size: a record costs one small write that waits
for no disk, and the files never grow. So what is here is of the last :data:`RECORDS` jobs or
returns of each process; what is to be kept longer is on record with the job. Written by
MWorker, Publisher and ``salt``; read by ``jobs.trace``.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from saltlite.core.dataclasses import dataclass

log = logging.getLogger(__name__)

RECORDS: Final = 2048
"""In each file."""

_RECORD: Final = struct.Struct("<qQQ5q")
"""Job, minion, kind, five times in microseconds since the epoch."""

_PRIME: Final = 9_223_372_036_854_775_783
"""The largest below 2⁶³."""

_JIDS_FROM: Final = 20_000_000_000_000_000_000
"""A jid is a number of twenty digits, which has no room in eight bytes."""

JOB: Final = 1
"""A worker with a job: its client asked; it came to ReqServer, was taken, is on record, was given
to Publisher."""
SENT: Final = 2
"""Publisher sends a job: when it began to."""
RETURN: Final = 3
"""A worker with a return: it came to ReqServer, was taken, is on record, the bus was told."""
SEEN: Final = 4
"""``salt`` has printed what a minion returned."""

CLIENT: Final = "salt"
"""The file of all who ran ``salt``; appended to, so that they need not know of one another."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One record: what ``process`` says of a job, or of one minion's return to it."""

    process: str
    kind: int
    minion: int
    times_us: tuple[int, ...]


def number_of(minion: str) -> int:
    """What stands for a minion id in a record."""
    # By hand, since `salt` would load a module for it; of 63 bits, since in 32 two of ten thousand
    # minions may well agree.
    return int.from_bytes(minion.encode("utf-8", "replace"), "little") % _PRIME


def pack_record(kind: int, jid: str, minion: str, times_us: Sequence[int]) -> bytes | None:
    """A record; ``None`` for what is no jid."""
    times = (*times_us, 0, 0, 0, 0, 0)[:5]
    try:
        number = number_of(minion) if minion else 0
        return _RECORD.pack(int(jid) - _JIDS_FROM, number, kind, *times)
    except (ValueError, struct.error):
        return None


class Marks:
    """The file of one process. Opened on first use, so that an instance may cross a fork unused.

    Nothing here fails: what cannot be noted is not.
    """

    def __init__(self, cachedir: Path, process: str) -> None:
        self._directory = _directory(cachedir)
        self._process = process
        self._fd: int | None = None
        self._next = 0

    def note(self, kind: int, jid: str, minion: str, *times_us: int) -> None:
        """Note up to five moments of a job, or of one minion's return."""
        record = pack_record(kind, jid, minion, times_us)
        fd = self._open()
        if record is None or fd < 0:
            return
        try:
            os.pwrite(fd, record, self._next * _RECORD.size)
        except OSError as error:
            log.debug("No times are kept: %s", error)
            return
        self._next = (self._next + 1) % RECORDS

    def _open(self) -> int:
        if self._fd is None:
            try:
                self._directory.mkdir(mode=0o700, exist_ok=True)
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                self._fd = os.open(self._directory / self._process, flags, 0o600)
            except OSError as error:
                log.info("No times of jobs are kept: %s", error)
                self._fd = -1
        return self._fd


def note_seen(cachedir: Path, jid: str, seen: Sequence[tuple[str, int]]) -> None:
    """Note when ``salt`` has printed what minions returned; nothing for who may not write here."""
    records = [pack_record(SEEN, jid, minion, (at_us,)) for minion, at_us in seen[-RECORDS:]]
    try:
        fd = _open_shared(cachedir)
    except OSError:
        return
    try:
        # Begun anew, not moved aside: that of the last few jobs is what is asked for.
        if os.fstat(fd).st_size >= RECORDS * _RECORD.size:
            os.ftruncate(fd, 0)
        os.write(fd, b"".join(one for one in records if one is not None))
    except OSError as error:
        log.debug("%s", error)
    finally:
        os.close(fd)


def _open_shared(cachedir: Path) -> int:
    """The file of all clients; it belongs to whom the directory belongs to.

    Raises:
        OSError: it cannot be opened, or is none that root may write to.
    """
    folder = os.open(_directory(cachedir), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW
        fd = os.open(CLIENT, flags | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            owner, found = os.fstat(folder), os.fstat(fd)
            # The directory is the master's user's, who is not to have root write elsewhere.
            if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
                raise PermissionError(errno.EPERM, "not a file of ours", CLIENT)
            if found.st_uid != owner.st_uid:
                os.fchown(fd, owner.st_uid, owner.st_gid)
        except BaseException:
            os.close(fd)
            raise
        return fd
    finally:
        os.close(folder)


def read_marks(cachedir: Path, jid: str) -> list[Mark]:
    """All that is noted of a job, in no order.

    Raises:
        OSError: it may not be read.
    """
    try:
        number = int(jid) - _JIDS_FROM
        paths = sorted(_directory(cachedir).iterdir())
    except (FileNotFoundError, ValueError):
        return []
    return [mark for path in paths for mark in _read_file(path, number)]


def _read_file(path: Path, job: int) -> Iterator[Mark]:
    try:
        data = path.read_bytes()
    except PermissionError as error:
        log.debug("%s", error)
        return
    # One that was cut in the middle of a record is no multiple of it.
    whole = len(data) - len(data) % _RECORD.size
    for jid, minion, kind, *times in _RECORD.iter_unpack(memoryview(data)[:whole]):
        if jid == job:
            yield Mark(path.name, kind, minion, tuple(times))


def _directory(cachedir: Path) -> Path:
    return cachedir / "times"
