"""The memory of nonces: no encrypted request is taken twice.

A pure table over a buffer, so that the same code runs over a ``bytearray`` in a test and over
memory shared by all workers. It is made of segments that are filled one after the other; a segment
is used again when everything in it is out of date, so only as much memory is touched as the load
needs. Nothing that may still matter is ever pushed out: a full table refuses. Before it comes to
that, it refuses those who fill it: once it is half full, each minion may have a quarter of what is
free, so that something is always left for the others. How many entries a minion has is estimated,
never too low, by a count-min sketch for each segment.

Source: docs/security.md#replay-and-clocks; Cormode and Muthukrishnan, "An improved data stream
summary".
"""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager
from enum import Enum
from typing import Final, Protocol

from saltlite.master.command import Repeats

SEGMENT_SLOTS: Final = 1 << 17
"""A segment counts as full when half of its slots are taken, which keeps searches short."""

SEGMENTS: Final = 16
"""16 x 65,536 entries: a million, the bound of docs/security.md#replay-and-clocks."""

READ_REPEATS: Final = 5
"""How often a request that only reads is answered again: minions repeat ``_pillar`` as it was."""

# The sixteenth byte of a slot says how often the pair came; with 0 the slot is free.
_DIGEST_BYTES = 15
_SLOT_BYTES = 16
_HEAD = struct.Struct("<dQ")  # until when its latest entry matters; entries
_HEAD_BYTES = 16
_ROWS = 2
_COLUMNS = 4096
_COUNT = struct.Struct("<I")
_SKETCH_BYTES = _ROWS * _COLUMNS * _COUNT.size


class NoRoom(Enum):
    """Why a pair was not taken."""

    TABLE = "memory of nonces is full"
    SHARE = "more requests than one minion's share of the memory of nonces"


class Buffer(Protocol):
    """What ``bytearray`` and ``mmap`` have in common, as far as the table needs it."""

    def __getitem__(self, at: slice, /) -> bytes | bytearray:
        """Some of the bytes."""

    def __setitem__(self, at: slice, value: bytes, /) -> None:
        """Replace as many."""


def table_bytes(segments: int = SEGMENTS, slots: int = SEGMENT_SLOTS) -> int:
    """How large a buffer must be; it has to be all zeros at first."""
    return segments * (_HEAD_BYTES + slots * _SLOT_BYTES + _SKETCH_BYTES)


class ReplayTable:
    """Remembers (id, nonce) pairs until a moment that the caller names."""

    def __init__(
        self, buffer: Buffer, *, segments: int = SEGMENTS, slots: int = SEGMENT_SLOTS
    ) -> None:
        self._buffer = buffer
        self._segments = segments
        self._slots = slots
        self._segment_bytes = slots * _SLOT_BYTES
        self._heads_bytes = segments * _HEAD_BYTES
        self._sketches_at = self._heads_bytes + segments * self._segment_bytes
        self._most = segments * slots // 2

    def count_earlier(
        self, minion_id: str, nonce: str, *, now_s: float, until_s: float
    ) -> int | NoRoom:
        """Note the pair until ``until_s``, and say how often it was noted before.

        ``NoRoom`` means that the table has no place for it: refuse the request.
        """
        digest = _digest(minion_id, nonce)
        free: int | None = None
        filling: int | None = None
        live: list[int] = []
        taken = 0
        for segment, (ends_s, entries) in enumerate(self._heads()):
            # Nothing in it matters any more; it is cleared when it is used again.
            if not entries or ends_s < now_s:
                free = segment if free is None else free
                continue
            at = self._find_slot(segment, digest)
            if self._slot(at)[:_DIGEST_BYTES] == digest:
                return self._count_repeat(segment, at, until_s)
            live.append(segment)
            taken += entries
            if entries < self._slots // 2:
                filling = segment
        # A free one only when the others are full: it may be memory that nobody has touched.
        chosen = free if filling is None else filling
        if chosen is None:
            return NoRoom.TABLE
        if 2 * taken >= self._most and self._count(minion_id, live) * 4 >= self._most - taken:
            return NoRoom.SHARE
        self._add_pair(chosen, digest, now_s, until_s)
        self._count_up(minion_id, chosen)
        return 0

    def dump(self, now_s: float) -> Iterator[tuple[bytes, float]]:
        """Every remembered pair as (slot, until when); for a file across a restart."""
        for segment in range(self._segments):
            ends_s, entries = self._head(segment)
            if ends_s < now_s or not entries:
                continue
            for index in range(self._slots):
                slot = bytes(self._slot(self._at(segment, index)))
                if slot[_DIGEST_BYTES]:
                    yield slot, ends_s

    def restore(self, slot: bytes, *, now_s: float, until_s: float) -> bool:
        """Take back one pair of a dump; ``False`` if the table is full or the slot is none."""
        if len(slot) != _SLOT_BYTES or until_s < now_s:
            return False
        for segment in range(self._segments):
            ends_s, entries = self._head(segment)
            if ends_s < now_s or entries < self._slots // 2:
                # The sketch counts none of them: a digest does not say whose it is.
                self._add_pair(segment, slot[:_DIGEST_BYTES], now_s, until_s)
                return True
        return False

    def _add_pair(self, segment: int, digest: bytes, now_s: float, until_s: float) -> None:
        ends_s, entries = self._head(segment)
        if entries and ends_s < now_s:
            self._clear(segment)
            ends_s, entries = 0.0, 0
        at = self._find_slot(segment, digest)
        self._buffer[at : at + _SLOT_BYTES] = digest + b"\1"
        self._set_head(segment, max(ends_s, until_s), entries + 1)

    def _count_repeat(self, segment: int, at: int, until_s: float) -> int:
        count = self._slot(at)[_DIGEST_BYTES]
        self._buffer[at + _DIGEST_BYTES : at + _SLOT_BYTES] = bytes((min(count + 1, 255),))
        ends_s, entries = self._head(segment)
        # The pair has to be known for as long as its latest copy could come again.
        self._set_head(segment, max(ends_s, until_s), entries)
        return count

    def _find_slot(self, segment: int, digest: bytes) -> int:
        """Where ``digest`` is, or the free slot where it belongs."""
        index = int.from_bytes(digest[:6], "little") % self._slots
        while True:
            at = self._at(segment, index)
            slot = self._slot(at)
            if not slot[_DIGEST_BYTES] or slot[:_DIGEST_BYTES] == digest:
                return at
            # Comes to an end: no more than half of the slots are ever taken.
            index = (index + 1) % self._slots

    def _clear(self, segment: int) -> None:
        at = self._at(segment, 0)
        self._buffer[at : at + self._segment_bytes] = bytes(self._segment_bytes)
        at = self._sketches_at + segment * _SKETCH_BYTES
        self._buffer[at : at + _SKETCH_BYTES] = bytes(_SKETCH_BYTES)

    def _count(self, minion_id: str, segments: list[int]) -> int:
        """How many entries of a minion there are in these segments, at the most."""
        return sum(
            min(_COUNT.unpack(self._buffer[at : at + _COUNT.size])[0] for at in places)
            for places in (self._counters(minion_id, segment) for segment in segments)
        )

    def _count_up(self, minion_id: str, segment: int) -> None:
        for at in self._counters(minion_id, segment):
            (count,) = _COUNT.unpack(self._buffer[at : at + _COUNT.size])
            self._buffer[at : at + _COUNT.size] = _COUNT.pack(count + 1)

    def _counters(self, minion_id: str, segment: int) -> list[int]:
        start = self._sketches_at + segment * _SKETCH_BYTES
        return [start + offset for offset in _offsets(minion_id)]

    def _at(self, segment: int, index: int) -> int:
        return self._heads_bytes + segment * self._segment_bytes + index * _SLOT_BYTES

    def _slot(self, at: int) -> bytes | bytearray:
        return self._buffer[at : at + _SLOT_BYTES]

    def _heads(self) -> Iterator[tuple[float, int]]:
        """(until when its latest entry matters, entries) of every segment."""
        return _HEAD.iter_unpack(self._buffer[: self._heads_bytes])

    def _head(self, segment: int) -> tuple[float, int]:
        at = segment * _HEAD_BYTES
        ends_s, entries = _HEAD.unpack(self._buffer[at : at + _HEAD_BYTES])
        return ends_s, entries

    def _set_head(self, segment: int, ends_s: float, entries: int) -> None:
        at = segment * _HEAD_BYTES
        self._buffer[at : at + _HEAD_BYTES] = _HEAD.pack(ends_s, entries)


def _digest(minion_id: str, nonce: str) -> bytes:
    pair = minion_id.encode() + b"\0" + nonce.encode("utf-8", "surrogateescape")
    return hashlib.blake2b(pair, digest_size=_DIGEST_BYTES).digest()


@functools.lru_cache(maxsize=4096)
def _offsets(minion_id: str) -> tuple[int, ...]:
    """Where the counters of a minion are in a sketch, one in each row."""
    digest = hashlib.blake2b(minion_id.encode(), digest_size=2 * _ROWS).digest()
    columns = struct.unpack(f"<{_ROWS}H", digest)
    return tuple(
        (row * _COLUMNS + column % _COLUMNS) * _COUNT.size for row, column in enumerate(columns)
    )


class LockFactory(Protocol):
    """Gives a context manager that holds the table's lock."""

    def __call__(self) -> AbstractContextManager[None]:
        """Wait for the lock and hold it for the ``with`` block."""


class ReplayGuard:
    """Whether a proven request is one of its kind: its nonce is not in the shared table.

    That ``ts`` is inside the window of ``ttl_s`` either side of the clock has been checked before
    (``channel/master.py``). The memory runs on the monotonic clock, so that a clock set forward
    and back again forgets nothing.
    """

    MEMORY_S: Final = 600.0

    def __init__(self, table: ReplayTable, lock: LockFactory, *, ttl_s: float) -> None:
        self._table = table
        self._lock = lock
        self._ttl_s = ttl_s

    def problem(
        self,
        minion_id: str,
        nonce: str,
        ts: float,
        *,
        repeats: Repeats,
        wall_s: float,
        steady_s: float,
    ) -> str | None:
        """A few words on why the request must not be served; ``None`` if it may."""
        # While ts stays in the window: twice the ttl for a clock that is ahead by all of it.
        remember_s = self._ttl_s - (wall_s - ts) + 1 if self._ttl_s else self.MEMORY_S
        # Look and note in one step, or two workers would both find it new.
        with self._lock():
            times = self._table.count_earlier(
                minion_id, nonce, now_s=steady_s, until_s=steady_s + max(remember_s, 1.0)
            )
        if isinstance(times, NoRoom):
            return times.value
        if times > (READ_REPEATS if repeats is Repeats.READ else 0):
            return "nonce was used before"
        return None
