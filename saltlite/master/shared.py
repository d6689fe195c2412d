"""What the master's processes share without a disk: small areas of memory made before the fork.

An area is an anonymous file (``memfd``), so it has no name in any file system, is mapped by every
child, and ends with the last process. Locks on it are record locks: the kernel frees them when
their holder dies, however it dies. Each class here is a view of one area with a meaning; the
parent makes them, the children use them. Nobody else maps memory.

Numbers are read and written as whole aligned words (:attr:`SharedArea.words`). ``struct`` would
clear the place and fill it byte by byte, and who looks meanwhile without a lock sees zeros.

Not for use by several threads of one process: record locks are per process.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
from collections.abc import Callable
from datetime import datetime
from typing import Final

from saltlite.core.dataclasses import dataclass
from saltlite.core.jid import new_jid

_PAGE = 4096


class _AreaLock:
    """Holds one lock for a ``with`` block: each request takes several, so it is no generator."""

    __slots__ = ("_fd", "_number")

    def __init__(self, fd: int, number: int) -> None:
        self._fd = fd
        self._number = number

    def __enter__(self) -> None:
        # A lock is one byte of the file, and needs nothing to be there.
        fcntl.lockf(self._fd, fcntl.LOCK_EX, 1, self._number)

    def __exit__(self, *_exc: object) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, self._number)


class SharedArea:
    """``size_bytes`` of memory that survives ``fork`` as one and the same, with locks."""

    def __init__(self, name: str, size_bytes: int) -> None:
        self.fd = os.memfd_create(name, os.MFD_CLOEXEC)
        os.ftruncate(self.fd, size_bytes)
        self.buffer = mmap.mmap(self.fd, size_bytes)
        self.words = memoryview(self.buffer).cast("Q")
        """The area as unsigned words of eight bytes; each is read and written in one go."""
        self.reals = memoryview(self.buffer).cast("d")
        """The same words as floats."""

    def lock(self, number: int = 0) -> _AreaLock:
        """Hold lock ``number`` of this area; others wait. Not to be nested."""
        return _AreaLock(self.fd, number)

    def close(self) -> None:
        """Unmap; others keep theirs."""
        # A mapping cannot be closed while a view of it is open.
        self.words.release()
        self.reals.release()
        self.buffer.close()
        os.close(self.fd)


@dataclass(frozen=True, slots=True)
class PublicationKey:
    """The key all accepted minions share. ``generation`` grows with every rotation."""

    generation: int
    key: str

    def __repr__(self) -> str:
        return f"PublicationKey(generation={self.generation})"


class PublicationKeys:
    """The current publication key, its generation, age and last serial.

    Never on disk. Source: docs/wire.md#keys-that-change, #publications.
    """

    _GENERATION: Final = 0
    _SERIAL: Final = 1
    _MADE_AT: Final = 2
    _LENGTH: Final = 3
    _KEY_AT: Final = 64

    def __init__(self) -> None:
        self._area = SharedArea("saltlite-publication-key", _PAGE)
        self._known = PublicationKey(0, "")

    def rotate(self, key: str, now_s: float) -> int:
        """Put ``key`` in place of the current one; serials start again. The new generation."""
        with self._area.lock():
            return self._replace(key, now_s)

    def rotate_if(self, asked: Callable[[], bool], key: Callable[[], str], now_s: float) -> bool:
        """Rotate if ``asked`` says so; whether it did.

        Nobody gets a serial between the question and the new key.
        """
        with self._area.lock():
            return self._rotate_if(asked, key, now_s)

    def _rotate_if(self, asked: Callable[[], bool], key: Callable[[], str], now_s: float) -> bool:
        if not asked():
            return False
        self._replace(key(), now_s)
        return True

    def _replace(self, key: str, now_s: float) -> int:
        words = self._area.words
        words[self._SERIAL] = 0
        self._place_key(words[self._GENERATION] + 1, key, now_s)
        return words[self._GENERATION]

    def _place_key(self, generation: int, key: str, made_s: float) -> None:
        text = key.encode()
        words = self._area.words
        self._area.buffer[self._KEY_AT : self._KEY_AT + len(text)] = text
        words[self._LENGTH] = len(text)
        self._area.reals[self._MADE_AT] = made_s
        # Last: current() looks at it without the lock.
        words[self._GENERATION] = generation

    def current(self) -> PublicationKey:
        """The key as it is now.

        Not read again while the generation, which a rotation writes last, is the same.
        """
        if self._known.generation != self._area.words[self._GENERATION]:
            with self._area.lock():
                self._known = self._key()
        return self._known

    def next_serial(self) -> tuple[PublicationKey, int]:
        """The key and the next serial under it; the first is 1."""
        with self._area.lock():
            self._area.words[self._SERIAL] += 1
            return self._key(), self._area.words[self._SERIAL]

    def age_s(self, now_s: float) -> float:
        """Seconds since the last rotation, by the clock that ``rotate`` was given."""
        with self._area.lock():
            return now_s - self._area.reals[self._MADE_AT]

    def close(self) -> None:
        """Unmap; others keep theirs."""
        self._area.close()

    def _key(self) -> PublicationKey:
        words = self._area.words
        text = self._area.buffer[self._KEY_AT : self._KEY_AT + words[self._LENGTH]]
        return PublicationKey(words[self._GENERATION], text.decode())


class JidSource:
    """Job ids that no two workers give twice and that never go backwards.

    With a ``share`` no other source with another one gives them either.
    """

    _LIMIT: Final = 64

    def __init__(self, share: int | None = None) -> None:
        self._share = share
        self._area = SharedArea("saltlite-last-jid", _PAGE)

    def seed(self, last: str | None) -> None:
        """Start above ``last``, the highest jid on record."""
        with self._area.lock():
            self._write(last or "")

    def next(self, now: datetime) -> str:
        """A jid for this moment, or just above the last one."""
        with self._area.lock():
            # Read and written under one lock, or two workers would give the same one.
            jid = new_jid(now, self._read() or None, self._share)
            self._write(jid)
        return jid

    def close(self) -> None:
        """Unmap; others keep theirs."""
        self._area.close()

    def _read(self) -> str:
        return self._area.buffer[: self._LIMIT].rstrip(b"\0").decode()

    def _write(self, jid: str) -> None:
        self._area.buffer[: self._LIMIT] = jid[: self._LIMIT].encode().ljust(self._LIMIT, b"\0")


class SharedPairs:
    """A number and its moment for each of many names, one for all workers.

    A name's place is in one of 4,096 rows, by its hash. A row has four; when a fifth name comes,
    the one that was changed longest ago is forgotten.
    """

    _ROWS: Final = 4096
    _WAYS: Final = 4
    _WORDS: Final = 3
    _LOCKS: Final = 64

    def __init__(self) -> None:
        self._area = SharedArea("saltlite-pairs", self._ROWS * self._WAYS * self._WORDS * 8)

    def change(
        self, name: str, now_s: float, first: float, step: Callable[[float, float], float]
    ) -> None:
        """Replace a name's number by what ``step`` makes of it and of its moment.

        ``first`` and ``now_s`` stand for those of a new name. Moments are of the monotonic clock,
        which is the same for all processes.
        """
        # The workers are children of one process, so their hashes agree; 0 is an empty place.
        digest = hash(name) & 0xFFFF_FFFF_FFFF_FFFF or 1
        row = digest % self._ROWS
        with self._area.lock(row % self._LOCKS):
            at, is_known = self._find(row, digest)
            reals = self._area.reals
            number, seen_s = (reals[at + 1], reals[at + 2]) if is_known else (first, now_s)
            reals[at + 1] = step(number, seen_s)
            reals[at + 2] = now_s
            self._area.words[at] = digest

    def close(self) -> None:
        """Unmap; others keep theirs."""
        self._area.close()

    def _find(self, row: int, digest: int) -> tuple[int, bool]:
        """A name's place, or the one that it takes, and whether it was there."""
        begin = row * self._WAYS * self._WORDS
        places = range(begin, begin + self._WAYS * self._WORDS, self._WORDS)
        words, reals = self._area.words, self._area.reals
        for at in places:
            if words[at] == digest:
                return at, True
        return min(places, key=lambda at: (words[at] != 0, reals[at + 2])), False


class GroupFlush:
    """One wait for the disk serves every process that wrote before it began.

    A process that has written takes a ticket. Who gets the lock first flushes for all tickets taken
    until then; the others find their ticket served and go on. Source:
    docs/reliability.md#disk-and-power.
    """

    _TAKEN: Final = 0
    _SERVED: Final = 1
    _TICKET_LOCK: Final = 0
    _FLUSH_LOCK: Final = 1

    def __init__(self) -> None:
        self._area = SharedArea("saltlite-flush", _PAGE)

    def take(self) -> int:
        """A ticket; to be taken after the write and before :meth:`wait`."""
        with self._area.lock(self._TICKET_LOCK):
            self._area.words[self._TAKEN] += 1
            return self._area.words[self._TAKEN]

    def wait(self, ticket: int, flush: Callable[[], None]) -> None:
        """Return when a flush that began after ``ticket`` was taken has ended.

        What ``flush`` raises is raised here, and nobody's ticket counts as served by it.
        """
        with self._area.lock(self._FLUSH_LOCK):
            if self._area.words[self._SERVED] >= ticket:
                return
            # Before the flush: it need not have seen what was written while it ran.
            until = self._area.words[self._TAKEN]
            flush()
            # Not where it failed: the next in line flushes for these tickets too.
            self._area.words[self._SERVED] = until

    def close(self) -> None:
        """Unmap; others keep theirs."""
        self._area.close()


class Proofs:
    """Which (public key, ``tok``) pairs some worker has proven with RSA; lost with the master.

    A table of digests in which a later pair may take the place of an earlier one. No lock is
    needed: half of one digest and half of another are the digest of no pair.
    """

    _SLOTS: Final = 1 << 15
    _DIGEST_BYTES: Final = 16

    def __init__(self) -> None:
        self._area = SharedArea("saltlite-proofs", self._SLOTS * self._DIGEST_BYTES)
        # Keyed: nobody can choose a pair that falls into the place of another's.
        self._secret = os.urandom(32)

    def holds(self, pem: str, tok: bytes) -> bool:
        """Whether the pair is remembered."""
        digest, place = self._place(pem, tok)
        return self._area.buffer[place] == digest

    def add(self, pem: str, tok: bytes) -> None:
        """Remember a pair that is proven."""
        digest, place = self._place(pem, tok)
        self._area.buffer[place] = digest

    def close(self) -> None:
        """Unmap; others keep theirs."""
        self._area.close()

    def _place(self, pem: str, tok: bytes) -> tuple[bytes, slice]:
        hasher = hashlib.blake2b(pem.encode(), digest_size=self._DIGEST_BYTES, key=self._secret)
        hasher.update(b"\0" + tok)
        digest = hasher.digest()
        at = int.from_bytes(digest[:4], "little") % self._SLOTS * self._DIGEST_BYTES
        return digest, slice(at, at + self._DIGEST_BYTES)


class Counter:
    """One number that one process writes and others read."""

    def __init__(self, name: str) -> None:
        self._area = SharedArea(f"saltlite-{name}", _PAGE)

    def get(self) -> int:
        """The number as last set."""
        return self._area.words[0]

    def set(self, value: int) -> None:
        """Set it; it is not negative."""
        self._area.words[0] = value

    def close(self) -> None:
        """Unmap; others keep theirs."""
        self._area.close()


@dataclass(frozen=True, slots=True)
class Beat:
    """What a child last said about itself. ``busy_since_s`` is 0 while it waits for work."""

    beat_s: float
    busy_since_s: float
    limit_s: float
    requests: int


class HeartBeats:
    """One slot per child: when it last showed life, and what it is at. All times are monotonic.

    A slot is a count and two places. A child writes the place that nobody reads and counts on;
    its parent reads the other, again if the count has changed meanwhile. So there is always one
    whole beat to see, without a lock, even of a child that was stopped while it wrote.
    """

    _SLOT_WORDS: Final = 16
    _PLACE_WORDS: Final = 4

    def __init__(self, slots: int) -> None:
        size_bytes = slots * self._SLOT_WORDS * 8
        self._area = SharedArea("saltlite-heartbeats", max(_PAGE, size_bytes))

    def read(self, slot: int) -> Beat:
        """The slot as it is."""
        words, reals = self._area.words, self._area.reals
        at = slot * self._SLOT_WORDS
        while True:
            count = words[at]
            place = self._place(at, count)
            beat = Beat(reals[place], reals[place + 1], reals[place + 2], words[place + 3])
            # Otherwise it has counted on, and a write may have begun in this place.
            if words[at] == count:
                return beat

    def write(self, slot: int, beat: Beat) -> None:
        """Replace the slot; only its own child does so, and the parent before the fork."""
        words, reals = self._area.words, self._area.reals
        at = slot * self._SLOT_WORDS
        count = words[at] + 1
        place = self._place(at, count)
        reals[place] = beat.beat_s
        reals[place + 1] = beat.busy_since_s
        reals[place + 2] = beat.limit_s
        words[place + 3] = beat.requests
        # Last: until then the parent reads the other place.
        words[at] = count

    def _place(self, at: int, count: int) -> int:
        return at + self._PLACE_WORDS * (1 + count % 2)

    def close(self) -> None:
        """Unmap; the children keep theirs."""
        self._area.close()
