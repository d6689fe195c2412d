"""The reports of runs of states in one SQLite file, ``cachedir/reports.sqlite``.

On a master all workers write it and runners read it; on a minion without a master ``salt-call``
does both. What is in it can be read out of returns only, so nobody waits for the disk: a power
failure may cost the last reports, never a return. A file that is not a database is moved aside as
``reports.sqlite.corrupt-<time>`` and a new one begun. Source: docs/reports.md.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from saltlite import disk
from saltlite.core.state_reports import (
    ReportQuery,
    StateRow,
    StateRun,
    pack_changes,
    pack_counts,
    unpack_changes,
    unpack_counts,
)
from saltlite.errors import StoreError

log = logging.getLogger(__name__)

FILE_NAME: Final = "reports.sqlite"
LAYOUT: Final = 1
BUSY_TIMEOUT_S: Final = 10.0
CLEAN_CHUNK: Final = 500
"""Runs deleted in one transaction, so that nobody waits long for the cleaner."""

READ_CHUNK: Final = 500

_T = TypeVar("_T")

_SCHEMA: Final = """
CREATE TABLE state_runs (
    run         INTEGER PRIMARY KEY AUTOINCREMENT,
    at_s        REAL NOT NULL,
    jid         TEXT NOT NULL,
    minion      TEXT NOT NULL,
    place       INTEGER NOT NULL,
    user        TEXT NOT NULL,
    fun         TEXT NOT NULL,
    saltenv     TEXT NOT NULL,
    test        INTEGER NOT NULL,
    total       INTEGER NOT NULL,
    changed     INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    duration_ms REAL NOT NULL,
    left_out    INTEGER NOT NULL,
    sls         TEXT NOT NULL,
    size        INTEGER NOT NULL,  -- bytes, with its states
    UNIQUE (jid, minion, place)
);
CREATE INDEX state_runs_by_time ON state_runs (at_s);
CREATE INDEX state_runs_by_minion ON state_runs (minion, at_s);
CREATE TABLE state_rows (
    run         INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    sls         TEXT NOT NULL,
    ident       TEXT NOT NULL,
    function    TEXT NOT NULL,
    name        TEXT NOT NULL,
    result      INTEGER,  -- NULL: would be changed
    duration_ms REAL NOT NULL,
    comment     TEXT NOT NULL,
    changes     TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
CREATE INDEX state_rows_by_name ON state_rows (name, run);
"""

_ADD_RUN: Final = """
INSERT OR IGNORE INTO state_runs (
    at_s, jid, minion, place, user, fun, saltenv, test, total, changed, failed, duration_ms,
    left_out, sls, size
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_ROW: Final = "INSERT INTO state_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

RUN_COLUMNS: Final = (
    "state_runs.at_s, state_runs.jid, state_runs.minion, state_runs.place, state_runs.user, "
    "state_runs.fun, state_runs.saltenv, state_runs.test, state_runs.total, state_runs.changed, "
    "state_runs.failed, state_runs.duration_ms, state_runs.left_out, state_runs.sls"
)
ROW_COLUMNS: Final = (
    "state_rows.number, state_rows.sls, state_rows.ident, state_rows.function, state_rows.name, "
    "state_rows.result, state_rows.duration_ms, state_rows.comment, state_rows.changes"
)


class StateReportFile:
    """The reports below ``cachedir``, for one thread of one process; opened at its first use.

    Every method raises StoreError if the disk or the file does not play along; the next call tries
    again.
    """

    def __init__(self, cachedir: Path) -> None:
        self.path = cachedir / FILE_NAME
        self._db: sqlite3.Connection | None = None
        self._inode = 0
        self._pid = 0

    # --- writing -------------------------------------------------------------------------

    def add_runs(self, runs: Sequence[StateRun]) -> None:
        """Keep runs; one that is there already is left as it is."""
        if not runs:
            return
        packed = [(run, [row_values(row) for row in run.rows]) for run in runs]

        def write(db: sqlite3.Connection) -> None:
            for run, rows in packed:
                cursor = db.execute(_ADD_RUN, run_values(run, rows))
                if cursor.rowcount:
                    number = cursor.lastrowid
                    db.executemany(_ADD_ROW, [(number, *row) for row in rows])

        self._run_write(write)

    def clean(self, before_s: float) -> int:
        """Forget runs from before a moment (seconds since the epoch); how many."""
        return self._delete_found("SELECT run FROM state_runs WHERE at_s < ? LIMIT ?", before_s)

    def clean_to_bytes(self, most_bytes: int) -> int:
        """Forget runs until what is kept takes ``most_bytes``, see :func:`forget`; how many."""
        return forget(self, most_bytes)

    def find_greedy(self) -> str:
        """See ``Forgetful``."""
        return greedy_of(self._fetch_rows(FULLEST, ()))

    def count_runs(self, minion: str) -> int:
        """See ``Forgetful``."""
        where, values = of_minion(minion, SQLITE)
        rows = self._fetch_rows(f"SELECT count(*) FROM state_runs {where}", values)  # noqa: S608 - ours
        return int(rows[0][0]) if rows else 0

    def forget_oldest(self, minion: str, count: int) -> int:
        """See ``Forgetful``."""
        where, values = of_minion(minion, SQLITE)
        statement = f"SELECT run FROM state_runs {where} ORDER BY at_s, run LIMIT ?"  # noqa: S608 - ours

        def write(db: sqlite3.Connection) -> int:
            rows = db.execute(statement, (*values, count)).fetchall()
            _delete_runs(db, rows)
            return len(rows)

        return self._run_write(write)

    def _delete_found(self, statement: str, before_s: float) -> int:
        total = 0
        while True:

            def write(db: sqlite3.Connection) -> int:
                rows = db.execute(statement, (before_s, CLEAN_CHUNK)).fetchall()
                _delete_runs(db, rows)
                return len(rows)

            gone = self._run_write(write)
            total += gone
            if gone < CLEAN_CHUNK:
                return total

    def count_bytes(self) -> int:
        """What is kept takes in the file."""

        def read(db: sqlite3.Connection) -> int:
            pages, free, size = (
                db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
            return int((pages - free) * size)

        return self._run_read(read, 0)

    # --- reading -------------------------------------------------------------------------

    def list_rows(self, query: ReportQuery) -> list[tuple[StateRun, StateRow]]:
        """The notable states that fit, each with its run (whose ``rows`` are not read)."""
        where, values = make_conditions(query, SQLITE)
        order = (
            "state_rows.duration_ms DESC"
            if query.slowest
            else "state_runs.at_s DESC, state_runs.run DESC, state_rows.number"
        )
        rows = self._fetch_rows(
            f"SELECT {RUN_COLUMNS}, {ROW_COLUMNS} FROM state_rows "  # noqa: S608 - literals of ours
            f"JOIN state_runs ON state_runs.run = state_rows.run {where} ORDER BY {order} LIMIT ?",
            (*values, query.limit),
        )
        return [(run_of(row[:14]), row_of(row[14:])) for row in rows]

    def read_runs(self, query: ReportQuery) -> Iterator[StateRun]:
        """Whole runs, of each minion the oldest first; only times and minions restrict them."""
        where, values = make_run_conditions(query, SQLITE)
        rows = self._fetch_rows(
            f"SELECT run FROM state_runs {where} ORDER BY minion, at_s, run",  # noqa: S608 - ours
            values,
        )
        numbers = [row[0] for row in rows]
        for start in range(0, len(numbers), READ_CHUNK):
            yield from self._read_whole(numbers[start : start + READ_CHUNK])

    def _read_whole(self, numbers: Sequence[int]) -> Iterator[StateRun]:
        marks = ",".join("?" * len(numbers))
        runs = self._fetch_rows(
            f"SELECT run, {RUN_COLUMNS} FROM state_runs WHERE run IN ({marks})",  # noqa: S608
            numbers,
        )
        rows: dict[int, list[StateRow]] = {}
        for row in self._fetch_rows(
            f"SELECT run, {ROW_COLUMNS} FROM state_rows WHERE run IN ({marks}) "  # noqa: S608
            "ORDER BY run, number",
            numbers,
        ):
            rows.setdefault(row[0], []).append(row_of(row[1:]))
        found = {row[0]: run_of(row[1:], rows.get(row[0], ())) for row in runs}
        # The cleaner may have come since.
        yield from (found[number] for number in numbers if number in found)

    def _fetch_rows(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._run_read(lambda db: db.execute(statement, values).fetchall(), [])

    # --- the file ------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Bring the log into the file and cut it; maintenance does so now and then."""
        self._run_read(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone(), None)

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        db, self._db = self._db, None
        if db is not None:
            with contextlib.suppress(sqlite3.Error):
                db.close()

    def _abandon_file(self) -> None:
        """Leave the file open for good: it is the parent's, or not at its path any more.

        SQLite would delete log and index by their names, which are those of the next file by then.
        """
        _left_open.append(self._db)
        self._db = None

    def _run_read(self, work: Callable[[sqlite3.Connection], _T], empty: _T) -> _T:
        """What is read; ``empty`` where there is no file, and none is made."""
        if self._db is None and not self.path.exists():
            return empty
        return self._run_work(work)

    def _run_write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        def transact(db: sqlite3.Connection) -> _T:
            # Writers stand in line at a lock of ours: SQLite's own makes them sleep and poll.
            with disk.hold_lock(self.path.with_name(f"{FILE_NAME}.lock")):
                db.execute("BEGIN IMMEDIATE")
                try:
                    result = work(db)
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")
                return result

        return self._run_work(transact)

    def _run_work(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        try:
            return work(self._open_file())
        except sqlite3.OperationalError as error:
            # A full disk, or a lock held too long: the file is whole.
            self.close()
            raise StoreError(f"reports {self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            # A damaged file is this type itself; the subclasses are mistakes of the caller.
            if type(error) is not sqlite3.DatabaseError:
                raise
            self._put_aside(error)
            raise StoreError(f"reports {self.path}: {error}") from error
        except OSError as error:
            raise StoreError(f"reports {self.path}: {error.strerror}") from error

    def _open_file(self) -> sqlite3.Connection:
        if self._db is not None:
            if self._pid == os.getpid() and self._is_in_place():
                return self._db
            self._abandon_file()
        disk.make_dir(self.path.parent)
        with disk.hold_lock(self.path.with_name(f"{FILE_NAME}.lock")):
            # With its final mode, before SQLite makes it with another.
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            os.close(os.open(self.path, flags, disk.PRIVATE_FILE))
            db = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
            self._db, self._pid = db, os.getpid()
            self._inode = os.stat(self.path).st_ino
            _prepare_schema(db)
        return db

    def _is_in_place(self) -> bool:
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def _put_aside(self, error: Exception) -> None:
        self._abandon_file()
        aside = f"{self.path}.corrupt-{int(time.time())}"
        with disk.hold_lock(self.path.with_name(f"{FILE_NAME}.lock")):
            if not self._is_in_place():
                return  # another process has done it
            # The log first: a new file must not find it.
            for suffix in ("-wal", "-shm", ""):
                with contextlib.suppress(FileNotFoundError):
                    os.rename(f"{self.path}{suffix}", f"{aside}{suffix}")
        log.error("The reports cannot be read (%s); moved to %s, new ones are begun", error, aside)


_left_open: list[object] = []
"""Connections that nobody may close."""


def _prepare_schema(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    # In KiB (negative), and for each of many workers: the default is 2 MiB.
    db.execute("PRAGMA cache_size = -256")
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found == LAYOUT:
        return
    if found:
        raise sqlite3.DatabaseError(f"made by another saltlite (layout {found})")
    db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {LAYOUT}; COMMIT;")


def _delete_runs(db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    for table in ("state_rows", "state_runs"):
        db.executemany(f"DELETE FROM {table} WHERE run = ?", rows)  # noqa: S608 - names of ours


# --- forgetting, for each kind of database ------------------------------------------------------

GREEDY_SHARE: Final = 0.25
"""A minion that has more than this of all that is kept forgets first."""

FULLEST: Final = """
SELECT minion, sum(size) AS held, (SELECT sum(size) FROM state_runs) AS together
FROM state_runs GROUP BY minion ORDER BY held DESC LIMIT 1
"""


class Forgetful(Protocol):
    """Reports that are too many; ``minion`` is one of them, empty for all."""

    def count_bytes(self) -> int:
        """What is kept takes."""

    def find_greedy(self) -> str:
        """The minion that has more than :data:`GREEDY_SHARE` of all, empty if none has."""

    def count_runs(self, minion: str) -> int:
        """How many runs are kept."""

    def forget_oldest(self, minion: str, count: int) -> int:
        """Forget so many of the oldest; how many went."""


def forget(reports: Forgetful, most_bytes: int) -> int:
    """Forget the oldest runs until what is kept takes ``most_bytes``; how many went.

    A minion that has much more than others, by whatever it returns, pays for it first: else any
    one could have what all others did forgotten.
    """
    total = 0
    while (used := reports.count_bytes()) > most_bytes:
        minion = reports.find_greedy()
        count = reports.count_runs(minion)
        # Half of what seems to be too much, and then measured anew: sizes differ.
        extra = max(1, min(count * (used - most_bytes) // used // 2, CLEAN_CHUNK))
        gone = reports.forget_oldest(minion, extra)
        if not gone:
            break
        total += gone
    return total


def greedy_of(rows: Sequence[Sequence[Any]]) -> str:
    """The minion of :data:`FULLEST`'s row, if it has too much; empty if not, or without a row."""
    return next((minion for minion, held, all_ in rows if held > all_ * GREEDY_SHARE), "")


def of_minion(minion: str, dialect: Dialect) -> tuple[str, list[str]]:
    """``WHERE …`` for the runs of a minion, or of all without one, and its values."""
    return (f"WHERE minion = {dialect.mark}", [minion]) if minion else ("", [])


# --- rows and conditions, for each kind of database --------------------------------------------


class Dialect:
    """How one kind of database writes what the conditions need."""

    def __init__(
        self,
        *,
        mark: str,
        glob: Callable[[str, str], tuple[str, str]],
        is_one_of: str,
        contains: str,
        bind_list: Callable[[Sequence[str]], Any],
        truth: tuple[str, str],
    ) -> None:
        self.mark = mark
        self.glob = glob
        self.is_one_of = is_one_of
        self.contains = contains
        self.bind_list = bind_list
        self.truth = truth


def _bind_as_json(values: Sequence[str]) -> str:
    return json.dumps(list(values))


SQLITE: Final = Dialect(
    mark="?",
    glob=lambda column, wanted: (f"{column} GLOB ?", wanted),
    is_one_of="{} IN (SELECT value FROM json_each(?))",
    contains="instr({}, ?) > 0",
    bind_list=_bind_as_json,
    truth=("0", "1"),
)

_ONLY: Final = {
    "changed": "state_rows.changes <> '' AND state_rows.result IS NOT NULL",
    "would": "state_rows.result IS NULL",
    "either": "(state_rows.changes <> '' OR state_rows.result IS NULL)",
    "failed": "state_rows.result = {false}",
}


def make_conditions(query: ReportQuery, dialect: Dialect) -> tuple[str, list[Any]]:
    """``WHERE …`` for states, and its values."""
    parts, values = _list_run_conditions(query, dialect)
    if query.path:
        part, value = _compare_column("state_rows.name", query.path, dialect)
        if value is query.path and part.endswith(f"= {dialect.mark}"):
            # Among the changes paths are the beginnings of properties, in JSON.
            part = f"({part} OR {dialect.contains.format('state_rows.changes')})"
            values += [value, json.dumps(value)[:-1]]
        else:
            values.append(value)
        parts.append(part)
    named = (
        ("state_rows.sls", query.sls),
        ("state_rows.ident", query.ident),
        ("state_rows.function", query.function),
    )
    for column, wanted in named:
        if wanted:
            part, value = _compare_column(column, wanted, dialect)
            parts.append(part)
            values.append(value)
    if query.only:
        parts.append(_ONLY[query.only].format(false=dialect.truth[0]))
    return _join_conditions(parts), values


def make_run_conditions(query: ReportQuery, dialect: Dialect) -> tuple[str, list[Any]]:
    """``WHERE …`` for runs, and its values."""
    parts, values = _list_run_conditions(query, dialect)
    return _join_conditions(parts), values


def _join_conditions(parts: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(parts)}" if parts else ""


def _list_run_conditions(query: ReportQuery, dialect: Dialect) -> tuple[list[str], list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    if query.since_s:
        parts.append(f"state_runs.at_s >= {dialect.mark}")
        values.append(query.since_s)
    if query.until_s is not None:
        parts.append(f"state_runs.at_s < {dialect.mark}")
        values.append(query.until_s)
    if query.minions is not None:
        parts.append(dialect.is_one_of.format("state_runs.minion"))
        values.append(dialect.bind_list(sorted(query.minions)))
    if query.jid:
        parts.append(f"state_runs.jid = {dialect.mark}")
        values.append(query.jid)
    if query.user:
        # Who used sudo is on record as sudo_<name>.
        found = [
            _compare_column("state_runs.user", one, dialect)
            for one in (query.user, f"sudo_{query.user}")
        ]
        parts.append(f"({' OR '.join(part for part, _value in found)})")
        values += [value for _part, value in found]
    if query.test is not None:
        parts.append(f"state_runs.test = {dialect.truth[query.test]}")
    return parts, values


def _compare_column(column: str, wanted: str, dialect: Dialect) -> tuple[str, str]:
    if any(one in wanted for one in "*?["):
        return dialect.glob(column, wanted)
    return f"{column} = {dialect.mark}", wanted


ROW_BYTES: Final = 250
"""What a row takes besides its long texts, with its place in indexes, about."""


def run_values(run: StateRun, rows: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """A run as the columns of its row; ``rows`` are those of its states (:func:`row_values`)."""
    sls = pack_counts(run.sls)
    texts = (sls, *(text for row in rows for text in row[-2:]))
    return (
        run.at_s,
        run.jid,
        run.minion,
        run.place,
        run.user,
        run.fun,
        run.saltenv,
        run.test,
        run.total,
        run.changed,
        run.failed,
        run.duration_ms,
        run.left_out,
        sls,
        sum(len(text.encode()) for text in texts) + ROW_BYTES * (1 + len(rows)),
    )


def row_values(row: StateRow) -> tuple[Any, ...]:
    """A state as the columns of its row, without its run's number."""
    return (
        row.number,
        row.sls,
        row.ident,
        row.function,
        row.name,
        row.result,
        row.duration_ms,
        row.comment,
        pack_changes(row.changes),
    )


def run_of(columns: Sequence[Any], rows: Sequence[StateRow] = ()) -> StateRun:
    """The run of :data:`RUN_COLUMNS`."""
    at_s, jid, minion, place, user, fun, saltenv, test, total, changed, failed, ms, out, sls = (
        columns
    )
    return StateRun(
        at_s=float(at_s),
        jid=jid,
        minion=minion,
        place=place,
        user=user,
        fun=fun,
        saltenv=saltenv,
        test=bool(test),
        total=total,
        changed=changed,
        failed=failed,
        duration_ms=float(ms),
        left_out=out,
        sls=unpack_counts(sls),
        rows=tuple(rows),
    )


def row_of(columns: Sequence[Any]) -> StateRow:
    """The state of :data:`ROW_COLUMNS`."""
    number, sls, ident, function, name, result, duration_ms, comment, changes = columns
    return StateRow(
        number=number,
        sls=sls,
        ident=ident,
        function=function,
        name=name,
        result=None if result is None else bool(result),
        duration_ms=float(duration_ms),
        comment=comment,
        changes=unpack_changes(changes),
    )
