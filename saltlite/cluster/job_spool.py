"""What a node keeps on its own disk while PostgreSQL is away: ``cachedir/spool/jobs.sqlite``.

There are copies of the cluster's latest jobs, so that their returns can be taken, jobs that were
published here meanwhile, and returns that have yet to reach PostgreSQL, in the order in which they
were acknowledged. ClusterBridge empties it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from saltlite.core.plain import Plain
from saltlite.errors import StoreError
from saltlite.master.forwardqueue import ForwardQueue, Waiting
from saltlite.master.jobcache import Flush, JobRecord, Return, ReturnRow, Stored, take_fitting

FOLDER: Final = "spool"
"""Below ``cachedir``."""

_UNSENT: Final = "CREATE TABLE IF NOT EXISTS unsent (jid TEXT PRIMARY KEY) WITHOUT ROWID"


class JobSpool(ForwardQueue):
    """The job cache of a node alone. Raises StoreError as every store does."""

    def __init__(
        self,
        cachedir: Path,
        *,
        most_bytes: int,
        sync: str = "group",
        flush: Flush | None = None,
    ) -> None:
        super().__init__(cachedir / FOLDER, sync=sync, flush=flush)
        self._most_bytes = most_bytes

    def _prepare_schema(self, db: sqlite3.Connection) -> None:
        super()._prepare_schema(db)
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'unsent'").fetchone():
            with self._lock_for_writing():
                db.execute(_UNSENT)

    def exists(self) -> bool:
        """Whether there is anything at all; without a file none is made."""
        return self.path.exists()

    def publish_here(self, jid: str, load: Mapping[str, Plain], minions: Sequence[str]) -> bool:
        """Record a job that PostgreSQL does not have; ``False`` if the jid is there already."""
        self._check_room()
        if self.minions(jid) is not None:
            return False
        return self._record_job(jid, load, minions, mark="INSERT OR IGNORE INTO unsent VALUES (?)")

    def take_returns(self, returns: Sequence[Return]) -> list[Stored]:
        """Record returns that PostgreSQL does not have, or may not have.

        Whoever brings them knows that they were asked for. A job of which there is no copy here
        gets an empty one.
        """
        self._check_room()
        for jid in {one[0] for one in returns}:
            if self.minions(jid) is None:
                self.new_job(jid, {}, [])
        return self.add_returns(returns)

    def read_unsent(self, most: int) -> Iterator[JobRecord]:
        """Jobs that were published here while PostgreSQL was away, oldest first.

        One after the other: all of them may be as large as ``cluster_spool_max``.
        """
        for (jid,) in self._fetch_rows("SELECT jid FROM unsent ORDER BY jid LIMIT ?", (most,)):
            record = self.job(jid)
            if record is None:
                self.drop_unsent([jid])
            else:
                yield record

    def drop_unsent(self, jids: Sequence[str]) -> None:
        """PostgreSQL has these jobs."""
        rows = [(jid,) for jid in jids]
        if rows:
            self._run_write(
                lambda db: db.executemany("DELETE FROM unsent WHERE jid = ?", rows), flush=False
            )

    def count_waiting(self) -> int:
        """How many returns PostgreSQL does not have yet."""
        return int(self._fetch_rows("SELECT count(*) FROM forward", ())[0][0])

    def read_rows(
        self, waiting: Sequence[Waiting], most_bytes: int
    ) -> list[tuple[Waiting, ReturnRow | None]]:
        """The first of these as they are stored, at least one; ``None`` for what was forgotten."""
        statement = "SELECT jid, id, digest, ret FROM returns WHERE jid = ? AND id = ?"
        # One after the other: all of them may be gigabytes.
        rows = ((one, self._fetch_rows(statement, (one.jid, one.id))) for one in waiting)
        pairs = ((one, found[0] if found else None) for one, found in rows)
        sized = ((pair, len(pair[1][3]) if pair[1] else 0) for pair in pairs)
        return list(take_fitting(sized, most_bytes))

    def start_over(self) -> None:
        """Have :meth:`read_new` give again what was not dropped."""
        self._place = 0

    def _check_room(self) -> None:
        if self.exists() and self.count_bytes() > self._most_bytes:
            raise StoreError("what waits for the cluster engine fills cluster_spool_max")
