"""Reading, changing and joining nested maps and lists, as grains, pillar and options are."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from saltlite.core.lazyregex import regex
from saltlite.errors import SaltliteError, UsageError

DELIMITER = ":"

# None is a value like any other in grains and pillar.
_MISSING = object()


def traverse(data: object, key: object, default: object = None, delimiter: str = DELIMITER) -> Any:
    """The value below ``a:b:c``, or below a list of keys; ``default`` if there is none.

    A key that a map has not as text is looked up as the number or word that YAML makes of it. In a
    list, a number is a place; any other key is looked up in the maps that the list holds.
    """
    found = data
    for part in key if isinstance(key, list) else str(key).split(delimiter):
        found = _value_below(found, part)
        if found is _MISSING:
            return default
    return found


def _value_below(data: object, key: object) -> Any:
    if isinstance(data, Mapping):
        return _in_map(data, key)
    if isinstance(data, (list, tuple)):
        return _in_list(data, key)
    return _MISSING


def _in_map(data: Mapping[Any, Any], key: object) -> Any:
    value = data.get(key, _MISSING)
    # The text first: a key ``1`` that is text must be found where both are there.
    return data.get(_as_yaml(key), _MISSING) if value is _MISSING else value


def _in_list(data: Sequence[object], key: Any) -> Any:
    wanted = int(key) if _INT.match(str(key)) else key
    for item in data:
        if isinstance(item, Mapping) and wanted in item:
            return item[wanted]
    # Maps first, and then the place, for ``0`` may be a key too.
    if not isinstance(wanted, int) or not -len(data) <= wanted < len(data):
        return _MISSING
    return data[wanted]


# Nine digits at most: ``int`` of endless digits takes long.
_INT = regex(r"\s*[-+]?[0-9]{1,9}\s*\Z", re.ASCII)
_FLOAT = regex(r"\s*[-+]?[0-9]*\.[0-9]+\s*\Z", re.ASCII)
_WORDS = {"null": None, "~": None, "true": True, "yes": True, "on": True, "false": False}
_WORDS |= {"no": False, "off": False}
# YAML 1.1 takes ``true``, ``True`` and ``TRUE``, and no other mixture.
_WORDS |= {form(word): value for word, value in _WORDS.items() for form in (str.title, str.upper)}
_WORDS["None"] = None


def _as_yaml(key: object) -> Any:
    """The number, word or trimmed text that a key stands for."""
    if not isinstance(key, str):
        return key
    if _INT.match(key):
        return int(key)
    if _FLOAT.match(key):
        return float(key)
    text = key.strip()
    return _WORDS.get(text, text)


def merge(under: object, over: object, *, merge_lists: bool = False) -> Any:
    """``over`` laid on ``under``, map by map; both stay as they are.

    Lists replace one another, or are joined (without repetitions) with ``merge_lists``.
    """
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        joined = {
            key: merge(value, over[key], merge_lists=merge_lists)
            if key in over
            else copy_data(value)
            for key, value in under.items()
        }
        joined.update((key, copy_data(value)) for key, value in over.items() if key not in under)
        return joined
    if merge_lists and isinstance(under, list) and isinstance(over, list):
        # With ``in``, not a set: items may be maps, which have no hash.
        return [*map(copy_data, under), *(copy_data(item) for item in over if item not in under)]
    return copy_data(over)


def merge_onto(
    under: MutableMapping[Any, Any], over: Mapping[Any, Any], *, merge_lists: bool = False
) -> None:
    """:func:`merge` into ``under`` itself, which must share no map and no list with anything."""
    for key, value in over.items():
        mine = under.get(key)
        # Exactly dict: a mapping that loads its values lazily is not to be written into.
        if type(mine) is dict and isinstance(value, Mapping):
            merge_onto(mine, value, merge_lists=merge_lists)
        elif key in under:
            under[key] = merge(mine, value, merge_lists=merge_lists)
        else:
            under[key] = copy_data(value)


def copy_data(value: Any) -> Any:
    """A copy that shares no map and no list with ``value``."""
    kind = type(value)
    # Nearly all values are such, and ``deepcopy`` takes far longer for each.
    if kind in (str, int, bool, float, type(None)):
        return value
    if kind is dict:
        return {key: copy_data(item) for key, item in value.items()}
    if kind is list:
        return [copy_data(item) for item in value]
    # A lazy mapping would be copied with all that it loads from; its contents are meant.
    return copy.deepcopy(dict(value) if _is_lazy(value) else value)


def _is_lazy(value: object) -> bool:
    return isinstance(value, Mapping) and not isinstance(value, dict)


def update(
    under: object, over: object, *, recursive: bool = True, merge_lists: bool = False
) -> Any:
    """``over`` laid on ``under``, both maps; only the top level unless ``recursive``.

    Raises:
        TypeError: one of them is no map; Salt's sentence.
    """
    if not isinstance(under, Mapping) or not isinstance(over, Mapping):
        raise TypeError("Cannot update using non-dict types in dictupdate.update()")
    if recursive:
        return merge(under, over, merge_lists=merge_lists)
    return {**copy_data(under), **copy_data(over)}


class AggregatedMap(dict[Any, Any]):
    """A map that joins another marked one of the same key."""

    __slots__ = ()


class AggregatedList(list[Any]):
    """A list that another marked one of the same key is appended to."""

    __slots__ = ()


def aggregate(under: object, over: object) -> Any:
    """Marked values joined; of others ``over``."""
    # Both have to be marked (``!aggregate`` in yamlex): one mark alone joins nothing.
    if isinstance(under, AggregatedMap) and isinstance(over, AggregatedMap):
        return AggregatedMap(_aggregate_maps(under, over))
    if isinstance(under, AggregatedList) and isinstance(over, AggregatedList):
        return AggregatedList([*under, *over])
    return over


def _aggregate_maps(under: Mapping[Any, Any], over: Mapping[Any, Any]) -> dict[Any, Any]:
    joined = dict(under)
    for key, value in over.items():
        joined[key] = aggregate(joined[key], value) if key in joined else value
    return joined


def is_recursive(strategy: str, renderer: str = "yaml") -> bool:
    """Whether :func:`merge_by` joins map by map, as :func:`merge` and :func:`merge_onto` do."""
    if strategy == "smart":
        return "yamlex" not in renderer.split("|")
    return strategy not in ("aggregate", "overwrite", "list")


def merge_by(
    strategy: str, under: object, over: object, *, renderer: str = "yaml", merge_lists: bool = False
) -> Any:
    """Two maps joined; a strategy that is unknown counts as ``recurse``.

    There are ``smart``, ``recurse``, ``aggregate``, ``overwrite``, ``list`` and ``none``. ``smart``
    is ``aggregate`` where ``renderer`` is ``yamlex``, else ``recurse``. ``list`` keeps the values
    of both for each key of the first. Source: observed on Salt 3006.30.

    Raises:
        TypeError: one of them is no map.
    """
    if is_recursive(strategy, renderer):
        return update(under, over, merge_lists=merge_lists)
    if not isinstance(under, Mapping) or not isinstance(over, Mapping):
        raise TypeError("Cannot update using non-dict types in dictupdate.update()")
    # The top level only: a key of the later map takes the place of the whole value.
    if strategy == "overwrite":
        return {**copy_data(under), **copy_data(over)}
    if strategy != "list":
        return copy_data(_aggregate_maps(under, over))
    return {
        key: [copy_data(value), copy_data(over[key])] if key in over else copy_data(value)
        for key, value in under.items()
    }


def choose(
    lookup: Mapping[Any, Any],
    values: object,
    *,
    merged: object = None,
    default: object = "default",
    base: object = None,
) -> Any:
    """One entry of ``lookup`` by a value (or the first fitting of several); keys may be globs.

    Nothing that fits means the entry ``default``. ``base`` names an entry that lies below the
    chosen one; ``merged`` lies on top. Source: ``grains.filter_by``.

    Raises:
        SaltliteError: the chosen one is no map and has to be laid on ``base``.
        TypeError: it is no map and has to be joined with ``merged``.
    """
    chosen = _first_fitting(lookup, values if isinstance(values, (list, tuple)) else [values])
    if chosen is _MISSING or chosen is None:
        chosen = lookup.get(default)
    # Also where no entry fits: the base alone is then the answer.
    if base and base in lookup:
        chosen = _on_base(lookup[base], chosen)
    if merged:
        chosen = copy_data(merged) if chosen is None else update(chosen, merged)
    return chosen


def _on_base(base: object, chosen: object) -> Any:
    if chosen is None or chosen is base:
        return copy_data(base)
    if not isinstance(chosen, Mapping):
        raise SaltliteError("filter_by default and look-up values must both be dictionaries.")
    return merge(base, chosen)


def _first_fitting(lookup: Mapping[Any, Any], values: Sequence[object]) -> Any:
    for value in values:
        # The exact key before any glob that stands above it.
        if isinstance(value, (str, int, float, bool)) and value in lookup:
            return lookup[value]
        for pattern, entry in lookup.items():
            if fnmatchcase(str(value), str(pattern)):
                return entry
    return _MISSING


def place_below(data: Any, keys: str, delimiter: str = DELIMITER) -> tuple[Any, str]:
    """The map that has the last of ``a:b:c``, and that key; maps on the way are made."""
    *way, last = keys.split(delimiter)
    for key in way:
        if not isinstance(data.get(key), MutableMapping):
            data[key] = {}
        data = data[key]
    return data, last


def set_below(
    data: object, keys: str, value: object, delimiter: str = DELIMITER, ordered_dict: bool = False
) -> Any:
    """Put a value at ``a:b:c``; the same map. ``ordered_dict`` changes nothing."""
    place, last = place_below(data, keys, delimiter)
    place[last] = value
    return data


def update_below(
    data: object, keys: str, value: object, delimiter: str = DELIMITER, ordered_dict: bool = False
) -> Any:
    """Update the map at ``a:b:c``, which is made if it is not there; raises UsageError."""
    return _change_value(
        data, keys, value, delimiter, {}, ("update", lambda found: found.update(value))
    )


def append_below(
    data: object, keys: str, value: object, delimiter: str = DELIMITER, ordered_dict: bool = False
) -> Any:
    """Append to the list at ``a:b:c``, which is made if it is not there; raises UsageError."""
    return _change_value(
        data, keys, value, delimiter, [], ("append", lambda found: found.append(value))
    )


def extend_below(
    data: object, keys: str, value: object, delimiter: str = DELIMITER, ordered_dict: bool = False
) -> Any:
    """Append many to the list at ``a:b:c``, made if it is not there; raises UsageError."""
    return _change_value(
        data, keys, value, delimiter, [], ("extend", lambda found: found.extend(value))
    )


def _change_value(
    data: object,
    keys: str,
    value: object,
    delimiter: str,
    empty: object,
    change: tuple[str, Callable[[Any], None]],
) -> Any:
    verb, run = change
    place, last = place_below(data, keys, delimiter)
    if place.get(last) is None:
        place[last] = empty
    # The type's own text is in Salt's sentences.
    kind = type(place[last])
    try:
        run(place[last])
    except AttributeError:
        raise UsageError(f"The last key contains a {kind}, which cannot {verb}.") from None
    except (TypeError, ValueError):
        raise UsageError(f"Cannot {verb} {kind} with a {type(value)}.") from None
    return data
