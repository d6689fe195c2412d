"""Records that wait on disk for their server, in the order they came.

Everything that a server is to keep passes through here, whether the server is there or not: what is
in the file survives the process, and one order holds. A record leaves when its server has it.

One SQLite file for each destination, ``cachedir/returners/<name>.sqlite``, shared by all processes
that put something in; whoever holds ``<name>.lock`` takes out.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.core.dataclasses import dataclass
from saltlite.databases.records import Record, pack_record
from saltlite.errors import StoreError
from saltlite.jobs.waiting import FOLDER, WAITS

log = logging.getLogger(__name__)

RECORDS_LIMIT: Final = 10_000
BYTES_LIMIT: Final = 64 * 1024 * 1024
EVENTS_LIMIT: Final = 100_000
BUSY_TIMEOUT_S: Final = 10.0
TARGET: Final = ".target"
COMPLAINT_S: Final = 60.0
"""How often, at most, it is said that records were dropped."""

LAYOUT: Final = 1
"""Written to the file as ``user_version`` once its tables are there."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS records (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    line   TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS totals (rows INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO totals SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM totals);
CREATE TABLE IF NOT EXISTS drops (unsaid INTEGER NOT NULL, said_s REAL NOT NULL);
INSERT INTO drops SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM drops);
CREATE TRIGGER IF NOT EXISTS counted AFTER INSERT ON records BEGIN
    UPDATE totals SET rows = rows + 1, bytes = bytes + length(new.line);
END;
CREATE TRIGGER IF NOT EXISTS discounted AFTER DELETE ON records BEGIN
    UPDATE totals SET rows = rows - 1, bytes = bytes - length(old.line);
END;
PRAGMA user_version = 1;
"""


@dataclass(frozen=True, slots=True)
class SpooledRecord:
    """A record in the file: its number, and the line of it."""

    number: int
    line: str


class Spool:
    """The file of one destination. A process that was forked off opens it anew.

    ``limit`` is how many records may wait; the oldest are dropped, counted and complained of. A
    damaged file is moved aside as ``<name>.sqlite.corrupt-<time>`` and a new one begun.
    """

    def __init__(self, cachedir: Path, name: str, *, limit: int = RECORDS_LIMIT) -> None:
        self.path = cachedir / FOLDER / f"{name}.sqlite"
        self.name = name
        self._limit = limit
        self._db: sqlite3.Connection | None = None
        self._inode = 0
        self._pid = 0
        self._inherited: list[sqlite3.Connection] = []

    def put(self, records: Sequence[Record]) -> None:
        """Append records; they outlive this process.

        Raises:
            StoreError: they could not be written.
        """
        lines = list(_lines(records))
        try:
            self._append(lines)
        except SpoolDamaged:  # there is a new one now
            self._append(lines)

    def _append(self, lines: Sequence[tuple[str]]) -> None:
        with self._transaction("IMMEDIATE") as db:
            db.executemany("INSERT INTO records (line) VALUES (?)", lines)
            dropped = self._make_room(db)
            unsaid = _count_drops(db, dropped) if dropped else 0
        if unsaid:
            log.error(
                "The server of the returner %s has been away too long: the %d oldest records that "
                "waited for it were dropped",
                self.name, unsaid,
            )  # fmt: skip

    def peek(self, most: int) -> list[SpooledRecord]:
        """Return the oldest records, which stay until :meth:`remove`."""
        with self._transaction() as db:
            rows = db.execute("SELECT number, line FROM records ORDER BY number LIMIT ?", (most,))
            return [SpooledRecord(*row) for row in rows]

    def remove(self, numbers: Sequence[int]) -> None:
        """Forget records that their server has."""
        with self._transaction("IMMEDIATE") as db:
            db.executemany("DELETE FROM records WHERE number = ?", [(one,) for one in numbers])

    def count(self) -> int:
        """Return how many records wait; without a file, none does."""
        if not self.path.exists():
            return 0
        with self._transaction() as db:
            return int(db.execute("SELECT rows FROM totals").fetchone()[0])

    @contextmanager
    def taking(self) -> Iterator[bool]:
        """Be the only one who takes out; ``False`` if somebody else is."""
        disk.make_dir(self.path.parent)
        with disk.hold_lock(self.path.with_suffix(".lock"), wait=False) as mine:
            yield mine

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _make_room(self, db: sqlite3.Connection) -> int:
        """Drop the oldest records beyond the limits; how many."""
        rows, size_bytes = db.execute("SELECT rows, bytes FROM totals").fetchone()
        dropped = 0
        while rows > self._limit or (size_bytes > BYTES_LIMIT and rows > 1):
            # Many at once, so that a full file does not pay for each record that comes.
            chunk = max(1, rows - self._limit, min(rows - 1, self._limit // 100))
            db.execute(
                "DELETE FROM records WHERE number IN "
                "(SELECT number FROM records ORDER BY number LIMIT ?)",
                (chunk,),
            )
            dropped += chunk
            rows, size_bytes = db.execute("SELECT rows, bytes FROM totals").fetchone()
        return dropped

    @contextmanager
    def _transaction(self, mode: str = "DEFERRED") -> Iterator[sqlite3.Connection]:
        try:
            db = self._connection()
            db.execute(f"BEGIN {mode}")
            try:
                yield db
            except BaseException:
                with suppress(sqlite3.Error):  # some errors have ended it already
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
        except sqlite3.Error as error:
            self.close()
            if type(error) is sqlite3.DatabaseError:
                self._put_aside()
                raise SpoolDamaged(f"{self.path}: {error}; a new one is begun") from error
            raise StoreError(f"{self.path}: {error}") from error

    def _connection(self) -> sqlite3.Connection:
        if self._db is not None and self._pid != os.getpid():
            # It is the parent's: SQLite forbids a child to use it, and even to close it.
            self._inherited.append(self._db)
            self._db = None
        if self._db is not None and not self._is_in_place():
            self.close()
        if self._db is None:
            self._db, self._pid = self._open(), os.getpid()
        return self._db

    def _is_in_place(self) -> bool:
        """Whether the path still leads to the file that is open; another may have put it aside."""
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def _open(self) -> sqlite3.Connection:
        disk.make_dir(self.path.parent)
        with disk.hold_lock(
            self.path.with_suffix(".make")
        ):  # for one, SQLite's mode is not made twice
            if not self.path.exists():  # making one flushes it, which each return would wait for
                disk.create_file(self.path, b"")
            db = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
            self._inode = os.stat(self.path).st_ino
            try:
                db.execute("PRAGMA synchronous = NORMAL")
                if db.execute("PRAGMA user_version").fetchone()[0] != LAYOUT:
                    db.execute("PRAGMA journal_mode = WAL")
                    db.executescript(_SCHEMA)
            except sqlite3.Error:
                db.close()
                raise
        return db

    def _put_aside(self) -> None:
        with disk.hold_lock(self.path.with_suffix(".make")):
            if not self._is_in_place():
                return  # another process has done it
            aside = f"{self.path}.corrupt-{int(time.time())}"
            # The log first: a new file must not find it.
            for suffix in ("-wal", "-shm", ""):
                with suppress(FileNotFoundError):
                    os.rename(f"{self.path}{suffix}", f"{aside}{suffix}")
        log.error("%s is damaged: what waited there for a server is in %s", self.path, aside)

    # --- what others see of it -----------------------------------------------------------

    def mark(self, waits: bool) -> None:
        """Leave a sign, for whoever tries again later, that records wait here, or take it away."""
        sign = self.path.with_suffix(WAITS)
        if waits:
            # Not flushed: what it stands for is not, either.
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(sign, flags, disk.PRIVATE_FILE))
        else:
            disk.remove(sign)

    def remember_target(self, options: Mapping[str, object]) -> None:
        """Note where the records go, if that is not what the configuration says."""
        path = self.path.with_suffix(TARGET)
        if not path.exists():
            disk.make_dir(path.parent)
            disk.write_file(path, json.dumps(options, default=str).encode())

    def target(self) -> dict[str, Any] | None:
        """Return where the records go, ``None`` for where the configuration says."""
        data = disk.read_regular(self.path.with_suffix(TARGET))
        found = None if data is None else json.loads(data)
        return found if isinstance(found, dict) else None


class SpoolDamaged(StoreError):
    """The file was damaged, and is put aside."""


def _lines(records: Sequence[Record]) -> Iterator[tuple[str]]:
    """Each record as a line; of many, one that cannot be one costs the others nothing."""
    for record in records:
        try:
            yield (pack_record(record),)
        except StoreError as error:  # noqa: PERF203 - each record stands for itself
            if len(records) == 1:
                raise
            log.error("A record is lost: %s", error)


def _count_drops(db: sqlite3.Connection, dropped: int) -> int:
    """Count records that were dropped; return how many have to be told of, once a minute."""
    db.execute("UPDATE drops SET unsaid = unsaid + ?", (dropped,))
    unsaid, said_s = db.execute("SELECT unsaid, said_s FROM drops").fetchone()
    now_s = time.time()
    if 0 <= now_s - said_s < COMPLAINT_S:
        return 0
    db.execute("UPDATE drops SET unsaid = 0, said_s = ?", (now_s,))
    return int(unsaid)
