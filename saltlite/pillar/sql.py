"""What ``ext_pillar`` sources with SQL have in common: the forms of queries, and of their answers.

A query is a text, a list ``[text, depth]``, or a map with ``query``, ``depth``, ``as_list``,
``with_lists``, ``ignore_null`` and ``as_json``; the option has a list of them, or a map, whose keys
are those that the answers lie below. Columns are keys, one in the other, and the last one is the
value; with ``depth`` only so many are keys, and the others values below their names. Source:
observed on Salt 3006.30; tests/cases/data/pillar/sql.json has its answers.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from saltlite.core.data import merge
from saltlite.core.dataclasses import dataclass
from saltlite.errors import SaltliteError
from saltlite.pillar.external import ExternalFailed

log = logging.getLogger(__name__)


class QueryFailed(SaltliteError):
    """The server refuses a query; what comes after it is not asked."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a query gives: the names of its columns, and rows of values."""

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]


Fetch: TypeAlias = Callable[[str], QueryResult]
"""Asks the database one query, about one minion; raises QueryFailed."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query, and the form of its answer. ``root`` is the key that it lies below."""

    text: str
    root: str = ""
    depth: int = 0
    as_list: bool = False
    with_lists: frozenset[int] = frozenset()
    ignore_null: bool = False
    as_json: bool = False


class Values(dict[Any, Any]):
    """A map whose values alone will count, as a list."""


def queries(args: Sequence[object], kwargs: Mapping[str, object]) -> Iterator[Query]:
    """The queries that the option has, in the order in which they are asked.

    Raises:
        ExternalFailed: one is formed wrong.
    """
    entries = [("", one) for one in args] + sorted(kwargs.items(), key=lambda item: item[0])
    for root, entry in entries:
        query = _read_query(root, entry)
        if query is not None:
            yield query


def _read_query(root: str, entry: object) -> Query | None:
    """One entry; ``None`` if it has no query."""
    if isinstance(entry, list):
        entry = dict(zip(("query", "depth"), entry, strict=False))
    given = entry if isinstance(entry, Mapping) else {"query": entry}
    text = given.get("query")
    if not isinstance(text, str) or not text:
        return None
    depth = given.get("depth", 0)
    if not isinstance(depth, int) or depth < 0:
        raise ExternalFailed(f"depth is {depth!r}, not a number from 0")
    return Query(
        text,
        root,
        depth,
        as_list=bool(given.get("as_list")),
        with_lists=_parse_levels(given.get("with_lists")),
        ignore_null=bool(given.get("ignore_null")),
        as_json=bool(given.get("as_json")),
    )


def _parse_levels(value: Any) -> frozenset[int]:
    """``[1, 3]`` or ``"1,3"``."""
    try:
        parts = value.split(",") if isinstance(value, str) else value or ()
        return frozenset(map(int, parts))
    except (TypeError, ValueError) as error:
        raise ExternalFailed(f"with_lists is {value!r}, not a list of numbers") from error


def ask(fetch: Fetch, asked: Iterator[Query]) -> dict[str, Any]:
    """The pillar that the queries give together.

    Raises:
        ExternalFailed: an answer has not the form that is asked for.
    """
    found: dict[Any, Any] = {}
    for query in asked:
        try:
            answer = fetch(query.text)
        except QueryFailed as error:
            log.error("ext_pillar: the query %r fails: %s", query.text, error)
            break
        below = _child_node(found, query.root, dict) if query.root else found
        for row in answer.rows:
            if query.as_json and len(row) == 1:
                _join_maps(below, _decode_map(row[0]))
            else:
                _add_row(below, query, answer.names, row)
    return {str(key): _as_plain(value) for key, value in found.items()}


def _add_row(
    below: dict[Any, Any], query: Query, names: Sequence[str], row: Sequence[object]
) -> None:
    last = len(row) - 1
    keys = query.depth if 0 < query.depth < last else last
    node = below
    for level in range(1, keys if keys == last else keys + 1):
        node = _child_node(node, row[level - 1], Values if level in query.with_lists else dict)
    if keys < last:
        for name, value in zip(names[keys:], row[keys:], strict=True):
            _put_value(node, name, value, query)
    elif last > 0 and last in query.with_lists:
        _child_node(node, row[last - 1], list).append(row[last])
    else:
        _put_value(node, row[max(last - 1, 0)], row[last], query)


def _child_node(node: dict[Any, Any], key: object, kind: type[Any]) -> Any:
    """What lies below a key, if it is of that kind; else a new one."""
    child = node.get(_check_key(key))
    if type(child) is not kind:
        child = node[key] = kind()
    return child


def _put_value(node: dict[Any, Any], key: object, value: object, query: Query) -> None:
    if query.as_list and _check_key(key) in node:
        before = node[key]
        node[key] = [*before, value] if isinstance(before, list) else [before, value]
    elif value is not None or not query.ignore_null:
        node[_check_key(key)] = value


def _check_key(key: object) -> Any:
    if isinstance(key, (dict, list)):
        raise ExternalFailed(f"a column that is a key holds a {type(key).__name__}")
    return key


def _decode_map(value: object) -> Mapping[str, Any]:
    if isinstance(value, (str, bytes)):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ExternalFailed(f"as_json: {error}") from error
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        raise ExternalFailed(f"as_json rows must decode to a dict, got {kind}")
    return value


def _join_maps(below: dict[Any, Any], more: Mapping[str, object]) -> None:
    joined = merge(below, more)
    below.update(joined)


def _as_plain(value: object) -> Any:
    if isinstance(value, Values):
        return [_as_plain(one) for one in value.values()]
    if isinstance(value, dict):
        return {key: _as_plain(one) for key, one in value.items()}
    return value
