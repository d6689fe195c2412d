"""PostgreSQL: how ``pgjsonb`` and ``postgres`` connect, and what their statements look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.databases.sql import Dialect
from saltlite.errors import StoreError

CONNECT_TIMEOUT_S: Final = 5

DELETE_SOME: Final = (
    "DELETE FROM {table} WHERE ctid IN (SELECT ctid FROM {table} WHERE {old} LIMIT 5000)"
)
ARCHIVE: Final = tuple(
    f"CREATE TABLE IF NOT EXISTS {table}_archive (LIKE {table})"
    for table in ("jids", "salt_returns", "salt_events")
)


def make_dialect(options: Mapping[str, object], *, save_load: str, is_jsonb: bool) -> Dialect:
    """Return the dialect for a server that ``options`` name.

    Raises:
        StoreError: the driver is not installed.
    """
    try:
        import psycopg
    except ImportError as error:
        raise StoreError(
            "PostgreSQL needs the driver psycopg: pip install 'saltlite[postgres]'"
        ) from error

    arguments = connection_arguments(options)

    def connect() -> Any:
        return psycopg.connect(**arguments)

    def is_refusal(error: Exception) -> bool:
        # Classes of SQLSTATE: 22 is wrong data, 23 a broken constraint, 54 a limit of the server.
        # All else may be another tomorrow: a missing table, a right, a full disk, a lock.
        state = getattr(error, "sqlstate", None)
        return isinstance(error, psycopg.DataError) or (state or "")[:2] in {"22", "23", "54"}

    return Dialect(
        connect=connect,
        error=psycopg.Error,
        is_refusal=is_refusal,
        save_load=save_load,
        delete_some=DELETE_SOME,
        archive=ARCHIVE,
        is_jsonb=is_jsonb,
        success=lambda value: "true" if value else "false",
    )


def connection_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what libpq is told; what is not set is left to it."""
    found: dict[str, Any] = {
        "host": options["host"],
        "port": int(options["port"]),
        "user": options["user"],
        "password": options["pass"] or options["passwd"] or None,
        "dbname": options["db"],
        "connect_timeout": int(options.get("connect_timeout") or CONNECT_TIMEOUT_S),
        "keepalives_idle": 30,
        "tcp_user_timeout": 60_000,
        "application_name": "saltlite",
    }
    tls = ("sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl")
    return found | {name: options[name] for name in tls if options.get(name)}
