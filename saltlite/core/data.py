"""Reading and joining nested maps and lists, as grains, pillar and options are."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

DELIMITER = ":"

_MISSING = object()


def traverse(data: Any, key: str, default: Any = None, delimiter: str = DELIMITER) -> Any:
    """The value below ``a:b:c``; ``default`` if there is none.

    In a list, a number is a place; any other key is looked up in the maps that the list holds.
    """
    found = data
    for part in str(key).split(delimiter):
        found = _below(found, part)
        if found is _MISSING:
            return default
    return found


def _below(data: Any, key: str) -> Any:
    if isinstance(data, Mapping):
        return _in_map(data, key)
    if isinstance(data, (list, tuple)):
        return _in_list(data, key)
    return _MISSING


def _in_map(data: Mapping[Any, Any], key: str) -> Any:
    value = data.get(key, _MISSING)
    if value is _MISSING and _is_place(key):
        return data.get(int(key), _MISSING)
    return value


def _in_list(data: Sequence[Any], key: str) -> Any:
    if _is_place(key):
        return data[int(key)] if int(key) < len(data) else _MISSING
    maps = (item for item in data if isinstance(item, Mapping) and key in item)
    return next((item[key] for item in maps), _MISSING)


def _is_place(key: str) -> bool:
    return key.isascii() and key.isdigit() and len(key) < 10


def merge(under: Any, over: Any, *, merge_lists: bool = False) -> Any:
    """``over`` laid on ``under``, map by map; both stay as they are.

    Lists replace one another, or are joined (without repetitions) with ``merge_lists``.
    """
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        joined = dict(copy.deepcopy(dict(under)))
        for key, value in over.items():
            joined[key] = merge(joined.get(key), value, merge_lists=merge_lists)
        return joined
    if merge_lists and isinstance(under, list) and isinstance(over, list):
        return [*under, *(item for item in over if item not in under)]
    return copy.deepcopy(over)


def choose(
    lookup: Mapping[Any, Any],
    values: Any,
    *,
    merged: Any = None,
    default: Any = "default",
    base: Any = None,
) -> Any:
    """One entry of ``lookup`` by a value (or the first fitting of several); keys may be globs.

    Nothing that fits means the entry ``default``. ``base`` names an entry that lies below the
    chosen one; ``merged`` lies on top. Source: modules.md 10, ``grains.filter_by``.
    """
    chosen = _first_fitting(lookup, values if isinstance(values, (list, tuple)) else [values])
    if chosen is _MISSING:
        chosen = lookup.get(default)
    if base and base in lookup:
        chosen = merge(lookup[base], chosen) if chosen is not None else copy.deepcopy(lookup[base])
    if merged:
        chosen = merge(chosen, merged) if isinstance(chosen, Mapping) else copy.deepcopy(merged)
    return chosen


def _first_fitting(lookup: Mapping[Any, Any], values: Sequence[Any]) -> Any:
    for value in values:
        if isinstance(value, (str, int, float, bool)) and value in lookup:
            return lookup[value]
        for pattern, entry in lookup.items():
            if fnmatchcase(str(value), str(pattern)):
                return entry
    return _MISSING
