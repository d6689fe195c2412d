"""``mysql``: keeps jobs, returns and events in MySQL or MariaDB, in Salt's tables.

Options ``mysql.host``, ``user``, ``pass``, ``db``, ``port``, ``ssl_ca``, ``ssl_cert``, ``ssl_key``;
``mysql.create_tables: True`` makes tables that are not there. Needs ``saltlite[mysql]``.
Source: tables and values as observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.databases.mysql import make_dialect
from saltlite.databases.returner import ServerReturner, make_returner
from saltlite.databases.sql import SqlStore
from saltlite.jobs.returner_context import ReturnerContext

DRIVER: Final = "pymysql"

DEFAULTS: Final[Mapping[str, Any]] = {
    "host": "salt", "user": "salt", "pass": "", "passwd": "", "db": "salt", "port": 3306,
    "ssl_ca": None, "ssl_cert": None, "ssl_key": None, "create_tables": False,
}  # fmt: skip

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS jids (
    jid  varchar(255) NOT NULL,
    `load` mediumtext NOT NULL,
    UNIQUE KEY jid (jid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE IF NOT EXISTS salt_returns (
    fun        varchar(50)  NOT NULL,
    jid        varchar(255) NOT NULL,
    `return`   mediumtext   NOT NULL,
    id         varchar(255) NOT NULL,
    success    varchar(10)  NOT NULL,
    full_ret   mediumtext   NOT NULL,
    alter_time timestamp    NOT NULL DEFAULT CURRENT_TIMESTAMP,
    KEY id (id), KEY jid (jid), KEY fun (fun)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE IF NOT EXISTS salt_events (
    id         bigint       NOT NULL AUTO_INCREMENT,
    tag        varchar(255) NOT NULL,
    data       mediumtext   NOT NULL,
    alter_time timestamp    NOT NULL DEFAULT CURRENT_TIMESTAMP,
    master_id  varchar(255) NOT NULL,
    PRIMARY KEY (id), KEY tag (tag)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
"""


def make_server(ctx: ReturnerContext) -> ServerReturner:
    """Return what keeps records on the server that the options name."""
    return make_returner(ctx, "mysql", open_store, DEFAULTS)


def open_store(options: Mapping[str, object], keep_s: float) -> SqlStore:
    """Return a connection that is made when it is used; raises StoreError without the driver."""
    del keep_s
    return SqlStore(make_dialect(options), SCHEMA if options["create_tables"] else None)
