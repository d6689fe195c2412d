"""``postgres``: keeps jobs, returns and events in PostgreSQL, as text, in Salt's tables.

Options ``returner.postgres.host``, ``user``, ``passwd``, ``db``, ``port``; ``create_tables: True``
makes tables that are not there, ``clean: True`` has old rows deleted. Needs ``saltlite[postgres]``.
Source: tables and values as observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.databases.postgres import make_dialect
from saltlite.databases.returner import ServerReturner, make_returner
from saltlite.databases.sql import SqlStore
from saltlite.jobs.returner_context import ReturnerContext

DRIVER: Final = "psycopg"

DEFAULTS: Final[Mapping[str, Any]] = {
    "host": "salt", "user": "salt", "passwd": "", "pass": "", "db": "salt", "port": 5432,
    "connect_timeout": None, "create_tables": False, "clean": False,
}  # fmt: skip

SAVE_LOAD: Final = "INSERT INTO jids (jid, load) VALUES (%s, %s) ON CONFLICT (jid) DO NOTHING"

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS jids (
    jid  varchar(20) PRIMARY KEY,
    load text NOT NULL
);
CREATE TABLE IF NOT EXISTS salt_returns (
    fun        varchar(50)  NOT NULL,
    jid        varchar(255) NOT NULL,
    return     text         NOT NULL,
    full_ret   text,
    id         varchar(255) NOT NULL,
    success    varchar(10)  NOT NULL,
    alter_time timestamptz  NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS idx_salt_returns_id ON salt_returns (id);
CREATE INDEX IF NOT EXISTS idx_salt_returns_jid ON salt_returns (jid);
CREATE INDEX IF NOT EXISTS idx_salt_returns_fun ON salt_returns (fun);
CREATE INDEX IF NOT EXISTS idx_salt_returns_updated ON salt_returns (alter_time);
CREATE SEQUENCE IF NOT EXISTS seq_salt_events_id;
CREATE TABLE IF NOT EXISTS salt_events (
    id         bigint       NOT NULL UNIQUE DEFAULT nextval('seq_salt_events_id'),
    tag        varchar(255) NOT NULL,
    data       text         NOT NULL,
    alter_time timestamptz  NOT NULL DEFAULT now(),
    master_id  varchar(255) NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_salt_events_tag ON salt_events (tag);
"""


class PostgresStore(SqlStore):
    """Deletes old rows only where that is wanted, since Salt's does not at all."""

    def __init__(self, options: Mapping[str, object]) -> None:
        dialect = make_dialect(options, save_load=SAVE_LOAD, is_jsonb=False)
        super().__init__(dialect, SCHEMA if options["create_tables"] else None)
        self._cleans = bool(options["clean"])

    def clean(self, before_s: float, *, archive: bool) -> None:
        """Forget what was written before a moment, if ``clean`` is set."""
        if self._cleans:
            super().clean(before_s, archive=archive)


def make_server(ctx: ReturnerContext) -> ServerReturner:
    """Return what keeps records on the server that the options name."""
    return make_returner(ctx, "postgres", open_store, DEFAULTS, prefix="returner.")


def open_store(options: Mapping[str, object], keep_s: float) -> SqlStore:
    """Return a connection that is made when it is used; raises StoreError without the driver."""
    del keep_s
    return PostgresStore(options)
