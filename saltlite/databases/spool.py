"""Records that wait on disk for their server, in the order they came.

Everything that a server is to keep passes through here, whether the server is there or not: what is
in the file survives the process, and one order holds. A record leaves when its server has it.

One SQLite file for each destination, ``cachedir/returners/<name>.sqlite``, shared by all processes
that put something in; whoever holds ``<name>.lock`` takes out.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from saltlite import disk
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

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS records (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    line   TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS totals (rows INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO totals SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM totals);
CREATE TRIGGER IF NOT EXISTS counted AFTER INSERT ON records BEGIN
    UPDATE totals SET rows = rows + 1, bytes = bytes + length(new.line);
END;
CREATE TRIGGER IF NOT EXISTS discounted AFTER DELETE ON records BEGIN
    UPDATE totals SET rows = rows - 1, bytes = bytes - length(old.line);
END;
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A record in the file: its number, and the line of it."""

    number: int
    line: str


class Spool:
    """The file of one destination. A process that forks must not keep one open over the fork.

    ``limit`` is how many records may wait; the oldest are dropped, counted and complained of.
    """

    def __init__(self, cachedir: Path, name: str, *, limit: int = RECORDS_LIMIT) -> None:
        self.path = cachedir / FOLDER / f"{name}.sqlite"
        self.name = name
        self._limit = limit
        self._db: sqlite3.Connection | None = None
        self._complained_s = float("-inf")

    def put(self, records: Sequence[Record]) -> None:
        """Append records; they outlive this process.

        Raises:
            StoreError: they could not be written.
        """
        lines = [(pack_record(one),) for one in records]
        with self._transaction("IMMEDIATE") as db:
            db.executemany("INSERT INTO records (line) VALUES (?)", lines)
            dropped = self._make_room(db)
        if dropped:
            self._complain(dropped)

    def peek(self, most: int) -> list[Waiting]:
        """Return the oldest records, which stay until :meth:`remove`."""
        with self._transaction() as db:
            rows = db.execute("SELECT number, line FROM records ORDER BY number LIMIT ?", (most,))
            return [Waiting(*row) for row in rows]

    def remove(self, numbers: Sequence[int]) -> None:
        """Forget records that their server has."""
        with self._transaction("IMMEDIATE") as db:
            db.executemany("DELETE FROM records WHERE number = ?", [(one,) for one in numbers])

    def count(self) -> int:
        """Return how many records wait; without a file, none does."""
        if self._db is None and not self.path.exists():
            return 0
        with self._transaction() as db:
            return int(db.execute("SELECT rows FROM totals").fetchone()[0])

    @contextmanager
    def taking(self) -> Iterator[bool]:
        """Be the only one who takes out; ``False`` if somebody else is."""
        disk.make_dir(self.path.parent)
        with disk.locked(self.path.with_suffix(".lock"), wait=False) as mine:
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

    def _complain(self, dropped: int) -> None:
        now_s = time.monotonic()
        if now_s - self._complained_s >= COMPLAINT_S:
            self._complained_s = now_s
            log.error(
                "The server of the returner %s has been away too long: the %d oldest records that "
                "waited for it were dropped",
                self.name,
                dropped,
            )

    @contextmanager
    def _transaction(self, mode: str = "DEFERRED") -> Iterator[sqlite3.Connection]:
        try:
            if self._db is None:
                self._db = self._open()
            self._db.execute(f"BEGIN {mode}")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self.close()
            raise StoreError(f"{self.path}: {error}") from error

    def _open(self) -> sqlite3.Connection:
        disk.make_dir(self.path.parent)
        with disk.locked(self.path.with_suffix(".make")):
            disk.create_file(self.path, b"")
        db = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.executescript(_SCHEMA)
        except sqlite3.Error:
            db.close()
            raise
        return db

    # --- what others see of it -----------------------------------------------------------

    def mark(self, waits: bool) -> None:
        """Leave a sign, for whoever tries again later, that records wait here, or take it away."""
        sign = self.path.with_suffix(WAITS)
        if waits:
            disk.create_file(sign, b"")
        else:
            disk.remove(sign)

    def remember_target(self, options: Mapping[str, Any]) -> None:
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
