"""Returners on servers of their own, and the rows that they leave there, as JSON can hold them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import databases

from saltlite.loader.catalogue import RETURNERS
from saltlite.loader.returners import Returner, resolve

NAMES = ("pgjsonb", "postgres", "mysql", "redis")
PASSWORD = "salt"
NUMBERS = {"salts": "1", "ours": "2"}
"""The names of Redis's databases."""


def context(cachedir: Path, options: dict[str, Any]) -> SimpleNamespace:
    """What a master's ReturnWriter has."""
    config = SimpleNamespace(
        paths=SimpleNamespace(
            cachedir=str(cachedir), extension_modules=str(cachedir / "none"), returner_dirs=(),
            module_dirs=(),
        ),
        process=SimpleNamespace(id="m_master"),
        jobs=SimpleNamespace(keep_jobs_seconds=86400.0),
        extra=options,
    )  # fmt: skip
    return SimpleNamespace(config=config, functions=None, writes_later=False)


@contextlib.contextmanager
def ours(name: str, options: dict[str, Any]) -> Iterator[Returner]:
    """One of our returners, which keeps what waits in a directory of its own."""
    with tempfile.TemporaryDirectory() as place:
        returner = resolve(name, context(Path(place), options))
        yield returner
        returner.server.store().close()


@contextlib.contextmanager
def server(name: str) -> Iterator[Any]:
    """A server for a returner, with as many databases as are made on it."""
    if name == "redis":
        with databases.redis() as socket:
            yield Redis(socket)
    elif name == "mysql":
        with databases.mariadb_server(listens=True) as one:
            yield Mysql(one.socket, one.port)
    else:
        with databases.postgres() as place:
            yield Postgres(name, place)


class Postgres:
    """Databases of PostgreSQL."""

    def __init__(self, name: str, place: str) -> None:
        self.name, self.place = name, place

    def make(self, database: str) -> None:
        """Make a database with Salt's tables."""
        with self._connect("postgres") as db:
            db.execute(f"CREATE DATABASE {database}")
        with self._connect(database) as db:
            db.execute(RETURNERS.load(self.name).SCHEMA)

    def options(self, database: str) -> dict[str, Any]:
        """Return the options of the returner for a database."""
        found = {"host": self.place, "port": 5432, "user": "postgres", "db": database}
        secret = "passwd" if self.name == "postgres" else "pass"
        found[secret] = PASSWORD
        return {f"returner.{self.name}.{key}": value for key, value in found.items()}

    def fill(self, database: str, rows: dict[str, Any]) -> None:
        """Insert rows as :meth:`rows` gives them."""
        with self._connect(database) as db:
            for statement, values in inserts(rows, "return", "load", self.name == "pgjsonb"):
                db.execute(statement, values)

    def rows(self, database: str) -> dict[str, Any]:
        """Return the rows of all tables."""
        with self._connect(database) as db:
            return read_tables(lambda query: db.execute(query).fetchall(), "return", "load")

    def _connect(self, database: str) -> Any:
        import psycopg

        return psycopg.connect(host=self.place, user="postgres", dbname=database, autocommit=True)


class Mysql:
    """Databases of MariaDB, over TCP: real Salt's returner knows no socket."""

    def __init__(self, socket: str, port: int) -> None:
        self.socket, self.port = socket, port
        grant = "GRANT ALL ON *.* TO salt@'127.0.0.1' IDENTIFIED BY 'salt'"
        self._run(grant)

    def _run(self, statements: str, database: str = "mysql") -> None:
        argv = ["mariadb", "--no-defaults", f"--socket={self.socket}", "--user=root", database]
        subprocess.run(argv, input=statements, text=True, check=True)

    def make(self, database: str) -> None:
        """Make a database with Salt's tables."""
        self._run(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
        self._run(RETURNERS.load("mysql").SCHEMA, database)

    def options(self, database: str) -> dict[str, Any]:
        """Return the options of the returner for a database."""
        found = {"host": "127.0.0.1", "port": self.port, "user": "salt", "pass": PASSWORD,
                 "db": database}  # fmt: skip
        return {f"mysql.{key}": value for key, value in found.items()}

    def fill(self, database: str, rows: dict[str, Any]) -> None:
        """Insert rows as :meth:`rows` gives them."""
        with contextlib.closing(self._connect(database)) as db:
            for statement, values in inserts(rows, "`return`", "`load`", False):
                db.cursor().execute(statement, values)
            db.commit()

    def _connect(self, database: str) -> Any:
        import pymysql

        where = {"host": "127.0.0.1", "port": self.port, "user": "salt", "password": PASSWORD}
        return pymysql.connect(**where, database=database)

    def rows(self, database: str) -> dict[str, Any]:
        """Return the rows of all tables."""
        with contextlib.closing(self._connect(database)) as db:

            def ask(query: str) -> Any:
                cursor = db.cursor()
                cursor.execute(query)
                return cursor.fetchall()

            return read_tables(ask, "`return`", "`load`")


class Redis:
    """Databases of Redis."""

    def __init__(self, socket: str) -> None:
        self.socket = socket

    def make(self, database: str) -> None:
        """Do nothing: a database is there."""

    def options(self, database: str) -> dict[str, Any]:
        """Return the options of the returner for a database."""
        return {"redis.unix_socket_path": self.socket, "redis.db": NUMBERS[database]}

    def _connect(self, database: str) -> Any:
        import redis

        return redis.Redis(
            unix_socket_path=self.socket, db=int(NUMBERS[database]), decode_responses=True
        )

    def fill(self, database: str, rows: dict[str, Any]) -> None:
        """Set keys as :meth:`rows` gives them."""
        db = self._connect(database)
        for key, row in rows.items():
            value = row["value"]
            if row["type"] == "hash":
                db.hset(key, mapping={one: text(item) for one, item in value.items()})
            elif row["type"] == "set":
                db.sadd(key, *value)
            else:
                db.set(key, text(value))

    def rows(self, database: str) -> dict[str, Any]:
        """Return every key: its type, its value, and whether it ends."""
        db = self._connect(database)
        reads = {
            "string": lambda key: plain(db.get(key)),
            "hash": lambda key: {one: plain(text) for one, text in db.hgetall(key).items()},
            "set": lambda key: sorted(db.smembers(key)),
            "stream": lambda key: [fields for _, fields in db.xrange(key)],
        }
        found = {}
        for key in sorted(db.keys("*")):
            kind = db.type(key)
            found[key] = {"type": kind, "value": reads[kind](key), "ends": db.ttl(key) > 0}
        return found


def read_tables(ask: Any, return_column: str, load_column: str) -> dict[str, Any]:
    """Return the rows of the three tables without their times, JSON read."""
    queries = {
        "jids": f"SELECT jid, {load_column} FROM jids ORDER BY jid",
        "salt_returns": f"SELECT fun, jid, {return_column}, id, success, full_ret "
        "FROM salt_returns ORDER BY jid, id",
        "salt_events": "SELECT tag, data, master_id FROM salt_events ORDER BY id",
    }
    return {
        table: [[plain(value) for value in row] for row in ask(query)]
        for table, query in queries.items()
    }


def plain(value: Any) -> Any:
    """A column's value; of JSON what it says."""
    if not isinstance(value, str):
        return value
    try:
        return {"json": json.loads(value)} if value[:1] in '{["' else value
    except ValueError:
        return value


def text(value: Any) -> str:
    """The reverse of :func:`plain`."""
    return json.dumps(value["json"]) if isinstance(value, dict) else str(value)


def inserts(
    rows: dict[str, Any], return_column: str, load_column: str, is_jsonb: bool
) -> Iterator[tuple[str, list[Any]]]:
    """Yield a statement with its values for each row of :func:`read_tables`."""
    columns = {
        "jids": ["jid", load_column],
        "salt_returns": ["fun", "jid", return_column, "id", "success", "full_ret"],
        "salt_events": ["tag", "data", "master_id"],
    }
    in_json = {load_column, return_column, "full_ret", "data"} if is_jsonb else set()
    for table, names in columns.items():
        marks = ", ".join(["%s"] * len(names))
        statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
        for row in rows[table]:
            values = zip(names, row, strict=True)
            yield (
                statement,
                [json.dumps(one) if name in in_json else text(one) for name, one in values],
            )
