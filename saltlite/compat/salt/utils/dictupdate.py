"""``salt.utils.dictupdate``: maps joined into one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.compat.salt.exceptions import SaltInvocationError
from saltlite.core import data
from saltlite.errors import UsageError

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
    dest: object, upd: object, recursive_update: bool = True, merge_lists: bool = False
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
        dest[key] = _merge_values(dest.get(key), value, merge_lists)  # type: ignore[index]
    return dest


def _merge_values(old: object, new: object, merge_lists: bool) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return update(old, new, merge_lists=merge_lists)
    if isinstance(old, list) and isinstance(new, list) and merge_lists:
        return [*old, *(item for item in new if item not in old)]
    return new


def merge_list(obj_a: Any, obj_b: Any) -> dict[Any, Any]:
    """The keys of the first map; a list of both values where both have one."""
    return {key: [value, obj_b[key]] if key in obj_b else value for key, value in obj_a.items()}


def merge_recurse(obj_a: object, obj_b: object, merge_lists: bool = False) -> Any:
    """A new map of both; the second wins."""
    return update(copy.deepcopy(obj_a), obj_b, merge_lists=merge_lists)


def merge_aggregate(obj_a: Any, obj_b: Any) -> Any:
    """A new map of both; plain values are not joined but replaced."""
    return {**obj_a, **obj_b}


def merge_overwrite(obj_a: Any, obj_b: Any, merge_lists: bool = False) -> Any:
    """A new map of both; whole values of the second win."""
    return {**obj_a, **obj_b}


def merge(
    obj_a: object,
    obj_b: object,
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


def ensure_dict_key(
    in_dict: object, keys: str, delimiter: str = ":", ordered_dict: bool = False
) -> Any:
    """Make all maps on the way to ``a:b:c``."""
    place, last = data.place_below(in_dict, keys, delimiter)
    place.setdefault(last, {})
    return in_dict


def set_dict_key_value(
    in_dict: object, keys: str, value: object, delimiter: str = ":", ordered_dict: bool = False
) -> Any:
    """Put a value at ``a:b:c``."""
    return data.set_below(in_dict, keys, value, delimiter)


def update_dict_key_value(
    in_dict: object, keys: str, value: object, delimiter: str = ":", ordered_dict: bool = False
) -> Any:
    """Update the map at ``a:b:c``; raises SaltInvocationError if there is none."""
    return _try_change(data.update_below, in_dict, keys, value, delimiter)


def append_dict_key_value(
    in_dict: object, keys: str, value: object, delimiter: str = ":", ordered_dict: bool = False
) -> Any:
    """Append to the list at ``a:b:c``; raises SaltInvocationError if it is none."""
    return _try_change(data.append_below, in_dict, keys, value, delimiter)


def extend_dict_key_value(
    in_dict: object, keys: str, value: object, delimiter: str = ":", ordered_dict: bool = False
) -> Any:
    """Append many to the list at ``a:b:c``; raises SaltInvocationError if it is none."""
    return _try_change(data.extend_below, in_dict, keys, value, delimiter)


def _try_change(change: Callable[..., Any], *args: Any) -> Any:
    try:
        return change(*args)
    except UsageError as error:
        raise SaltInvocationError(str(error)) from None
