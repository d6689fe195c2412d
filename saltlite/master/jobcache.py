"""The job cache: what was published, to whom, and what came back.

One SQLite file, ``cachedir/jobs.sqlite``, in write-ahead mode, shared by all workers and read by
runners. A job is on disk before it is published, a return before it is acknowledged: every write is
followed by a flush of the log that all workers share (``job_cache_sync: group``).

A file that is not a database is moved aside as ``jobs.sqlite.corrupt-<time>`` and a new one begun.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from saltlite import disk
from saltlite.core.dataclasses import dataclass
from saltlite.core.job_query import ALL_JOBS, JobQuery
from saltlite.core.plain import Plain
from saltlite.errors import StoreError, WireError
from saltlite.transport.codec import pack_bin, unpack_bin

log = logging.getLogger(__name__)

FILE_NAME: Final = "jobs.sqlite"
LAYOUT: Final = 2
"""Written to the file as ``user_version``; another number means another saltlite made it.

Layout 1 is brought up to date: it has no ``minion_lists``. ``jobs.minions`` of its jobs is a list.
"""

OWN_LIST_BYTES: Final = 256
"""A longer list of minions is stored once for all jobs that have an equal one."""

LISTS_KEPT_BYTES: Final = 16 * 1024 * 1024
"""Of lists that several jobs have, in the memory of one process."""

BUSY_TIMEOUT_S: Final = 10.0
CLEAN_CHUNK: Final = 500
"""Jobs deleted in one transaction, so that nobody waits long for the cleaner."""

RETURNED_CHUNK: Final = 50
"""Returns read at once; each may be large."""

LAST_JIDS: Final = 100
"""How many of the highest jids are looked at for one that is whole."""

AFTER_ALL: Final = "\x7f"
"""Sorts behind every jid."""

RETURN_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""A larger return is cut. Source: docs/security.md#limits."""

_T = TypeVar("_T")

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS jobs (
    jid      TEXT PRIMARY KEY,
    fun      TEXT NOT NULL,
    tgt      TEXT NOT NULL,
    tgt_type TEXT NOT NULL,
    user     TEXT NOT NULL,
    load     BLOB NOT NULL,
    minions  BLOB NOT NULL  -- the list, or the number of one in minion_lists
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS jobs_by_fun ON jobs (fun, jid);
CREATE INDEX IF NOT EXISTS jobs_by_tgt ON jobs (tgt, jid);
CREATE INDEX IF NOT EXISTS jobs_by_user ON jobs (user, jid);
CREATE TABLE IF NOT EXISTS metadata (
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    jid   TEXT NOT NULL,
    PRIMARY KEY (name, value, jid)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS metadata_by_jid ON metadata (jid);
CREATE TABLE IF NOT EXISTS returns (
    jid    TEXT NOT NULL,
    id     TEXT NOT NULL,
    digest INTEGER NOT NULL,
    ret    BLOB NOT NULL,
    PRIMARY KEY (jid, id)
) WITHOUT ROWID;
"""

_UNASKED: Final = """
CREATE TABLE IF NOT EXISTS unasked (
    id         TEXT NOT NULL,
    jid        TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    PRIMARY KEY (id, jid)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS unasked_by_jid ON unasked (jid);
"""
"""What minions returned without being asked: it is they who decide how much that is."""

UNASKED_LIMIT: Final = 10_000
"""Returns of one minion that nobody asked for."""


_LISTS: Final = """
CREATE TABLE IF NOT EXISTS minion_lists (
    number INTEGER PRIMARY KEY AUTOINCREMENT,  -- none is used again
    digest BLOB NOT NULL UNIQUE,
    ids    BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS jobs_by_list ON jobs (minions) WHERE typeof(minions) = 'integer';
"""

_DROP_LISTS: Final = """
DELETE FROM minion_lists WHERE NOT EXISTS (
    SELECT 1 FROM jobs WHERE typeof(jobs.minions) = 'integer' AND jobs.minions = number
)
"""

_DROP_ORPHANS: Final = """
DELETE FROM returns WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.jid = returns.jid)
"""
"""Returns of jobs that were forgotten meanwhile; layout 1 took them."""


class Stored(Enum):
    """What became of a return."""

    NEW = "new"
    REPEAT = "repeat"
    CONFLICT = "conflict"
    FORGOTTEN = "the job is not on record any more"


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One published job. ``load`` is the publish load without ``key``."""

    jid: str
    load: dict[str, Any]
    minions: list[str]


Return: TypeAlias = tuple[str, str, Mapping[str, Plain]]
"""Job id, minion id, what it returned (``return``, ``retcode``, ``success``, ``out``…)."""

ReturnRow: TypeAlias = tuple[str, str, int, bytes]
"""Job id, minion id, what tells a repeat from a contradiction, and the packed return."""


class SqliteJobStore:
    """The job cache below ``cachedir``.

    ``flush`` shares one wait for the disk among processes (``GroupFlush``); without it every write
    waits for itself. ``sync`` is the option ``job_cache_sync``. The file is opened on first use, so
    that an instance may cross a fork unused.

    Every method raises StoreError if the disk or the file does not play along; the next call tries
    again.
    """

    def __init__(
        self,
        cachedir: Path,
        *,
        sync: str = "group",
        flush: Flush | None = None,
        read_only: bool = False,
    ) -> None:
        self.path = cachedir / FILE_NAME
        self._sync = sync
        self._flush = flush
        self._read_only = read_only
        self._db: sqlite3.Connection | None = None
        self._inode = 0
        self._lists = KeptLists()
        self._log_fd = -1
        self._lock_fd = -1

    # --- writing -------------------------------------------------------------------------

    def new_job(self, jid: str, load: Mapping[str, Plain], minions: Sequence[str]) -> bool:
        """Record a job; ``False`` if the jid is there already. On disk when it returns."""
        return self._record_job(jid, load, minions)

    def _record_job(
        self, jid: str, load: Mapping[str, Plain], minions: Sequence[str], *, mark: str = ""
    ) -> bool:
        """As :meth:`new_job`; ``mark`` is a statement about a new jid, done in the same step."""
        # key is the proof of a local user; it is on no record.
        kept = {name: value for name, value in load.items() if name != "key"}
        row = (
            jid,
            join_names(kept.get("fun")),
            join_names(kept.get("tgt")),
            str(kept.get("tgt_type", "glob")),
            str(kept.get("user", "")),
            pack_value(kept),
        )
        # Packed before the lock is taken: ten thousand ids take a while.
        ids = pack_bin(list(minions))
        pairs = list_metadata(kept)

        def write(db: sqlite3.Connection) -> bool:
            # Before the list is stored: that of a job which is not recorded would belong to nobody.
            if db.execute("SELECT 1 FROM jobs WHERE jid = ?", (jid,)).fetchone():
                return False
            whole = (*row, _list_or_number(db, ids))
            cursor = db.execute("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?)", whole)
            if cursor.rowcount and pairs:
                db.executemany(
                    "INSERT OR IGNORE INTO metadata VALUES (?, ?, ?)",
                    [(name, value, jid) for name, value in pairs],
                )
            if mark:
                db.execute(mark, (jid,))
            return bool(cursor.rowcount)

        return self._run_write(write)

    def add_minions(self, jid: str, minions: Sequence[str]) -> None:
        """Expect more minions of a job: syndics name theirs later. Nothing for an unknown job."""

        def write(db: sqlite3.Connection) -> None:
            row = db.execute("SELECT minions FROM jobs WHERE jid = ?", (jid,)).fetchone()
            if row is None:
                return
            before = self._read_list(db, row[0])
            more = sorted(set(minions).difference(before))
            if more:
                ids = pack_bin([*before, *more])
                row = (_list_or_number(db, ids), jid)
                db.execute("UPDATE jobs SET minions = ? WHERE jid = ?", row)

        # Who is expected is no promise; a return of theirs waits for the disk.
        self._run_write(write, flush=False)

    def make_room(self, jid: str, minion_id: str, ret: Mapping[str, Plain], most_bytes: int) -> int:
        """Count a return that nobody asked for, and forget the minion's oldest ones beyond bounds.

        A minion has at most ``most_bytes`` (0: any) and :data:`UNASKED_LIMIT` of them; how many
        were forgotten.
        """
        size_bytes = len(pack_return(ret))

        def write(db: sqlite3.Connection) -> int:
            db.execute(
                "INSERT OR IGNORE INTO unasked VALUES (?, ?, ?)", (minion_id, jid, size_bytes)
            )
            kept = db.execute(
                "SELECT jid, size_bytes FROM unasked WHERE id = ? ORDER BY jid DESC", (minion_id,)
            ).fetchall()
            _delete_jobs(db, extra := list_beyond(kept, most_bytes))
            return len(extra)

        # The return itself is written next, and one wait for the disk covers both.
        return self._run_write(write, flush=False)

    def add_return(self, jid: str, minion_id: str, ret: Mapping[str, Plain]) -> Stored:
        """Record one return; see :meth:`add_returns`."""
        return self.add_returns([(jid, minion_id, ret)])[0]

    def add_returns(self, returns: Sequence[Return]) -> list[Stored]:
        """Record returns, all or none; the first of each minion wins. On disk when it returns."""
        rows = [make_return_row(*one) for one in returns]
        return self._run_write(lambda db: [_add_return(db, row) for row in rows])

    def clean(self, before_jid: str) -> int:
        """Forget jobs with smaller jids, in small transactions; how many."""
        return self._delete_before(
            "SELECT jid FROM jobs WHERE jid < ? ORDER BY jid LIMIT ?", before_jid
        )

    def clean_to(self, most: int) -> int:
        """Forget the oldest jobs until ``most`` are left; how many went."""
        extra = self.count() - most
        if extra <= 0:
            return 0

        def oldest_to_keep(db: sqlite3.Connection) -> str:
            row = db.execute(
                "SELECT jid FROM jobs ORDER BY jid LIMIT 1 OFFSET ?", (extra,)
            ).fetchone()
            return row[0] if row else ""

        jid = self._run_read(oldest_to_keep)
        return self.clean(jid) if jid else 0

    def _delete_before(self, statement: str, before_jid: str) -> int:
        total = 0
        while True:

            def write(db: sqlite3.Connection) -> int:
                jids = db.execute(statement, (before_jid, CLEAN_CHUNK)).fetchall()
                _delete_jobs(db, jids)
                # In the same transaction: a new job may take up a list in the next one.
                db.execute(_DROP_LISTS)
                return len(jids)

            gone = self._run_write(write, flush=False)
            total += gone
            if gone < CLEAN_CHUNK:
                return total

    def clean_to_bytes(self, most_bytes: int) -> int:
        """Forget the oldest jobs until what is kept takes ``most_bytes``; how many went.

        The file does not shrink; what is free in it is used again.
        """
        total = 0
        while True:
            used, count = self.count_bytes(), self.count()
            if used <= most_bytes or not count:
                return total
            share = count * (used - most_bytes) // used  # as if all were of one size
            # Half of it, and then measured anew: sizes differ, and what is deleted is gone.
            gone = self.clean_to(count - max(1, min(share // 2, CLEAN_CHUNK)))
            if not gone:
                return total
            total += gone

    def count_bytes(self) -> int:
        """What jobs and returns take in the file."""

        def read(db: sqlite3.Connection) -> int:
            pages, free, size = (
                db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
            return int((pages - free) * size)

        return self._run_read(read)

    # --- reading -------------------------------------------------------------------------

    def job(self, jid: str) -> JobRecord | None:
        """The job, or ``None``."""

        def read(db: sqlite3.Connection) -> JobRecord | None:
            row = db.execute("SELECT jid, load, minions FROM jobs WHERE jid = ?", (jid,)).fetchone()
            return None if row is None else self._record_of_row(db, row)

        return self._run_read(read)

    def may_come_later(self, jid: str, now: datetime) -> bool:
        """Never: this master alone publishes what is here."""
        return False

    def minions(self, jid: str) -> list[str] | None:
        """Who is expected to return; ``None`` for an unknown jid."""

        def read(db: sqlite3.Connection) -> list[str] | None:
            row = db.execute("SELECT minions FROM jobs WHERE jid = ?", (jid,)).fetchone()
            return None if row is None else self._read_list(db, row[0])

        return self._run_read(read)

    def returns(self, jid: str) -> dict[str, dict[str, Any]]:
        """Minion id → what it returned (``return``, ``retcode``, ``success``, ``out``…)."""

        def read(db: sqlite3.Connection) -> dict[str, dict[str, Any]]:
            rows = db.execute("SELECT id, ret FROM returns WHERE jid = ? ORDER BY id", (jid,))
            return {minion_id: unpack_map(ret) for minion_id, ret in rows}

        return self._run_read(read)

    def count_returns(self, jid: str) -> int:
        """How many minions have returned."""
        return int(self._fetch_rows("SELECT count(*) FROM returns WHERE jid = ?", (jid,))[0][0])

    def returns_except(
        self, jid: str, had: Collection[str], most_bytes: int
    ) -> tuple[dict[str, dict[str, Any]], int]:
        """As :meth:`returns`, but of other minions than ``had``, and the bytes of them.

        At most ``most_bytes``; the first comes however large it is.
        """

        def read(db: sqlite3.Connection) -> tuple[dict[str, dict[str, Any]], int]:
            # The ids first, then one return after the other: all of them may be gigabytes.
            ids = db.execute("SELECT id FROM returns WHERE jid = ? ORDER BY id", (jid,)).fetchall()
            statement = "SELECT ret FROM returns WHERE jid = ? AND id = ?"
            rows = ((one, db.execute(statement, (jid, one)).fetchone())
                    for (one,) in ids if one not in had)  # fmt: skip
            # The cleaner may have come since the ids were read.
            sized = (((one, row[0]), len(row[0])) for one, row in rows if row is not None)
            taken = list(take_fitting(sized, most_bytes))
            found = {minion_id: unpack_map(packed) for minion_id, packed in taken}
            return found, sum(len(packed) for _one, packed in taken)

        return self._run_read(read)

    def list_returned(
        self, minion_id: str, *, since: str = ""
    ) -> Iterator[tuple[JobRecord, dict[str, Any]]]:
        """The jobs that a minion returned, newest first, each with what it returned.

        ``since`` is a jid or the beginning of one. Read in chunks, so the store is not held.
        """
        statement = (
            "SELECT jobs.jid, load, minions, ret FROM returns JOIN jobs ON jobs.jid = returns.jid "
            "WHERE returns.jid >= ? AND returns.jid < ? AND returns.id = ? "
            "ORDER BY returns.jid DESC LIMIT ?"
        )
        before = AFTER_ALL
        while True:
            rows = self._fetch_rows(statement, (since, before, minion_id, RETURNED_CHUNK))
            for jid, load, minions, ret in rows:
                yield self._read_record((jid, load, minions)), unpack_map(ret)
            if len(rows) < RETURNED_CHUNK:
                return
            # By the jid, not by an offset: what comes and goes meanwhile shifts nothing.
            before = rows[-1][0]

    def jobs(self, query: JobQuery = ALL_JOBS) -> Iterator[JobRecord]:
        """The jobs that fit, oldest first unless asked otherwise; the store is not held."""
        where, values = _make_conditions(query)
        order = "DESC" if query.newest_first else "ASC"
        beyond = "<" if query.newest_first else ">"
        left = query.limit or None
        last: str | None = None
        while left is None or left > 0:
            chunk = CLEAN_CHUNK if left is None else min(left, CLEAN_CHUNK)
            here = [*where] if last is None else [*where, f"jobs.jid {beyond} ?"]
            bound = [*values] if last is None else [*values, last]
            statement = (
                "SELECT jid, load, minions FROM jobs"  # noqa: S608 - only literals of ours
                + (" WHERE " + " AND ".join(here) if here else "")
                + f" ORDER BY jid {order} LIMIT {chunk}"
            )
            rows = self._fetch_rows(statement, bound)
            yield from map(self._read_record, rows)
            if len(rows) < chunk:
                return
            last = rows[-1][0]
            left = None if left is None else left - len(rows)

    def _read_record(self, row: tuple[Any, ...]) -> JobRecord:
        stored = row[2]
        ids = self._lists.get(stored) if isinstance(stored, int) else unpack_list(stored)
        if ids is not None:  # most: a look at the file for each would take half of the time
            return JobRecord(row[0], unpack_map(row[1]), ids)
        return self._run_read(lambda db: self._record_of_row(db, row))

    def _record_of_row(self, db: sqlite3.Connection, row: tuple[Any, ...]) -> JobRecord:
        return JobRecord(row[0], unpack_map(row[1]), self._read_list(db, row[2]))

    def _read_list(self, db: sqlite3.Connection, stored: bytes | int) -> list[str]:
        """The ids; of a list that is shared, one object for all who ask."""
        if not isinstance(stored, int):
            return unpack_list(stored)
        known = self._lists.get(stored)
        if known is None:
            row = db.execute("SELECT ids FROM minion_lists WHERE number = ?", (stored,)).fetchone()
            known = [] if row is None else unpack_list(row[0])
            self._lists.keep(stored, known)
        return known

    def _fetch_rows(self, statement: str, values: Sequence[str | int]) -> list[tuple[Any, ...]]:
        return self._run_read(lambda db: db.execute(statement, values).fetchall())

    def count(self) -> int:
        """How many jobs are kept."""
        return self._run_read(lambda db: int(db.execute("SELECT count(*) FROM jobs").fetchone()[0]))

    def last_jids(self, before: str = AFTER_ALL) -> list[str]:
        """The highest jids on record below ``before``, the highest first."""
        statement = "SELECT jid FROM jobs WHERE jid < ? ORDER BY jid DESC LIMIT ?"
        return [str(row[0]) for row in self._fetch_rows(statement, (before, LAST_JIDS))]

    # --- the file ------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
        self._forget_file()

    def _forget_file(self) -> None:
        for fd in (self._log_fd, self._lock_fd):
            if fd >= 0:
                os.close(fd)
        self._db, self._log_fd, self._lock_fd, self._inode = None, -1, -1, 0
        # In another file the numbers stand for other lists.
        self._lists = KeptLists()

    def _abandon_file(self) -> None:
        """Leave the file open for good: it is not at its path any more, or soon will not be.

        SQLite would bring the log into a damaged file, and delete log and index by their names,
        which are those of the next file by then.
        """
        if self._db is not None:
            import ctypes  # only here

            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))
        self._forget_file()

    def checkpoint(self) -> None:
        """Bring the log into the file and cut it; maintenance does so now and then."""
        # Not by _run_write: within a transaction SQLite refuses it.
        self._run_read(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())

    def _run_write(self, work: Callable[[sqlite3.Connection], _T], *, flush: bool = True) -> _T:
        def transact(db: sqlite3.Connection) -> _T:
            with self._lock_for_writing():
                db.execute("BEGIN IMMEDIATE")
                try:
                    result = work(db)
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")
            return result

        result = self._run_on_whole_file(transact)
        # Outside the lock: others write while this one waits, and one flush serves all.
        if flush and self._sync != "never":
            self._wait_for_disk()
        return result

    def _run_read(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        return self._run_on_whole_file(work)

    def _run_on_whole_file(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run ``work``; a file found corrupt is put aside and the work done on a new one."""
        try:
            return self._run_once(work)
        except _Corrupt as error:
            self._put_aside(error)
        try:
            return self._run_once(work)
        except _Corrupt as error:
            raise StoreError(f"job cache {self.path}: {error}") from error

    def _run_once(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        try:
            return work(self._get_connection())
        except sqlite3.OperationalError as error:
            if not self._is_in_place():  # another process has put it aside meanwhile
                raise _Corrupt(str(error)) from error
            # A full disk, or a lock held too long: the file is whole; the next call opens it.
            self.close()
            raise StoreError(f"job cache {self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            # A damaged file is this type itself; the subclasses are mistakes of the caller.
            if type(error) is not sqlite3.DatabaseError:
                raise
            raise _Corrupt(str(error)) from error

    @contextlib.contextmanager
    def _lock_for_writing(self) -> Iterator[None]:
        """Writers stand in line at a lock of ours: SQLite's own makes them sleep and poll."""
        fcntl.lockf(self._lock_fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._lock_fd, fcntl.LOCK_UN)

    def _get_connection(self) -> sqlite3.Connection:
        if self._db is not None:
            if self._is_in_place():
                return self._db
            self._abandon_file()
        return self._open_file()

    def _is_in_place(self) -> bool:
        """Whether the path still leads to the file that is open; somebody may have removed it."""
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def _open_file(self) -> sqlite3.Connection:
        """Open the file, or begin one; nobody puts it aside meanwhile."""
        if self._read_only and not self.path.exists():
            # A reader makes no file: it could belong to another user than the master's.
            return _open_empty()
        disk.make_dir(self.path.parent)
        try:
            with disk.hold_lock(self.path.with_name(FILE_NAME + ".open")):
                self._create_private()
                db = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
                # Before the schema: if that fails, what is open has to be found.
                self._db = db
                self._inode = os.stat(self.path).st_ino
                self._prepare_schema(db)
        except OSError as error:
            self.close()
            raise StoreError(f"job cache {self.path}: {error.strerror}") from error
        return db

    def _create_private(self) -> None:
        """The file and its lock with their final mode, before SQLite makes them with another."""
        self._lock_fd = os.open(
            self.path.with_name(FILE_NAME + ".lock"),
            os.O_RDWR | os.O_CREAT | os.O_CLOEXEC,
            disk.PRIVATE_FILE,
        )
        # Before SQLite opens it: to close any descriptor of the file gives up SQLite's locks on it.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, disk.PRIVATE_FILE))

    def _prepare_schema(self, db: sqlite3.Connection) -> None:
        with (
            self._lock_for_writing()
        ):  # SQLite does not wait for another process that does the same
            db.execute("PRAGMA journal_mode = WAL")
        # The log is flushed by _wait_for_disk, once for all who wrote; SQLite itself flushes when
        # it brings the log into the file.
        db.execute("PRAGMA synchronous = NORMAL")
        # In KiB (negative), and for each of many workers: the default is 2 MiB.
        db.execute("PRAGMA cache_size = -512")
        found = db.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, 1, LAYOUT):
            raise sqlite3.DatabaseError(f"made by another saltlite (layout {found})")
        if found != LAYOUT:
            with self._lock_for_writing():
                _bring_up_to_date(db)
        # Files of this layout that are older than the table have all the rest.
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'unasked'").fetchone():
            with self._lock_for_writing():
                db.executescript(_UNASKED)

    def _wait_for_disk(self) -> None:
        try:
            if self._flush is None or self._sync == "always":
                self._flush_log()
            else:
                self._flush.wait(self._flush.take(), self._flush_log)
        except OSError as error:
            self.close()
            raise StoreError(f"job cache {self.path}: {error.strerror}") from error

    def _flush_log(self) -> None:
        if self._log_fd < 0:
            # SQLite's locks are not on the log, so a second descriptor of it does no harm.
            self._log_fd = os.open(f"{self.path}-wal", os.O_RDWR | os.O_CLOEXEC)
            disk.flush_dir(self.path.parent)
        os.fdatasync(self._log_fd)

    def _put_aside(self, error: Exception) -> None:
        inode = self._inode
        self._abandon_file()
        try:
            with disk.hold_lock(self.path.with_name(FILE_NAME + ".open")):
                if os.stat(self.path).st_ino != inode:
                    return  # another process has done it
                aside = f"{self.path}.corrupt-{int(time.time())}"
                # The log first: a new file must not find it.
                for suffix in ("-wal", "-shm", ""):
                    with contextlib.suppress(FileNotFoundError):
                        os.rename(f"{self.path}{suffix}", f"{aside}{suffix}")
        except FileNotFoundError:
            return
        except OSError as problem:
            raise StoreError(f"job cache {self.path}: {problem.strerror}") from problem
        log.error(
            "The job cache cannot be read (%s); moved to %s, a new one is begun", error, aside
        )


class _Corrupt(Exception):
    """What SQLite says of a file that is no database, or no whole one."""


class Flush(Protocol):
    """What the store needs of ``GroupFlush``."""

    def take(self) -> int:
        """A ticket."""

    def wait(self, ticket: int, flush: Callable[[], None]) -> None:
        """Until the ticket is served."""


def jid_before(now: datetime, age_s: float) -> str:
    """The smallest jid of jobs that are not older than ``age_s``."""
    moment = now.astimezone(timezone.utc) - timedelta(seconds=age_s)
    return moment.strftime("%Y%m%d%H%M%S%f")


def _open_empty() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(_SCHEMA + _LISTS + _UNASKED)
    return db


class KeptLists:
    """Lists of minions by their numbers or digests; the first go when they take too much."""

    def __init__(self) -> None:
        self._kept: dict[int | bytes, list[str]] = {}
        self._bytes = 0

    def get(self, number: int | bytes) -> list[str] | None:
        """The list, ``None`` if it is not kept."""
        return self._kept.get(number)

    def keep(self, number: int | bytes, ids: list[str]) -> None:
        """Keep a list that is not kept yet."""
        self._kept[number] = ids
        self._bytes += size_of_ids(ids)
        while self._bytes > LISTS_KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= size_of_ids(self._kept.pop(next(iter(self._kept))))


ID_BYTES: Final = 80
"""What an id takes in memory, about: a text, and its place in a list or set."""


def size_of_ids(ids: Sized) -> int:
    """What so many ids take in memory, about."""
    return 200 + ID_BYTES * len(ids)


def _bring_up_to_date(db: sqlite3.Connection) -> None:
    """From nothing, or from layout 1; another process may have done it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        found = db.execute("PRAGMA user_version").fetchone()[0]
        if found != LAYOUT:
            # Not executescript, which commits the transaction first.
            for statement in (_SCHEMA + _LISTS).split(";"):
                db.execute(statement)
        if found == 1:
            db.execute(_DROP_ORPHANS)
        db.execute(f"PRAGMA user_version = {LAYOUT}")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _list_or_number(db: sqlite3.Connection, ids: bytes) -> bytes | int:
    """What a job has for its minions: the list itself, or the number of the one like it."""
    if len(ids) <= OWN_LIST_BYTES:
        return ids
    import hashlib

    digest = hashlib.sha256(ids).digest()
    found = db.execute("SELECT number FROM minion_lists WHERE digest = ?", (digest,)).fetchone()
    if found is not None:
        return int(found[0])
    cursor = db.execute("INSERT INTO minion_lists (digest, ids) VALUES (?, ?)", (digest, ids))
    return int(cursor.lastrowid or 0)


def unpack_map(data: bytes) -> dict[str, Any]:
    """A stored map; a damaged one is empty."""
    value = _unpack_value(data)
    return value if isinstance(value, dict) else {}


def unpack_list(data: bytes) -> list[str]:
    """A stored list of ids; a damaged one is empty."""
    value = _unpack_value(data)
    return [str(one) for one in value] if isinstance(value, list) else []


def _unpack_value(data: bytes) -> Plain:
    """One stored value; a damaged one counts as absent."""
    try:
        return unpack_bin(data)
    except WireError as error:
        log.warning("An entry of the job cache cannot be read: %s", error)
        return None


def join_names(names: object) -> str:
    """One text of the functions or the targets of a job, as it is looked for."""
    return ",".join(map(str, names)) if isinstance(names, (list, tuple)) else str(names or "")


def list_metadata(load: Mapping[str, object]) -> list[tuple[str, str]]:
    """The names and values by which a job can be found."""
    kwargs = load.get("kwargs")
    found = load.get("metadata") or (
        kwargs.get("metadata") if isinstance(kwargs, Mapping) else None
    )
    if not isinstance(found, Mapping):
        return []
    # Only for finding jobs; the whole value is in the load.
    return [(str(name)[:256], str(value)[:256]) for name, value in found.items()]


def pack_value(value: Mapping[str, Plain]) -> bytes:
    """A map as it is stored; raises StoreError if it cannot be."""
    try:
        return pack_bin(value)
    except WireError as error:
        raise StoreError(f"job load: {error}") from error


def pack_return(ret: Mapping[str, Plain]) -> bytes:
    """A return as it is stored: one that is too large is cut."""
    packed = pack_value(ret)
    if len(packed) <= RETURN_LIMIT_BYTES:
        return packed
    cut = {"return": f"[cut: the return was larger than {RETURN_LIMIT_BYTES} bytes]"}
    packed = pack_value({**ret, **cut})
    # It may be another field that is too large.
    return packed if len(packed) <= RETURN_LIMIT_BYTES else pack_value(cut)


def make_return_row(jid: str, minion_id: str, ret: Mapping[str, Plain]) -> ReturnRow:
    """A return as it is stored."""
    packed = pack_return(ret)
    return jid, minion_id, _digest_of(packed), packed


_ADD_RETURN: Final = """
INSERT OR IGNORE INTO returns
SELECT ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM jobs WHERE jid = ?)
"""
"""One step with the look for the job: the cleaner may have been there."""


def _add_return(db: sqlite3.Connection, row: ReturnRow) -> Stored:
    jid, minion_id, digest, _packed_value = row
    if db.execute(_ADD_RETURN, (*row, jid)).rowcount:
        return Stored.NEW
    found = db.execute(
        "SELECT digest FROM returns WHERE jid = ? AND id = ?", (jid, minion_id)
    ).fetchone()
    if found is None:
        return Stored.FORGOTTEN
    return Stored.REPEAT if found[0] == digest else Stored.CONFLICT


def _delete_jobs(db: sqlite3.Connection, jids: Sequence[tuple[str]]) -> None:
    """Delete jobs with all that belongs to them."""
    for table in ("returns", "metadata", "unasked", "jobs"):
        db.executemany(f"DELETE FROM {table} WHERE jid = ?", jids)  # noqa: S608 - names of ours


def list_beyond(kept: Sequence[tuple[str, int]], most_bytes: int) -> list[tuple[str]]:
    """Of a minion's returns, newest first, the jids of those that exceed its bounds."""
    total, extra = 0, []
    for number, (jid, size_bytes) in enumerate(kept):
        total += size_bytes
        # The newest stays, however large it is.
        if number and (number >= UNASKED_LIMIT or (most_bytes and total > most_bytes)):
            extra.append((jid,))
    return extra


def take_fitting(sized: Iterable[tuple[_T, int]], most_bytes: int) -> Iterator[_T]:
    """The first of these, at least one, that take ``most_bytes`` together; each with its bytes.

    Of what is made when it is asked for, one more is made than fits.
    """
    total = 0
    for number, (one, size_bytes) in enumerate(sized):
        total += size_bytes
        if number and total > most_bytes:
            return
        yield one


def is_same_job(load: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two publish loads of one jid are the same job, of a master above for instance."""
    return all(load.get(name) == other.get(name) for name in ("fun", "tgt", "arg"))


def _digest_of(packed: bytes) -> int:
    import zlib

    # Tells a repeat from a contradiction; forging it gains a minion nothing.
    return zlib.crc32(packed) | len(packed) << 32


def _make_conditions(query: JobQuery) -> tuple[list[str], list[str]]:
    where: list[str] = []
    values: list[str] = []
    for column, wanted in (("fun", query.fun), ("tgt", query.tgt), ("user", query.user)):
        if wanted:
            comparison = "GLOB" if any(one in wanted for one in "*?[") else "="
            where.append(f"jobs.{column} {comparison} ?")
            values.append(wanted)
    if query.since:
        where.append("jobs.jid >= ?")
        values.append(query.since)
    if query.until:
        where.append("jobs.jid <= ?")
        # The beginning of a jid stands for all that begin so.
        values.append(query.until + "\x7f")
    for name, value in query.metadata.items():
        where.append("jobs.jid IN (SELECT jid FROM metadata WHERE name = ? AND value = ?)")
        values += [name, value]
    return where, values
