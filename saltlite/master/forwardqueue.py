"""Which returns of this master have yet to go up to the master above: a place in the job cache.

Of ``salt-syndic`` alone. With it a trigger of the database notes each new return, in the
transaction that puts it on record, so that none is missed, whoever dies when; without it there is
neither table nor trigger. Rows go when the upper master has the return, or with their job.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from saltlite.core.dataclasses import dataclass
from saltlite.master.jobcache import SqliteJobStore, take_fitting, unpack_map

_SCHEMA: Final = """
CREATE TABLE forward (seq INTEGER PRIMARY KEY AUTOINCREMENT, jid TEXT NOT NULL, id TEXT NOT NULL);
CREATE INDEX forward_by_jid ON forward (jid);
CREATE TRIGGER forward_new AFTER INSERT ON returns BEGIN
    INSERT INTO forward (jid, id) VALUES (NEW.jid, NEW.id);
END;
CREATE TRIGGER forward_gone AFTER DELETE ON jobs BEGIN
    DELETE FROM forward WHERE jid = OLD.jid;
END;
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A return that the master above does not have yet."""

    seq: int
    jid: str
    id: str


class ForwardQueue(SqliteJobStore):
    """The job cache, with the returns that wait. Raises StoreError as every store does."""

    _place = 0
    _place_inode = 0

    def _prepare_schema(self, db: sqlite3.Connection) -> None:
        super()._prepare_schema(db)
        with self._lock_for_writing():
            # Also in a file that another process has just begun in place of a damaged one.
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'forward'").fetchone():
                db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")

    def begin(self) -> None:
        """Note each new return from now on; else it is from the first look on."""
        self._run_read(lambda _db: None)  # the schema is made when the file is opened

    def read_new(self, most: int) -> list[Waiting]:
        """Those that have come since the last call, in the order in which they went on record."""

        def read(db: sqlite3.Connection) -> list[Waiting]:
            # In another file the numbers begin anew.
            if self._inode != self._place_inode:
                self._place, self._place_inode = 0, self._inode
            rows = db.execute(
                "SELECT seq, jid, id FROM forward WHERE seq > ? ORDER BY seq LIMIT ?",
                (self._place, most),
            )
            return [Waiting(*row) for row in rows]

        found = self._run_read(read)
        if found:
            self._place = found[-1].seq
        return found

    def read_returns(
        self, waiting: Sequence[Waiting], most_bytes: int
    ) -> list[tuple[Waiting, dict[str, Any] | None]]:
        """What the first of these returned, at least one; ``None`` if its job is forgotten."""

        def read(db: sqlite3.Connection) -> list[tuple[Waiting, dict[str, Any] | None]]:
            statement = "SELECT ret FROM returns WHERE jid = ? AND id = ?"
            # One after the other: all of them may be gigabytes.
            rows = ((one, db.execute(statement, (one.jid, one.id)).fetchone()) for one in waiting)
            sized = ((pair, len(pair[1][0]) if pair[1] else 0) for pair in rows)
            return [
                (one, unpack_map(row[0]) if row else None)
                for one, row in take_fitting(sized, most_bytes)
            ]

        return self._run_read(read)

    def drop(self, gone: Sequence[Waiting]) -> None:
        """These are above; a row that stays because the power fails is sent once more."""
        numbers = [(one.seq, one.jid) for one in gone]

        def write(db: sqlite3.Connection) -> None:
            db.executemany("DELETE FROM forward WHERE seq = ? AND jid = ?", numbers)

        self._run_write(write, flush=False)
