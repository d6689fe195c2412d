"""``postgres``: rows of a PostgreSQL database, asked through ``psql``.

``postgres`` in the configuration has ``host`` (a name, or the directory of a socket), ``port``,
``user``, ``pass`` and ``db``. The ``%s`` in a query is the minion's id, the parameter of a prepared
statement; ``%%`` is a percent sign. See :mod:`saltlite.pillar.sql`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.lazyregex import regex
from saltlite.errors import CommandError
from saltlite.pillar.external import ExternalFailed
from saltlite.pillar.sql import QueryFailed, QueryResult, ask, queries

CONNECT_S = 10
QUERY_S = 60.0
NOT_CONNECTED = 2
"""What psql ends with when there is no connection."""

_COMMAND = ("psql", "-X", "-q", "-A", "-t", "-0", "-v", "ON_ERROR_STOP=1")
# A row as JSON keeps the kinds of its values, which psql's other forms make text of.
_SCRIPT = """\
PREPARE asked AS SELECT row_to_json(found) FROM (
%s
) AS found;
EXECUTE asked%s;
"""
_PLACEHOLDER = regex(r"%(.)", re.DOTALL)


def ext_pillar(
    ctx: MinionContext, _pillar: Mapping[str, object], *args: Any, **kwargs: Any
) -> Mapping[str, Any]:
    """What queries of a PostgreSQL server give."""
    options = ctx.config.extra.get("postgres")
    environ = _build_environ(options if isinstance(options, Mapping) else {})
    command = [*_COMMAND, "-v", f"minion_id={ctx.config.identity.id}", "-f", "-"]

    def fetch(text: str) -> QueryResult:
        try:
            done = ctx.host.run(command, env=environ, stdin=_build_script(text), timeout_s=QUERY_S)
        except CommandError as error:
            raise ExternalFailed(f"psql is needed, and cannot be run: {error}") from error
        if done.timed_out:
            raise QueryFailed(f"no answer within {QUERY_S:.0f} s")
        if done.exit_code == NOT_CONNECTED:
            raise ExternalFailed(" ".join(done.stderr.split()))
        if done.exit_code != 0:
            raise QueryFailed(" ".join(done.stderr.split()))
        return _parse_answer(done.stdout)

    return ask(fetch, queries(args, kwargs))


def _build_environ(options: Mapping[str, object]) -> dict[str, str]:
    return {
        "PGHOST": str(options.get("host") or "localhost"),
        "PGPORT": str(options.get("port") or 5432),
        "PGUSER": str(options.get("user") or "salt"),
        "PGPASSWORD": str(options.get("pass") or "salt"),
        "PGDATABASE": str(options.get("db") or "salt"),
        "PGCONNECT_TIMEOUT": str(CONNECT_S),
        "PGCLIENTENCODING": "UTF8",
    }


def _build_script(text: str) -> str:
    """What psql is to do. The id is a parameter of the statement, whatever is in it."""
    used = False

    def place(match: re.Match[str]) -> str:
        nonlocal used
        if match[1] == "%":
            return "%"
        if match[1] != "s":
            raise QueryFailed(f"%{match[1]} is no placeholder; %s is, and %% is a percent sign")
        used = True
        return "$1"

    statement = _PLACEHOLDER.sub(place, text.rstrip().rstrip(";"))
    given = "(:'minion_id')" if used else ""
    return _SCRIPT % (statement, given)


class _Pairs(list[tuple[str, Any]]):
    """An object of JSON: columns keep their order, also two of one name."""


def _parse_answer(output: str) -> QueryResult:
    rows = [json.loads(row, object_pairs_hook=_Pairs) for row in output.split("\0") if row.strip()]
    names = [name for name, _value in rows[0]] if rows else []
    return QueryResult(names, [[_as_plain(value) for _name, value in row] for row in rows])


def _as_plain(value: object) -> Any:
    if isinstance(value, _Pairs):
        return {name: _as_plain(one) for name, one in value}
    return [_as_plain(one) for one in value] if isinstance(value, list) else value
