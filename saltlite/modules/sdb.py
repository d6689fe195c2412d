"""Values from small databases that the configuration names: ``sdb://profile/key``.

A profile is an option: ``{driver: env}``, ``{driver: yaml, files: [...]}`` or ``{driver: sqlite3,
database: path}``.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import merge, traverse
from saltlite.errors import ConfigError, FunctionError, UsageError
from saltlite.providers import textfile

PREFIX = "sdb://"

_NAME = re.compile(r"\w[\w.]*")


@dataclass(frozen=True, slots=True)
class Driver:
    """What one kind of database can do; ``None`` for what it cannot."""

    get: Callable[[str, Mapping[str, Any]], Any]
    set: Callable[[str, Any, Mapping[str, Any]], Any] | None = None
    delete: Callable[[str, Mapping[str, Any]], bool] | None = None


def get(ctx: MinionContext, uri: Any, strict: bool = False) -> Any:
    """The value of an address; the address itself if it is none, unless ``strict``.

    CLI Example:

        salt '*' sdb.get sdb://mymemcached/foo
    """
    if not isinstance(uri, str) or not uri.startswith(PREFIX):
        return uri
    found = _find(ctx, uri, strict)
    if found is None:
        return uri
    driver, key, profile = found
    return driver.get(key, profile)


def set_(ctx: MinionContext, uri: Any, value: Any) -> Any:
    """Store a value; ``False`` if there is no such profile.

    CLI Example:

        salt '*' sdb.set sdb://mymemcached/foo bar
    """
    found = _find(ctx, uri, False)
    if found is None:
        return False
    driver, key, profile = found
    if driver.set is None:
        raise FunctionError(f"driver {profile['driver']!r} cannot store values")
    return driver.set(key, value, profile)


def delete(ctx: MinionContext, uri: Any) -> Any:
    """Remove a value; ``False`` if there is no such profile.

    CLI Example:

        salt '*' sdb.delete sdb://mymemcached/foo
    """
    found = _find(ctx, uri, False)
    if found is None:
        return False
    driver, key, profile = found
    if driver.delete is None:
        raise FunctionError(f"driver {profile['driver']!r} cannot remove values")
    return driver.delete(key, profile)


def get_or_set_hash(
    ctx: MinionContext,
    uri: str,
    length: int = 8,
    chars: str = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)",
) -> Any:
    """The value of an address; if there is none yet, a random text is stored there first.

    CLI Example:

        salt '*' sdb.get_or_set_hash sdb://mymemcached/foo
    """
    with textfile.hold_name(ctx, str(uri)):
        value = get(ctx, uri)
        if value is None or value == uri:
            value = "".join(secrets.choice(chars) for _ in range(int(length)))
            set_(ctx, uri, value)
        return value


def _find(
    ctx: MinionContext, uri: Any, strict: bool
) -> tuple[Driver, str, Mapping[str, Any]] | None:
    if not isinstance(uri, str) or not uri.startswith(PREFIX):
        return None
    name, slash, key = uri.removeprefix(PREFIX).partition("/")
    if not slash:
        return None
    profile = ctx.config.extra.get(name) or ctx.pillar.get(name)
    if not isinstance(profile, Mapping):
        if strict:
            raise UsageError(f'SDB profile "{name}" wasnt found in the minion configuration')
        return None
    driver = DRIVERS.get(str(profile.get("driver")))
    if driver is None:
        if strict:
            raise UsageError(f'SDB driver "{profile.get("driver")}" is not available')
        return None
    return driver, key, profile


def _set_variable(key: str, value: Any, profile: Mapping[str, Any]) -> Any:
    os.environ[key] = str(value)
    return value


def _from_files(key: str, profile: Mapping[str, Any]) -> Any:
    """A value below ``a:b`` in YAML files that are laid on one another."""
    from saltlite.config.yaml import load

    joined: Any = {}
    for path in profile.get("files") or ():
        try:
            with open(path, encoding="utf-8") as file:
                values = load(file.read(), str(path))
        except (OSError, ConfigError) as error:
            raise FunctionError(f"cannot read {path}: {error}") from error
        if isinstance(values, Mapping):
            joined = merge(joined, values)
    return traverse(joined, key)


class _Table:
    """The table of one SQLite profile: a key and a value in each row."""

    def __init__(self, profile: Mapping[str, Any]) -> None:
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


def _from_table(key: str, profile: Mapping[str, Any]) -> Any:
    import json

    with _Table(profile) as table:
        stored = table.run("SELECT value FROM {} WHERE key = ?", key)
    try:
        return None if stored is None else json.loads(stored)
    except ValueError as error:
        raise FunctionError(f"{profile['database']}: {key} was not stored by this sdb") from error


def _into_table(key: str, value: Any, profile: Mapping[str, Any]) -> bool:
    import json

    with _Table(profile) as table:
        table.run("INSERT OR REPLACE INTO {} VALUES (?, ?)", key, json.dumps(value))
    return True


def _out_of_table(key: str, profile: Mapping[str, Any]) -> bool:
    with _Table(profile) as table:
        table.run("DELETE FROM {} WHERE key = ?", key)
    return True


DRIVERS: Mapping[str, Driver] = {
    "env": Driver(lambda key, profile: os.environ.get(key), _set_variable),
    "sqlite3": Driver(_from_table, _into_table, _out_of_table),
    "yaml": Driver(_from_files),
}
"""Salt's names of the drivers."""
