"""Jobs, returns and events in the tables of Salt's SQL returners.

What differs between the servers is data here (:class:`Dialect`); drivers speak DB-API, all three
with ``%s``. Source: tables and values as observed on Salt 3006.30; docs/returners.md.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final, Protocol

from saltlite.core.jid import new_jid
from saltlite.databases.records import EventRecord, LoadRecord, Record, ReturnRecord, as_text
from saltlite.errors import RecordRefused, ServerAway

FUN_LENGTH: Final = 50
"""Characters of the column ``fun``."""

CLEAN_CHUNK: Final = 5000
"""Rows deleted in one transaction, so that no reader or writer waits long."""

TABLES: Final = ("jids", "salt_returns", "salt_events")


class Cursor(Protocol):
    """The part of a DB-API cursor that is used."""

    @property
    def rowcount(self) -> int:
        """How many rows the last statement touched."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Any:
        """Run one statement."""

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]], /) -> Any:
        """Run one statement for each row."""

    def fetchall(self) -> Sequence[Sequence[Any]]:
        """All rows of the last statement."""

    def close(self) -> Any:
        """Be done."""


class Connection(Protocol):
    """The part of a DB-API connection that is used."""

    def cursor(self) -> Any:
        """A :class:`Cursor`."""

    def commit(self) -> Any:
        """Keep what was done."""

    def rollback(self) -> Any:
        """Undo what was done."""

    def close(self) -> Any:
        """End."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one kind of server wants.

    ``connect`` opens a connection; ``is_refusal`` tells of an error whether the
    same data will never be taken; after any other it may be, later.
    ``quote`` writes a column's name that may be a word of the language. ``save_load`` is the
    statement that keeps a job, ``delete_some`` the one that deletes a chunk of the ``old`` rows of
    a ``table``; ``archive`` makes the tables that such rows are copied to. ``no_nul``: JSON there
    holds no U+0000.
    """

    connect: Callable[[], Connection]
    error: type[Exception]
    is_refusal: Callable[[Exception], bool]
    save_load: str
    delete_some: str
    archive: Sequence[str]
    quote: Callable[[str], str] = str
    no_nul: bool = False
    success: Callable[[bool], Any] = lambda value: value


class SqlStore:
    """One connection, opened when it is needed and opened anew when it broke."""

    def __init__(self, dialect: Dialect, tables: str | None = None) -> None:
        self._dialect = dialect
        self._tables = tables
        self._connection: Connection | None = None

    # --- writing -------------------------------------------------------------------------

    def write(self, records: Sequence[Record]) -> None:
        """Keep records in one transaction.

        Raises:
            ServerAway: nothing was kept, or it is not known whether it was.
            RecordRefused: nothing was kept.
        """
        groups = _Rows(self._dialect)
        for record in records:
            groups.add(record)
        with self._transaction() as cursor:
            for statement, rows in groups.statements():
                cursor.executemany(statement, rows)

    def clean(self, before_s: float, *, archive: bool) -> None:
        """Forget jobs, returns and events that were written before a moment.

        With ``archive`` they are copied to ``<table>_archive`` first.
        """
        before = datetime.fromtimestamp(before_s, timezone.utc)
        if archive:
            with self._transaction() as cursor:
                for statement in self._dialect.archive:
                    cursor.execute(statement)
        for table in TABLES:
            while self._clean_some(table, before, archive=archive) >= CLEAN_CHUNK:
                pass

    def _clean_some(self, table: str, before: datetime, *, archive: bool) -> int:
        old = (
            "jid IN (SELECT DISTINCT jid FROM salt_returns WHERE alter_time < %s)"
            if table == "jids"
            else "alter_time < %s"
        )
        with self._transaction() as cursor:
            if archive:
                # All at once: between two chunks a row could be copied twice or not at all.
                copy = f"INSERT INTO {table}_archive SELECT * FROM {table} WHERE {old}"  # noqa: S608
                cursor.execute(copy, (before,))
                cursor.execute(f"DELETE FROM {table} WHERE {old}", (before,))  # noqa: S608
                return 0
            cursor.execute(self._dialect.delete_some.format(table=table, old=old), (before,))
            return cursor.rowcount

    # --- reading -------------------------------------------------------------------------

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Sequence[Sequence[Any]]:
        """Return the rows of a query; raises ServerAway, RecordRefused."""
        with self._transaction() as cursor:
            cursor.execute(statement, tuple(values))
            return cursor.fetchall()

    def load(self, jid: str) -> dict[str, Any] | None:
        """Return a job, ``None`` for one that is not known."""
        column = self._dialect.quote("load")
        rows = self.rows(f"SELECT {column} FROM jids WHERE jid = %s", [jid])  # noqa: S608 - ours
        return _mapped(rows[0][0]) if rows else None

    def returns(self, jid: str) -> dict[str, Any]:
        """Return minion id → its whole return; of two the newest."""
        statement = "SELECT id, full_ret FROM salt_returns WHERE jid = %s ORDER BY alter_time"
        return {minion: _mapped(ret) for minion, ret in self.rows(statement, [jid])}

    def last_of(self, fun: str) -> dict[str, Any]:
        """Return minion id → its newest whole return of a function."""
        statement = (
            "SELECT s.id, s.full_ret FROM salt_returns s JOIN "
            "(SELECT max(jid) AS jid, id FROM salt_returns WHERE fun = %s GROUP BY id) newest "
            "ON s.jid = newest.jid AND s.id = newest.id ORDER BY s.alter_time"
        )
        return {minion: _mapped(ret) for minion, ret in self.rows(statement, [fun[:FUN_LENGTH]])}

    def loads(self) -> dict[str, dict[str, Any]]:
        """Return jid → job of all, oldest first."""
        column = self._dialect.quote("load")
        statement = f"SELECT jid, {column} FROM jids ORDER BY jid"  # noqa: S608 - a name of ours
        return {jid: found for jid, load in self.rows(statement) if (found := _mapped(load))}

    def minions(self) -> list[str]:
        """Return the ids that returned something, sorted."""
        return sorted(row[0] for row in self.rows("SELECT DISTINCT id FROM salt_returns"))

    # --- the connection ------------------------------------------------------------------

    def close(self) -> None:
        """End the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(self._dialect.error, OSError):
                connection.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Cursor]:
        try:
            connection = self._open()
            cursor: Cursor = connection.cursor()
            yield cursor
            cursor.close()
            connection.commit()
        except (self._dialect.error, OSError) as error:
            if isinstance(error, OSError) or not self._dialect.is_refusal(error):
                self.close()
                raise ServerAway(_one_line(error)) from error
            self._roll_back()
            raise RecordRefused(_one_line(error)) from error

    def _roll_back(self) -> None:
        try:
            if self._connection is not None:
                self._connection.rollback()
        except (self._dialect.error, OSError):
            self.close()

    def _open(self) -> Connection:
        if self._connection is None:
            connection = self._dialect.connect()
            self._connection = connection
            if self._tables is not None:
                cursor = connection.cursor()
                for statement in filter(None, map(str.strip, self._tables.split(";"))):
                    cursor.execute(statement)
                cursor.close()
                connection.commit()
        return self._connection


class _Rows:
    """The rows of some records, by statement, in the order in which they have to be written."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._loads: list[Sequence[Any]] = []
        self._returns: list[Sequence[Any]] = []
        self._events: list[Sequence[Any]] = []

    def add(self, record: Record) -> None:
        if isinstance(record, LoadRecord):
            self._loads.append((record.jid, self._json(record.load)))
        elif isinstance(record, ReturnRecord):
            self._add_return(record.ret)
        else:
            self._add_event(record)

    def _add_return(self, ret: Mapping[str, Any]) -> None:
        jid = str(ret.get("jid"))
        if jid == "req":  # a minion's own return, of no job: it becomes one
            jid = new_jid(datetime.now(timezone.utc), None)
            self._loads.append((jid, self._json(ret)))
        success = ret.get("success", False)
        self._returns.append(
            (
                str(ret.get("fun"))[:FUN_LENGTH],
                jid,
                self._json(ret.get("return")),
                str(ret.get("id")),
                self._dialect.success(bool(success)),
                self._json({**ret, "jid": jid}),
            )
        )

    def _add_event(self, event: EventRecord) -> None:
        self._events.append((event.tag, self._json(event.data), event.master_id))

    def statements(self) -> Iterator[tuple[str, Sequence[Sequence[Any]]]]:
        """Each statement with its rows, if it has any."""
        keep_return = (  # the one name that varies is ours
            f"INSERT INTO salt_returns (fun, jid, {self._dialect.quote('return')}, id, success, "  # noqa: S608
            "full_ret) VALUES (%s, %s, %s, %s, %s, %s)"
        )
        keep_event = "INSERT INTO salt_events (tag, data, master_id) VALUES (%s, %s, %s)"
        for statement, rows in (
            (self._dialect.save_load, self._loads),
            (keep_return, self._returns),
            (keep_event, self._events),
        ):
            if rows:
                yield statement, rows

    def _json(self, value: Any) -> str:
        return json.dumps(_without_nul(value) if self._dialect.no_nul else value, default=as_text)


def _without_nul(value: Any) -> Any:
    """A value whose texts hold U+FFFD for U+0000, which jsonb refuses."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, Mapping):
        return {_without_nul(str(key)): _without_nul(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nul(item) for item in value]
    return value


def _mapped(value: Any) -> dict[str, Any]:
    """A column of JSON, which some drivers have read already."""
    found = json.loads(value) if isinstance(value, (str, bytes)) else value
    return found if isinstance(found, dict) else {}


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
