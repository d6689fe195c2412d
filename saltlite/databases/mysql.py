"""MySQL and MariaDB: how the returner ``mysql`` connects, and what its statements look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.databases.sql import Cursor, Dialect
from saltlite.errors import StoreError

CONNECT_TIMEOUT_S: Final = 5
LONGEST_STATEMENT_S: Final = 120
"""A table may be locked for a minute; a server that says nothing for longer is away."""

SET_SESSION: Final = "SET time_zone = '+00:00', sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')"
"""What ``alter_time`` is compared with is UTC; and no JSON is cut to the size of its column."""

SAVE_LOAD: Final = "INSERT IGNORE INTO jids (jid, `load`) VALUES (%s, %s)"
DELETE_SOME: Final = "DELETE FROM {table} WHERE {old} LIMIT 5000"
ARCHIVE: Final = tuple(
    f"CREATE TABLE IF NOT EXISTS {table}_archive LIKE {table}"
    for table in ("jids", "salt_returns", "salt_events")
)


def make_dialect(options: Mapping[str, object]) -> Dialect:
    """Return the dialect for a server that ``options`` name.

    Raises:
        StoreError: the driver is not installed.
    """
    try:
        import pymysql
    except ImportError as error:
        raise StoreError("MySQL needs the driver PyMySQL: pip install 'saltlite[mysql]'") from error

    arguments = connection_arguments(options)

    def connect() -> Any:
        return pymysql.connect(**arguments)

    def is_refusal(error: Exception) -> bool:
        # All else may be another tomorrow: a missing table, a right, a full disk, a lock.
        return isinstance(error, (pymysql.DataError, pymysql.IntegrityError))

    return Dialect(
        connect=connect,
        error=pymysql.MySQLError,
        is_refusal=is_refusal,
        save_load=SAVE_LOAD,
        delete_some=DELETE_SOME,
        archive=ARCHIVE,
        quote=lambda name: f"`{name}`",
        success=int,
        largest=_read_largest,
        escaped=_count_escaped,
    )


def _read_largest(cursor: Cursor) -> int:
    """Ask for the bytes of one packet; a longer one ends the connection without a word."""
    cursor.execute("SELECT @@max_allowed_packet")
    return int(cursor.fetchall()[0][0])


def _count_escaped(text: str) -> int:
    """Return the bytes of a text, of JSON mostly, in a statement."""
    return len(text.encode()) + sum(map(text.count, "\\\"'\0\n\r\x1a"))


def connection_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the driver is told. ``host`` may be a path: of a socket."""
    host = str(options["host"])
    found: dict[str, Any] = {
        **({"unix_socket": host} if host.startswith("/") else {"host": host}),
        "port": int(options["port"]),
        "user": options["user"],
        "password": str(options["pass"] or options["passwd"] or ""),
        "database": options["db"],
        "connect_timeout": CONNECT_TIMEOUT_S,
        "read_timeout": LONGEST_STATEMENT_S,
        "write_timeout": LONGEST_STATEMENT_S,
        "charset": "utf8mb4",
        "init_command": SET_SESSION,
    }
    tls = ("ssl_ca", "ssl_cert", "ssl_key")
    wanted = {name: options[name] for name in tls if options.get(name) not in (None, "", "None")}
    if "ssl_ca" in wanted:
        wanted["ssl_verify_cert"] = True
    return found | wanted
