"""``salt.utils.data``."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from typing import Any

from saltlite.compat.salt.utils import stringutils
from saltlite.core.data import choose, traverse
from saltlite.core.numbers import is_digits

DEFAULT_TARGET_DELIM = ":"


class CaseInsensitiveDict(MutableMapping[str, Any]):
    """A dict whose keys are found in any case."""

    def __init__(self, init: Mapping[str, object] | None = None, **kwargs: Any) -> None:
        self._data: dict[str, tuple[str, Any]] = {}
        self.update(init or {}, **kwargs)

    def __setitem__(self, key: str, value: object) -> None:
        self._data[_lower_key(key)] = (key, value)

    def __getitem__(self, key: str) -> Any:
        return self._data[_lower_key(key)][1]

    def __delitem__(self, key: str) -> None:
        del self._data[_lower_key(key)]

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self._data.values())

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def copy(self) -> CaseInsensitiveDict:
        """Another one with the same pairs."""
        return CaseInsensitiveDict(dict(self.items()))


def _lower_key(key: object) -> Any:
    return key.lower() if isinstance(key, str) else key


def traverse_dict(
    data: Any, key: str, default: object = None, delimiter: str = DEFAULT_TARGET_DELIM
) -> Any:
    """What is below ``a:b`` in maps."""
    for part in key.split(delimiter):
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):  # noqa: PERF203 - one of few steps
            return default
    return data


def traverse_dict_and_list(
    data: object, key: str, default: object = None, delimiter: str = DEFAULT_TARGET_DELIM
) -> Any:
    """What is below ``a:b`` in maps and lists; numbers are places in lists."""
    return traverse(data, key, default, delimiter)


def subdict_match(
    data: Any,
    expr: str,
    delimiter: str = DEFAULT_TARGET_DELIM,
    regex_match: bool = False,
    exact_match: bool = False,
) -> bool:
    """Whether ``a:b:value`` holds in nested maps, as targets by grain are matched."""
    from saltlite.core.targets import MinionFacts, Target, matches
    from saltlite.errors import TargetError

    kind = "pillar_exact" if exact_match else "pillar_pcre" if regex_match else "pillar"
    try:
        return matches(Target(expr, kind, delimiter), MinionFacts("", pillar=data))
    except TargetError:
        return False


def decode(
    data: object,
    encoding: object = None,
    errors: str = "strict",
    keep: bool = False,
    normalize: bool = False,
    preserve_dict_class: bool = False,
    preserve_tuples: bool = False,
    to_str: bool = False,
) -> Any:
    """A value with every bytes in it as text."""

    def text(value: object) -> Any:
        if not isinstance(value, bytes):
            return value
        try:
            return stringutils.to_unicode(value, encoding, errors, normalize)
        except UnicodeDecodeError:
            if not keep:
                raise
            return value

    return _rebuild(data, text, preserve_tuples)


def encode(
    data: object,
    encoding: object = None,
    errors: str = "strict",
    keep: bool = False,
    preserve_dict_class: bool = False,
    preserve_tuples: bool = False,
) -> Any:
    """A value with every text in it as bytes."""

    def raw(value: object) -> Any:
        return stringutils.to_bytes(value, encoding, errors) if isinstance(value, str) else value

    return _rebuild(data, raw, preserve_tuples)


def decode_dict(data: object, *args: Any, **kwargs: Any) -> Any:
    """A map with every bytes in it as text."""
    return decode(data, *args, **kwargs)


def decode_list(data: object, *args: Any, **kwargs: Any) -> Any:
    """A list with every bytes in it as text."""
    return decode(data, *args, **kwargs)


encode_dict = encode_list = encode


def stringify(data: Iterable[object]) -> list[str]:
    """Every item as text."""
    return [each.decode() if isinstance(each, bytes) else str(each) for each in data]


def _rebuild(data: object, change: Callable[[Any], Any], tuples: bool) -> Any:
    if isinstance(data, Mapping):
        pairs = ((change(key), _rebuild(item, change, tuples)) for key, item in data.items())
        return dict(pairs)
    if isinstance(data, (list, tuple, set)):
        items = [_rebuild(item, change, tuples) for item in data]
        return tuple(items) if tuples and isinstance(data, tuple) else items
    return change(data)


def compare_dicts(old: Any = None, new: Any = None) -> dict[str, Any]:
    """Key → ``{"old": …, "new": …}`` for what differs; ``""`` for what is not there."""
    old, new = old or {}, new or {}
    return {
        key: {"old": old.get(key, ""), "new": new.get(key, "")}
        for key in {**new, **old}
        if key not in old or key not in new or old[key] != new[key]
    }


def compare_lists(old: Sequence[object], new: Sequence[object]) -> dict[str, list[Any]]:
    """``{"new": …, "old": …}``: what is only in one of them."""
    found = {
        "new": [item for item in new if item not in old],
        "old": [item for item in old if item not in new],
    }
    return {key: items for key, items in found.items() if items}


def is_dictlist(data: object) -> bool:
    """Whether it is a list of maps with one key each."""
    return isinstance(data, list) and all(isinstance(x, dict) and len(x) == 1 for x in data)


def repack_dictlist(
    data: object,
    strict: bool = False,
    recurse: bool = False,
    key_cb: Callable[[Any], Any] | None = None,
    val_cb: Callable[[Any, Any], Any] | None = None,
) -> dict[Any, Any]:
    """One map of a list of maps and of names; ``{}`` if it is no such list."""
    result: dict[Any, Any] = {}
    if not isinstance(data, list):
        return {}
    for item in data:
        if isinstance(item, (str, int, float)):
            pairs = [] if strict else [(item, None)]
        elif isinstance(item, dict) and len(item) == 1:
            pairs = list(item.items())
        else:
            return {}
        if not pairs:
            return {}
        key, value = pairs[0]
        if recurse and is_dictlist(value):
            value = repack_dictlist(value, recurse=True)
        result[key_cb(key) if key_cb else key] = val_cb(key, value) if val_cb else value
    return result


def is_list(value: object) -> bool:
    """Whether it is a list."""
    return isinstance(value, list)


def is_iter(thing: Any, ignore: Any = (str,)) -> bool:
    """Whether one can go through it; texts do not count."""
    if ignore and isinstance(thing, tuple(ignore)):
        return False
    return isinstance(thing, Iterable)


def is_true(value: object = None) -> bool:
    """Whether a value from a configuration means yes."""
    if isinstance(value, str) and not isinstance(stringutils.to_num(value), (int, float)):
        return value.lower() == "true"
    if isinstance(value, str):
        value = stringutils.to_num(value)
    return value > 0 if isinstance(value, (int, float)) else bool(value)


def exactly_n(iterable: Iterable[object], amount: int = 1) -> bool:
    """Whether so many items are true."""
    return sum(1 for item in iterable if item) == amount


def exactly_one(iterable: Iterable[object]) -> bool:
    """Whether one item is true."""
    return exactly_n(iterable)


def filter_by(
    lookup_dict: Any,
    lookup: Any,
    traverse: Any,
    merge: Any = None,
    default: str = "default",
    base: str | None = None,
) -> Any:
    """The entry of a map that fits what is found in ``traverse`` under ``lookup``."""
    values = traverse_dict_and_list(traverse, lookup, [])
    return choose(lookup_dict, values, merged=merge, default=default, base=base)


def sorted_ignorecase(to_sort: Iterable[str]) -> list[str]:
    """Sorted, whatever the case."""
    return sorted(to_sort, key=lambda each: each.lower())


def simple_types_filter(data: object) -> Any:
    """A value with everything in it that is no plain type as its text."""
    if data is None or isinstance(data, (str, int, float, bool)):
        return data
    if isinstance(data, (list, tuple, set)):
        return [simple_types_filter(item) for item in data]
    if isinstance(data, Mapping):
        return {
            key if isinstance(key, (str, int, float, bool)) else repr(key): simple_types_filter(x)
            for key, x in data.items()
        }
    return repr(data)


def mysql_to_dict(data: Iterable[str], key: str) -> dict[Any, Any]:
    """Rows of ``mysql``'s tables by one column."""
    rows: dict[Any, Any] = {}
    headers: list[str] = []
    for line in data:
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not headers:
            headers = cells
            continue
        values = [int(cell) if is_digits(cell) else cell for cell in cells]
        row = dict(zip(headers, values, strict=False))
        rows[row[key]] = row
    return rows


def recursive_diff(
    old: Any, new: Any, ignore_keys: Any = None, ignore_order: bool = False,
    ignore_missing_keys: bool = False,
) -> Any:  # fmt: skip
    """``{"old": …, "new": …}`` with what differs, ``{}`` if nothing does."""
    ignored = ignore_keys or []
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        same = old == new or (ignore_order and _sort_list(old) == _sort_list(new))
        return {} if same else {"old": old, "new": new}
    found: dict[str, dict[Any, Any]] = {"old": {}, "new": {}}
    for key in {**old, **new}:
        if key in ignored or (ignore_missing_keys and (key not in old or key not in new)):
            continue
        _note_difference(found, key, old, new, ignore_order, ignore_missing_keys)
    return {side: values for side, values in found.items() if values}


def _note_difference(
    found: dict[str, dict[Any, Any]], key: Any, old: Any, new: Any, order: bool, missing: bool
) -> None:
    for side, here, there in (("old", old, new), ("new", new, old)):
        if key in here and key not in there:
            found[side][key] = here[key]
    if key in old and key in new:
        below = recursive_diff(old[key], new[key], None, order, missing)
        for side, value in below.items():
            found[side][key] = value


def _sort_list(value: object) -> Any:
    return sorted(value, key=repr) if isinstance(value, (list, tuple)) else value


def hashable(value: object) -> bool:
    """Whether it can be a key."""
    return isinstance(value, Hashable)


def flatten(data: Iterable[object], levels: int | None = None, preserve_nulls: bool = False) -> Any:
    """One list of nested ones."""
    flat: list[Any] = []
    for item in data:
        if not preserve_nulls and item in (None, "None", "null"):
            continue
        if isinstance(item, list) and (levels is None or levels >= 1):
            flat += flatten(item, None if levels is None else levels - 1, preserve_nulls)
        else:
            flat.append(item)
    return flat
