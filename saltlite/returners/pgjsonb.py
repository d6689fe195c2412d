"""``pgjsonb``: keeps jobs, returns and events in PostgreSQL, as ``jsonb``, in Salt's tables.

Options ``returner.pgjsonb.host``, ``user``, ``pass``, ``db``, ``port``, ``connect_timeout``,
``sslmode``, ``sslcert``, ``sslkey``, ``sslrootcert``, ``sslcrl``; ``create_tables: True`` makes
tables that are not there. Needs ``saltlite[postgres]``.
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
    "host": "salt", "user": "salt", "pass": "", "passwd": "", "db": "salt", "port": 5432,
    "connect_timeout": None, "sslmode": None, "sslcert": None, "sslkey": None, "sslrootcert": None,
    "sslcrl": None, "create_tables": False,
}  # fmt: skip

SAVE_LOAD: Final = (
    "INSERT INTO jids (jid, load) VALUES (%s, %s) "
    "ON CONFLICT (jid) DO UPDATE SET load = EXCLUDED.load"
)

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS jids (
    jid  varchar(255) NOT NULL PRIMARY KEY,
    load jsonb NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_jids_jsonb ON jids USING gin (load);
CREATE TABLE IF NOT EXISTS salt_returns (
    fun        varchar(50)  NOT NULL,
    jid        varchar(255) NOT NULL,
    return     jsonb        NOT NULL,
    id         varchar(255) NOT NULL,
    success    varchar(10)  NOT NULL,
    full_ret   jsonb        NOT NULL,
    alter_time timestamptz  DEFAULT now()
);
CREATE INDEX IF NOT EXISTS idx_salt_returns_id ON salt_returns (id);
CREATE INDEX IF NOT EXISTS idx_salt_returns_jid ON salt_returns (jid);
CREATE INDEX IF NOT EXISTS idx_salt_returns_fun ON salt_returns (fun);
CREATE INDEX IF NOT EXISTS idx_salt_returns_return ON salt_returns USING gin (return);
CREATE INDEX IF NOT EXISTS idx_salt_returns_full_ret ON salt_returns USING gin (full_ret);
CREATE SEQUENCE IF NOT EXISTS seq_salt_events_id;
CREATE TABLE IF NOT EXISTS salt_events (
    id         bigint       NOT NULL UNIQUE DEFAULT nextval('seq_salt_events_id'),
    tag        varchar(255) NOT NULL,
    data       jsonb        NOT NULL,
    alter_time timestamptz  DEFAULT now(),
    master_id  varchar(255) NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_salt_events_tag ON salt_events (tag);
CREATE INDEX IF NOT EXISTS idx_salt_events_data ON salt_events USING gin (data);
"""


def make_server(ctx: ReturnerContext) -> ServerReturner:
    """Return what keeps records on the server that the options name."""
    return make_returner(ctx, "pgjsonb", open_store, DEFAULTS, prefix="returner.")


def open_store(options: Mapping[str, object], keep_s: float) -> SqlStore:
    """Return a connection that is made when it is used; raises StoreError without the driver."""
    del keep_s
    dialect = make_dialect(options, save_load=SAVE_LOAD, is_jsonb=True)
    return SqlStore(dialect, SCHEMA if options["create_tables"] else None)
