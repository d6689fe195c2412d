"""The driver ``sqlite3``: a table of keys and values in an SQLite file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError

_NAME = regex(r"\w[\w.]*")


def get(key: str, profile: Mapping[str, object]) -> Any:
    """The value of a key, ``None`` without it."""
    with _Table(profile) as table:
        stored = table.run("SELECT value FROM {} WHERE key = ?", key)
    try:
        return None if stored is None else json.loads(stored)
    except ValueError as error:
        raise FunctionError(f"{profile['database']}: {key} was not stored by this sdb") from error


def set_(key: str, value: object, profile: Mapping[str, object]) -> bool:
    """Store a value."""
    with _Table(profile) as table:
        table.run("INSERT OR REPLACE INTO {} VALUES (?, ?)", key, json.dumps(value))
    return True


def delete(key: str, profile: Mapping[str, object]) -> bool:
    """Remove a key."""
    with _Table(profile) as table:
        table.run("DELETE FROM {} WHERE key = ?", key)
    return True


class _Table:
    """The table of one SQLite profile: a key and a value in each row."""

    def __init__(self, profile: Mapping[str, object]) -> None:
        import sqlite3

        name = str(profile.get("table") or "sdb")
        if not _NAME.fullmatch(name):
            raise FunctionError(f"not a table's name: {name!r}")
        if not profile.get("database"):
            raise FunctionError("the profile names no database")
        self._name = name
        self._file = sqlite3.connect(str(profile["database"]))
        with self._file:
            self._file.execute(
                f'CREATE TABLE IF NOT EXISTS "{name}" (key TEXT PRIMARY KEY, value BLOB)'
            )

    def __enter__(self) -> _Table:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def run(self, statement: str, *values: Any) -> Any:
        """The first column of the first row of a statement, whose ``{}`` is the table."""
        with self._file:
            row = self._file.execute(statement.format(f'"{self._name}"'), values).fetchone()
        return row[0] if row else None
