"""``sqlite3``: rows of an SQLite database.

``sqlite3`` in the configuration has ``database``, a path, and ``timeout`` in seconds. The ``?`` in
a query is the minion's id. See :mod:`saltlite.pillar.sql`.
"""

from __future__ import annotations

import sqlite3
import urllib.parse
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.pillar.external import ExternalFailed
from saltlite.pillar.sql import QueryFailed, QueryResult, ask, queries

DATABASE = "/var/lib/salt/pillar.db"
TIMEOUT_S = 5.0


def ext_pillar(
    ctx: MinionContext, _pillar: Mapping[str, object], *args: Any, **kwargs: Any
) -> Mapping[str, Any]:
    """What queries of an SQLite file give."""
    options = ctx.config.extra.get("sqlite3")
    options = options if isinstance(options, Mapping) else {}
    path = str(options.get("database") or DATABASE)
    minion_id = ctx.config.identity.id
    try:
        database = sqlite3.connect(
            f"file:{urllib.parse.quote(path)}?mode=ro",  # a missing one is not made
            uri=True,
            timeout=float(options.get("timeout") or TIMEOUT_S),
        )
    except sqlite3.Error as error:
        raise ExternalFailed(f"{path}: {error}") from error

    def fetch(text: str) -> QueryResult:
        try:
            cursor = database.execute(text, (minion_id,))
            return QueryResult(
                [column[0] for column in cursor.description or ()], cursor.fetchall()
            )
        except sqlite3.Error as error:
            raise QueryFailed(str(error)) from error

    try:
        return ask(fetch, queries(args, kwargs))
    finally:
        database.close()
