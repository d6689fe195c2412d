"""Returns on their way to the master: kept until the master has them.

Two halves. :class:`Spool` is the directory ``cachedir/outbox``, one file per return, written by the
job process before anything is sent, deleted once the master has acknowledged it; what the disk does
not take is kept in memory. :class:`Outbox` is pure: which return is due when, for which master. The
sending itself is in :mod:`saltlite.minion.master_link`.

A file is flushed to the disk only when its first sending failed: until then it survives the death
of every process, which is what happens, and costs no waiting for the disk in every job.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.ids import valid_jid
from saltlite.core.numbers import is_digits
from saltlite.disk import child, flush_dir, make_dir, may_write, read_regular, remove, write_file
from saltlite.errors import StoreError, WireError
from saltlite.transport.codec import pack_bin, unpack_bin

log = logging.getLogger(__name__)

FIRST_WAIT_S = 5.0
LONGEST_WAIT_S = 300.0
KEPT_S = 24 * 3600.0
ENTRIES_LIMIT = 10_000
MEMORY_LIMIT_BYTES = 64 * 1024 * 1024
FILE_LIMIT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Parcel:
    """One return to send. ``master`` is the one that sent the job; ``made_s`` is wall clock."""

    load: dict[str, Any]
    master: str
    made_s: float

    def pack(self) -> bytes:
        """As it lies on disk.

        Raises:
            WireError: something in the load cannot be packed.
        """
        return pack_bin({"load": self.load, "master": self.master, "made": self.made_s})

    @classmethod
    def unpack(cls, data: bytes) -> Parcel:
        """Read what :meth:`pack` made.

        Raises:
            WireError: it is not that.
        """
        plain: Any = unpack_bin(data)
        if not isinstance(plain, dict) or not isinstance(plain.get("load"), dict):
            raise WireError("not a return")
        made = plain.get("made")
        made_s = float(made) if isinstance(made, (int, float)) else 0.0
        return cls(plain["load"], str(plain.get("master", "")), made_s)


class Spool:
    """The directory of returns that no master has acknowledged; a name is the job's id."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._memory: dict[str, bytes] = {}
        self._disk_works = True

    def put(self, name: str, data: bytes) -> None:
        """Keep a packed return on disk.

        Raises:
            StoreError: the disk does not take it.
        """
        make_dir(self._path)
        write_file(child(self._path, name), data, flush=False)

    def put_anywhere(self, name: str, data: bytes) -> bool:
        """Keep it on disk, else in memory; ``False`` if there is no room for it anywhere."""
        try:
            self.put(name, data)
        except StoreError as error:
            return self.keep_in_memory(name, data, str(error))
        self._disk_works = True
        return True

    def keep_in_memory(self, name: str, data: bytes, reason: str) -> bool:
        """Keep it for as long as this process lives; says so once per failing of the disk."""
        if self._disk_works:
            log.error("Returns are kept in memory only: %s", reason)
        self._disk_works = False
        if sum(map(len, self._memory.values())) + len(data) > MEMORY_LIMIT_BYTES:
            log.error("The return of job %s is lost: no room on disk or in memory", name)
            return False
        self._memory[name] = data
        return True

    def hold(self, name: str, data: bytes) -> None:
        """Keep it in memory on purpose: it is of no use to anybody after a restart."""
        if sum(map(len, self._memory.values())) + len(data) <= MEMORY_LIMIT_BYTES:
            self._memory[name] = data

    def get(self, name: str) -> Parcel | None:
        """The return, ``None`` if it is gone or unreadable (it is then put aside)."""
        try:
            # Memory first: what is there was not meant for the disk, or the disk did not take it.
            data = self._memory.get(name) or read_regular(
                child(self._path, name), limit_bytes=FILE_LIMIT_BYTES
            )
            return Parcel.unpack(data) if data is not None else None
        except (WireError, StoreError) as error:
            log.error("The return of job %s is lost: %s", name, error)
            self._put_aside(name)
            return None

    def flush(self, name: str) -> None:
        """Wait until the disk has it; what is in memory tries to get there."""
        data = self._memory.get(name)
        # put_anywhere may have put it back into memory, and then it has to stay there.
        if data is not None and self.put_anywhere(name, data) and self._disk_works:
            del self._memory[name]
        if name not in self._memory:
            _flush_file(child(self._path, name))

    def remove(self, name: str) -> None:
        """The master has it."""
        # A return is in one place only.
        if self._memory.pop(name, None) is not None:
            return
        try:
            remove(child(self._path, name))
        except StoreError as error:
            log.warning("%s", error)

    def names(self) -> list[str]:
        """All returns that are kept, oldest job first; what was left half written is swept."""
        found = set(self._memory)
        try:
            on_disk = os.listdir(self._path)
        except OSError:
            on_disk = []
        for name in on_disk:
            if valid_jid(name):
                found.add(name)
            elif name.endswith(".tmp") and _is_abandoned(name):
                self.remove(name)
        return sorted(found)

    def __contains__(self, name: str) -> bool:
        return name in self._memory or child(self._path, name).exists()

    def _put_aside(self, name: str) -> None:
        try:
            # Left for somebody to look at; a name with a dot is none of ``names``.
            os.replace(child(self._path, name), child(self._path, f".corrupt-{name}"))
        except OSError:
            self._memory.pop(name, None)


def _is_abandoned(temporary: str) -> bool:
    """Whether the writer of a temporary file has gone; its id stands before the ending."""
    # A job of an earlier loop may be writing its return now, and has nobody else to give it to.
    writer = temporary.removesuffix(".tmp").rpartition(".")[2]
    return not (is_digits(writer) and may_write(int(writer)))


def _flush_file(path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        # The name as well, or the file may be whole and not be found after a power cut.
        flush_dir(path.parent)
    except OSError as error:
        log.warning("cannot flush %s: %s", path, error.strerror)


@dataclass(slots=True)
class _Waiting:
    """A return that is not acknowledged."""

    master: str
    due_s: float
    added_s: float
    tries: int = 0
    is_refused: bool = False
    """By the master of now, which is not the one that sent the job."""


@dataclass(slots=True)
class Outbox:
    """When each return is sent again: at once, then after 5 s doubling to 5 min, for 24 h.

    With several masters at the same time each return goes to the one that sent the job. With
    ``one_at_a_time`` it goes to the one that the minion is with, as that may have taken over from
    the other; if it refuses, once for each link, the return stays for the one that sent the job.

    ``masters`` are the configured ones; ``chance`` gives numbers in 0..1 for the jitter; times are
    of a monotonic clock. Source: docs/reliability.md#the-master-goes-away.
    """

    masters: Sequence[str]
    chance: Callable[[], float]
    limit: int = ENTRIES_LIMIT
    one_at_a_time: bool = False
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _linked: str | None = None
    """Whom all returns are offered to; ``None``: with several masters nobody is."""

    def add(self, name: str, master: str, now_s: float) -> str | None:
        """Take a return; the name of the oldest one that has to go for it, if it is full."""
        self._waiting.pop(name, None)
        gone = next(iter(self._waiting)) if len(self._waiting) >= self.limit else None
        if gone is not None:
            del self._waiting[gone]
        self._waiting[name] = _Waiting(master, now_s, now_s)
        return gone

    def begin_link(self, master: str) -> None:
        """The minion turns to ``master``, which may take what the one before has refused."""
        if not self.one_at_a_time:
            return
        self._linked = master
        for waiting in self._waiting.values():
            waiting.is_refused = False

    def due(self, master: str, now_s: float) -> str | None:
        """The return to send next to ``master``, ``None`` if none is due; oldest first.

        The first master also gets the returns for masters that are not configured any more.
        """
        for name, waiting in self._waiting.items():
            if waiting.due_s <= now_s and self._may_go_to(waiting, master):
                return name
        return None

    def _may_go_to(self, waiting: _Waiting, master: str) -> bool:
        if self._belongs_to(waiting) == master:
            return True
        return self._linked == master and not waiting.is_refused

    def _belongs_to(self, waiting: _Waiting) -> str:
        return waiting.master if waiting.master in self.masters else self.masters[0]

    def next_due_s(self, master: str) -> float | None:
        """When the next one for ``master`` is due; ``None`` if there is none."""
        waits = (one.due_s for one in self._waiting.values() if self._may_go_to(one, master))
        return min(waits, default=None)

    def done(self, name: str) -> None:
        """The master has it, or it is given up."""
        self._waiting.pop(name, None)

    def refuse(self, name: str, master: str) -> str | None:
        """``master`` never takes it: whom it is kept for, ``None`` if it is given up."""
        waiting = self._waiting.get(name)
        if waiting is not None and (owner := self._belongs_to(waiting)) != master:
            waiting.is_refused = True
            return owner
        self.done(name)
        return None

    def put_off(self, name: str, now_s: float) -> int:
        """It was not acknowledged; how often that has happened."""
        waiting = self._waiting.get(name)
        if waiting is None:
            return 0
        waiting.tries += 1
        # The exponent is bounded: a return is tried for a day, and a float has an end.
        longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(waiting.tries - 1, 10))
        # Half of it is chance: minions that lost the same master must not come back in step.
        waiting.due_s = now_s + longest * (0.5 + 0.5 * self.chance())
        return waiting.tries

    def master_is_back(self, now_s: float) -> None:
        """A master answers again: everything is due."""
        for waiting in self._waiting.values():
            waiting.due_s = min(waiting.due_s, now_s)

    def take_expired(self, now_s: float) -> list[str]:
        """Those that have been tried for 24 h."""
        return [name for name, waiting in self._waiting.items() if now_s - waiting.added_s > KEPT_S]

    def __len__(self) -> int:
        return len(self._waiting)
