"""What the master remembers of each minion: grains, pillar and mine.

In the layout of Salt 3008, ``cachedir/{grains,pillar,mine}/<id>.p``; each file is replaced as a
whole. An unreadable file counts as absent. Source:
docs/architecture.md#who-owns-which-file-on-disk.

Targeting asks the same few things of all minions, so :meth:`MinionCache.facts` keeps columns: the
values of one name at the top of all minions' maps, each with the stamp of the file it is from. A
file is read again only when it has changed. Columns of grains are also on disk, in
``cachedir/columns``, since every process of the master would have to read all files otherwise.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.core.datalimits import MINE_LIMIT, MINE_NAMES_LIMIT
from saltlite.core.ids import valid_minion_id
from saltlite.core.plain import Plain
from saltlite.core.targets import FactsUnread, MinionFacts
from saltlite.errors import StoreError, WireError
from saltlite.master import pushed_files
from saltlite.master.datacache import hold_minion
from saltlite.transport.codec import pack_bin, unpack_bin

log = logging.getLogger(__name__)

GRAINS: Final = "grains"
PILLAR: Final = "pillar"
MINE: Final = "mine"
COMPILED: Final = "pillar_cache"
"""What ``pillar_cache`` keeps, for :mod:`saltlite.master.pillarcache` alone."""

BANKS: Final = (GRAINS, PILLAR, MINE, COMPILED)

COLUMNS: Final = "columns"
COLUMNS_KEPT: Final = 32
"""In memory, and on disk; the oldest go first."""

DECODED_BYTES: Final = 32 * 1024 * 1024
"""Of files that are kept decoded; a map takes a few times as much as its file."""

SAVE_FROM: Final = 64
"""A column with so many new values is written to disk."""

Stamp = tuple[int, int]
"""When a file was written, in ns, and its number."""

Column = dict[str, tuple[Stamp, Any]]
"""Minion id → the stamp of its file, and the value; no value is :data:`_NOTHING`."""

_NOTHING: Final = object()


class MinionCache:
    """The files below ``cachedir``. ``cached`` bounds how many decoded files are kept in memory."""

    def __init__(self, cachedir: Path, *, cached: int = 2000) -> None:
        self._cachedir = cachedir
        self._cached = cached
        self._decoded: OrderedDict[Path, tuple[Stamp, dict[str, Any], int]] = OrderedDict()
        self._decoded_bytes = 0
        self._columns: OrderedDict[tuple[str, str], Column] = OrderedDict()
        self._new: dict[tuple[str, str], int] = {}

    def read(self, bank: str, minion_id: str) -> dict[str, Any] | None:
        """What is kept of a minion in ``grains``, ``pillar`` or ``mine``; ``None`` for nothing.

        The map is shared with later calls: do not change it.
        """
        path = self._path_of(bank, minion_id)
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            self._let_go(path)
            return None
        # A write makes a new file: its number differs where two came within one tick.
        stamp = (status.st_mtime_ns, status.st_ino)
        known = self._decoded.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        value = _decode_file(path)
        # Also of one that cannot be decoded: the value of before must not be given for it.
        self._let_go(path)
        if value is not None:
            self._decoded[path] = (stamp, value, status.st_size)
            self._decoded_bytes += status.st_size
            while len(self._decoded) > 1 and self._keeps_too_much():
                self._let_go(next(iter(self._decoded)))
        return value

    def _keeps_too_much(self) -> bool:
        return len(self._decoded) > self._cached or self._decoded_bytes > DECODED_BYTES

    def _let_go(self, path: Path) -> None:
        known = self._decoded.pop(path, None)
        if known is not None:
            self._decoded_bytes -= known[2]

    def write(self, bank: str, minion_id: str, value: Mapping[str, Plain]) -> bool:
        """Replace what is kept; ``False`` if it was the same already.

        Raises:
            StoreError: it cannot be written; the old one stays.
        """
        path = self._path_of(bank, minion_id)
        try:
            data = pack_bin(value)
        except WireError as error:
            raise StoreError(f"{bank} of {minion_id}: {error}") from error
        if bank == MINE and (len(data) > MINE_LIMIT.bytes or len(value) > MINE_NAMES_LIMIT):
            raise StoreError(
                f"mine of {minion_id}: at most {MINE_LIMIT.bytes} bytes, {MINE_NAMES_LIMIT} names"
            )
        disk.make_dir(path.parent)
        # Minions send the same facts again and again; an old stamp keeps what is decoded of it.
        if _is_same(path, data):
            return False
        # Not flushed: after a power cut minions send all of it again.
        disk.write_file(path, data, flush=False)
        return True

    def update(
        self,
        bank: str,
        minion_id: str,
        change: Callable[[dict[str, Any]], Mapping[str, Plain] | None],
    ) -> bool:
        """Replace what is kept by what ``change`` makes of it; ``None`` leaves it.

        Nobody else changes anything of this minion meanwhile. Whether there is something else now.

        Raises:
            StoreError: it cannot be written; the old one stays.
        """
        with self.hold_lock(minion_id):
            # From the file: under the lock it is the newest, and the map of read() is shared.
            value = change(dict(_decode_file(self._path_of(bank, minion_id)) or {}))
            return False if value is None else self.write(bank, minion_id, value)

    def write_newest(
        self, bank: str, minion_id: str, value: Mapping[str, Plain], asked_ns: int, now_ns: int
    ) -> bool:
        """Replace what is kept, unless it answers a later question; in :meth:`hold_lock`.

        ``asked_ns`` is when the question came, in ns of the wall clock; so is the file's time. One
        after ``now_ns`` is of a clock that was wrong.

        Raises:
            StoreError: it cannot be written; the old one stays.
        """
        path = self._path_of(bank, minion_id)
        with contextlib.suppress(OSError):
            if asked_ns < path.stat().st_mtime_ns <= now_ns:
                return False
        if not self.write(bank, minion_id, value):
            return False
        with contextlib.suppress(FileNotFoundError):
            # The next answer is compared with when this one's question came.
            os.utime(path, ns=(asked_ns, asked_ns))
        return True

    def hold_lock(self, minion_id: str) -> contextlib.AbstractContextManager[None]:
        """Nobody else changes anything of this minion meanwhile; see :func:`hold_minion`."""
        return hold_minion(self._cachedir, minion_id)

    def facts(
        self, minion_ids: Iterable[str], *, grains: bool = True, pillar: bool = True
    ) -> Iterator[MinionFacts]:
        """What targeting may know of these minions; what is not asked for is not read."""
        for minion_id in minion_ids:
            yield MinionFacts(
                id=minion_id,
                grains=self._view_of(GRAINS, minion_id) if grains else None,
                pillar=self._view_of(PILLAR, minion_id) if pillar else None,
            )
        # A generator comes here when all were asked for; a search that stops early writes nothing.
        self._save_columns()

    def _view_of(self, bank: str, minion_id: str) -> _View | None:
        path = f"{self._cachedir}/{bank}/{minion_id}.p"  # the ids are those of keys
        try:
            status = os.stat(path)
        except OSError:
            return None
        return _View(self, bank, minion_id, (status.st_mtime_ns, status.st_ino))

    def value(self, bank: str, minion_id: str, stamp: Stamp, name: str) -> Any:
        """One entry of a minion's map as it is in the file of this stamp, or a mark for none.

        Raises:
            FactsUnread: the file is not there any more, or damaged.
        """
        column = self._column_of(bank, name)
        held = column.get(minion_id)
        if held is None or held[0] != stamp:
            # Not by read(): one name of all minions would push out the maps that are kept.
            whole = _decode_file(self._path_of(bank, minion_id))
            if whole is None:
                raise FactsUnread(minion_id)
            held = column[minion_id] = (stamp, whole.get(name, _NOTHING))
            self._new[bank, name] = self._new.get((bank, name), 0) + 1
        return held[1]

    def _column_of(self, bank: str, name: str) -> Column:
        column = self._columns.get((bank, name))
        if column is None:
            column = self._columns[bank, name] = self._load_column(bank, name)
            while len(self._columns) > COLUMNS_KEPT:
                self._columns.popitem(last=False)
        return column

    def _load_column(self, bank: str, name: str) -> Column:
        value = _decode_file(self._column_path(name)) if bank == GRAINS else None
        # The hash in the file's name was cut, so another column's could be the same.
        if value is None or value.get("name") != name:
            return {}
        rows = value.get("rows")
        return {
            str(minion): ((when, number), held[0] if held else _NOTHING)
            for minion, when, number, *held in (rows if isinstance(rows, list) else [])
        }

    def _save_columns(self) -> None:
        new, self._new = self._new, {}
        for (bank, name), count in new.items():
            if bank == GRAINS and count >= SAVE_FROM:
                self._save_column(name, self._columns.get((bank, name), {}))

    def _save_column(self, name: str, column: Column) -> None:
        """Best effort: without it the next process reads the files.

        Minions that are gone go from the column too.
        """
        for gone in column.keys() - set(self.ids(GRAINS)):
            del column[gone]
        rows = [
            [minion, *stamp] if value is _NOTHING else [minion, *stamp, value]
            for minion, (stamp, value) in column.items()
        ]
        path = self._column_path(name)
        try:
            disk.make_dir(path.parent)
            disk.write_file(path, pack_bin({"name": name, "rows": rows}), flush=False)
            for old in disk.newest_first(path.parent, ".p")[COLUMNS_KEPT:]:
                disk.remove(old)
        except (OSError, StoreError, WireError) as error:
            log.debug("The column of %s is not kept: %s", name, error)

    def _column_path(self, name: str) -> Path:
        import hashlib

        # A hash, since a grain's name comes from targets, and is no part of a path.
        return self._cachedir / COLUMNS / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.p"

    def delete(self, minion_id: str, bank: str) -> None:
        """Forget one bank of a minion."""
        with self.hold_lock(minion_id):
            disk.remove(self._path_of(bank, minion_id))

    def forget(self, minion_id: str) -> None:
        """Forget a minion: also its pushed files and what Salt 3006 kept of it."""
        for bank in BANKS:
            self.delete(minion_id, bank)
        pushed_files.forget(self._cachedir, minion_id)

    def ids(self, bank: str) -> list[str]:
        """The minions of which this bank knows something."""
        try:
            names = os.listdir(self._cachedir / bank)
        except FileNotFoundError:
            return []
        return sorted(n[:-2] for n in names if n.endswith(".p") and valid_minion_id(n[:-2]))

    def _path_of(self, bank: str, minion_id: str) -> Path:
        if bank not in BANKS or not valid_minion_id(minion_id):
            raise ValueError(f"no such bank or id: {bank!r}, {minion_id!r}")
        return disk.child(self._cachedir / bank, f"{minion_id}.p")


class _View(Mapping[str, Any]):
    """A minion's map of which single entries are asked for; all of it is read only if it must."""

    __slots__ = ("_bank", "_cache", "_id", "_stamp")

    def __init__(self, cache: MinionCache, bank: str, minion_id: str, stamp: Stamp) -> None:
        self._cache = cache
        self._bank = bank
        self._id = minion_id
        self._stamp = stamp

    def get(self, key: str, default: object = None) -> Any:
        """One entry."""
        if type(key) is str:
            value = self._cache.value(self._bank, self._id, self._stamp, key)
        else:
            value = self._whole_data().get(key, _NOTHING)
        return default if value is _NOTHING else value

    def __getitem__(self, key: str) -> Any:
        value = self.get(key, _NOTHING)
        if value is _NOTHING:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole_data())

    def __len__(self) -> int:
        return len(self._whole_data())

    def _whole_data(self) -> dict[str, Any]:
        whole = self._cache.read(self._bank, self._id)
        if whole is None:
            raise FactsUnread(self._id)
        return whole


def _decode_file(path: Path) -> dict[str, Any] | None:
    try:
        data = disk.read_regular(path)
        value = None if data is None else unpack_bin(data)
    except (StoreError, WireError) as error:
        log.warning("%s is not used: %s", path, error)
        return None
    return value if isinstance(value, dict) else None


def _is_same(path: Path, data: bytes) -> bool:
    try:
        return disk.read_regular(path) == data
    except StoreError:
        return False
