"""Jobs, returns and events in the tables of Salt's SQL returners.

What differs between the servers is data here (:class:`Dialect`); drivers speak DB-API, all three
with ``%s``. Source: tables and values as observed on Salt 3006.30; docs/returners.md.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Final, Protocol

from saltlite.core.dataclasses import dataclass
from saltlite.core.jsontext import pack_json
from saltlite.core.lazyregex import regex
from saltlite.databases.records import EventRecord, LoadRecord, Record, ReturnRecord
from saltlite.errors import RecordRefused, ServerAway

log = logging.getLogger(__name__)

FUN_LENGTH: Final = 50
"""Characters of the column ``fun``."""

_REFUSED: Final = regex("[\0\ud800-\udfff]")

CLEAN_CHUNK: Final = 5000
"""Rows deleted in one transaction, so that no reader or writer waits long."""

STATEMENT_BYTES: Final = 1024
"""More than a statement has besides its values."""

TABLES: Final = ("jids", "salt_returns", "salt_events")


class Cursor(Protocol):
    """The part of a DB-API cursor that is used."""

    @property
    def rowcount(self) -> int:
        """How many rows the last statement touched."""

    def execute(self, statement: str, values: Sequence[object] = ..., /) -> Any:
        """Run one statement."""

    def executemany(self, statement: str, rows: Sequence[Sequence[object]], /) -> Any:
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
    a ``table``; ``archive`` makes the tables that such rows are copied to. ``is_jsonb``: values
    there are no text, so that some that JSON may hold are refused. ``largest`` asks how many bytes
    a statement may have, and ``escaped`` says how many a text becomes in one.
    """

    connect: Callable[[], Connection]
    error: type[Exception]
    is_refusal: Callable[[Exception], bool]
    save_load: str
    delete_some: str
    archive: Sequence[str]
    quote: Callable[[str], str] = str
    is_jsonb: bool = False
    success: Callable[[bool], Any] = lambda value: value
    largest: Callable[[Cursor], int] | None = None
    escaped: Callable[[str], int] = len


class SqlStore:
    """One connection, opened when it is needed and opened anew when it broke."""

    def __init__(self, dialect: Dialect, tables: str | None = None) -> None:
        self._dialect = dialect
        self._tables = tables
        self._connection: Connection | None = None
        self._largest = 0

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
                self._check_sizes(rows)
                cursor.executemany(statement, rows)

    def _check_sizes(self, rows: Sequence[Sequence[object]]) -> None:
        """Refuse a row that takes the connection with it, each time it is tried.

        Raises:
            RecordRefused: one is too large.
        """
        if not self._largest:
            return
        for row in rows:
            texts = [value for value in row if isinstance(value, str)]
            if sum(map(len, texts)) * 2 < self._largest:
                continue  # escaping at most doubles it
            size_bytes = sum(map(self._dialect.escaped, texts)) + STATEMENT_BYTES
            if size_bytes > self._largest:
                limit = f"more than the {self._largest} that the server takes"
                raise RecordRefused(f"a statement of {size_bytes} bytes, {limit}")

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

    def rows(self, statement: str, values: Sequence[object] = ()) -> Sequence[Sequence[Any]]:
        """Return the rows of a query; raises ServerAway, RecordRefused."""
        with self._transaction() as cursor:
            cursor.execute(statement, tuple(values))
            return cursor.fetchall()

    def load(self, jid: str) -> dict[str, Any] | None:
        """Return a job, ``None`` for one that is not known."""
        column = self._dialect.quote("load")
        rows = self.rows(f"SELECT {column} FROM jids WHERE jid = %s", [jid])  # noqa: S608 - ours
        return _parse_map(rows[0][0]) if rows else None

    def returns(self, jid: str) -> dict[str, Any]:
        """Return minion id → its whole return, by id; of two the newest."""
        statement = "SELECT id, full_ret FROM salt_returns WHERE jid = %s ORDER BY alter_time"
        found = {minion: _parse_map(ret) for minion, ret in self.rows(statement, [jid])}
        return dict(sorted(found.items()))

    def last_of(self, fun: str) -> dict[str, Any]:
        """Return minion id → its newest whole return of a function."""
        statement = (
            "SELECT s.id, s.full_ret FROM salt_returns s JOIN "
            "(SELECT max(jid) AS jid, id FROM salt_returns WHERE fun = %s GROUP BY id) newest "
            "ON s.jid = newest.jid AND s.id = newest.id ORDER BY s.alter_time"
        )
        return {minion: _parse_map(ret) for minion, ret in self.rows(statement, [fun[:FUN_LENGTH]])}

    def loads(self) -> dict[str, dict[str, Any]]:
        """Return jid → job of all, oldest first."""
        column = self._dialect.quote("load")
        statement = f"SELECT jid, {column} FROM jids ORDER BY jid"  # noqa: S608 - a name of ours
        return {jid: found for jid, load in self.rows(statement) if (found := _parse_map(load))}

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
        except ValueError as error:  # the driver cannot send it: half of a surrogate pair
            self._roll_back()
            raise RecordRefused(_one_line(error)) from error
        except BaseException:
            self._roll_back()
            raise

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
            cursor = connection.cursor()
            for statement in filter(None, map(str.strip, (self._tables or "").split(";"))):
                cursor.execute(statement)
            self._largest = self._dialect.largest(cursor) if self._dialect.largest else 0
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

    def _add_return(self, ret: Mapping[str, object]) -> None:
        success = ret.get("success", False)
        self._returns.append(
            (
                str(ret.get("fun"))[:FUN_LENGTH],
                str(ret.get("jid")),
                self._json(ret.get("return")),
                str(ret.get("id")),
                self._dialect.success(bool(success)),
                self._json(ret),
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

    def _json(self, value: object) -> str:
        return pack_json(_for_jsonb(value) if self._dialect.is_jsonb else value)


def _for_jsonb(value: object) -> Any:
    """A value without what ``jsonb`` refuses.

    U+FFFD stands for U+0000 and for half of a surrogate pair, null for what is no number.
    """
    if isinstance(value, str):
        return _REFUSED.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_for_jsonb(str(key)): _for_jsonb(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_for_jsonb(item) for item in value]
    return value


def _parse_map(value: object) -> dict[str, Any]:
    """A column of JSON, which some drivers have read already; empty if it is damaged."""
    try:
        found = json.loads(value) if isinstance(value, (str, bytes)) else value
    except ValueError as error:
        log.warning("A row that is not JSON, cut perhaps, is read as an empty one: %s", error)
        return {}
    return found if isinstance(found, dict) else {}


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
