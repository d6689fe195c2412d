"""``salt.utils.dictupdate``: maps joined into one."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping
from typing import Any

from saltlite.loader.answers.exceptions import SaltInvocationError

__all__ = [
    "append_dict_key_value",
    "ensure_dict_key",
    "extend_dict_key_value",
    "merge",
    "merge_aggregate",
    "merge_list",
    "merge_overwrite",
    "merge_recurse",
    "set_dict_key_value",
    "update",
    "update_dict_key_value",
]


def update(
    dest: Any, upd: Any, recursive_update: bool = True, merge_lists: bool = False
) -> Any:  # fmt: skip
    """Change ``dest`` by ``upd``, maps in maps too; with ``merge_lists`` lists grow.

    Raises:
        TypeError: one of them is no map.
    """
    if not isinstance(dest, Mapping) or not isinstance(upd, Mapping):
        raise TypeError("Cannot update using non-dict types in dictupdate.update()")
    if not recursive_update:
        for key in upd:
            dest[key] = upd[key]  # type: ignore[index]  # a mapping that can be changed
        return dest
    for key, value in upd.items():
        dest[key] = _updated(dest.get(key), value, merge_lists)  # type: ignore[index]
    return dest


def _updated(old: Any, new: Any, merge_lists: bool) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return update(old, new, merge_lists=merge_lists)
    if isinstance(old, list) and isinstance(new, list) and merge_lists:
        return [*old, *(item for item in new if item not in old)]
    return new


def merge_list(obj_a: Any, obj_b: Any) -> dict[Any, Any]:
    """The keys of the first map; a list of both values where both have one."""
    return {key: [value, obj_b[key]] if key in obj_b else value for key, value in obj_a.items()}


def merge_recurse(obj_a: Any, obj_b: Any, merge_lists: bool = False) -> Any:
    """A new map of both; the second wins."""
    return update(copy.deepcopy(obj_a), obj_b, merge_lists=merge_lists)


def merge_aggregate(obj_a: Any, obj_b: Any) -> Any:
    """A new map of both; plain values are not joined but replaced."""
    return {**obj_a, **obj_b}


def merge_overwrite(obj_a: Any, obj_b: Any, merge_lists: bool = False) -> Any:
    """A new map of both; whole values of the second win."""
    return {**obj_a, **obj_b}


def merge(
    obj_a: Any,
    obj_b: Any,
    strategy: str = "smart",
    renderer: str = "yaml",
    merge_lists: bool = False,
) -> Any:
    """A new map of both, joined as ``strategy`` says."""
    if strategy == "list":
        return merge_list(obj_a, obj_b)
    if strategy == "overwrite":
        return merge_overwrite(obj_a, obj_b)
    if strategy == "aggregate":
        return merge_aggregate(obj_a, obj_b)
    return merge_recurse(obj_a, obj_b, merge_lists=merge_lists)


def _parent(in_dict: Any, keys: str, delimiter: str, ordered_dict: bool) -> tuple[Any, str]:
    """The map that has the last of ``a:b:c``, made if it is not there."""
    parts = keys.split(delimiter)
    place = in_dict
    for part in parts[:-1]:
        if not isinstance(place.get(part), MutableMapping):
            place[part] = {}
        place = place[part]
    return place, parts[-1]


def ensure_dict_key(
    in_dict: Any, keys: str, delimiter: str = ":", ordered_dict: bool = False
) -> Any:
    """Make all maps on the way to ``a:b:c``."""
    place, last = _parent(in_dict, keys, delimiter, ordered_dict)
    place.setdefault(last, {})
    return in_dict


def set_dict_key_value(
    in_dict: Any, keys: str, value: Any, delimiter: str = ":", ordered_dict: bool = False
) -> Any:
    """Put a value at ``a:b:c``."""
    place, last = _parent(in_dict, keys, delimiter, ordered_dict)
    place[last] = value
    return in_dict


def update_dict_key_value(
    in_dict: Any, keys: str, value: Any, delimiter: str = ":", ordered_dict: bool = False
) -> Any:
    """Update the map at ``a:b:c``; raises SaltInvocationError if there is none."""
    place, last = _parent(in_dict, keys, delimiter, ordered_dict)
    if place.get(last) is None:
        place[last] = {}
    try:
        place[last].update(value)
    except (AttributeError, TypeError, ValueError):
        kind = type(place[last])
        raise SaltInvocationError(f"The last key contains a {kind}, which cannot update.") from None
    return in_dict


def append_dict_key_value(
    in_dict: Any, keys: str, value: Any, delimiter: str = ":", ordered_dict: bool = False
) -> Any:
    """Append to the list at ``a:b:c``; raises SaltInvocationError if it is none."""
    place, last = _parent(in_dict, keys, delimiter, ordered_dict)
    if place.get(last) is None:
        place[last] = []
    try:
        place[last].append(value)
    except AttributeError:
        raise SaltInvocationError(
            f"The last key contains a {type(place[last])}, which cannot append."
        ) from None
    return in_dict


def extend_dict_key_value(
    in_dict: Any, keys: str, value: Any, delimiter: str = ":", ordered_dict: bool = False
) -> Any:
    """Append many to the list at ``a:b:c``; raises SaltInvocationError if it is none."""
    place, last = _parent(in_dict, keys, delimiter, ordered_dict)
    if place.get(last) is None:
        place[last] = []
    try:
        place[last].extend(value)
    except (AttributeError, TypeError):
        raise SaltInvocationError(
            f"Cannot extend {type(place[last])} with {type(value)}."
        ) from None
    return in_dict
