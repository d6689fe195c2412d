"""Look at grains, and change those that the minion keeps in its own file."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import DELIMITER, choose, copy_data, traverse
from saltlite.core.factories import alias_function
from saltlite.disk import hold_lock, make_dir, read_regular, write_file
from saltlite.errors import ConfigError, FunctionError, SaltliteError

INTERNAL = ("refusal", "update", "read_set")
"""Functions for states and other modules; nobody calls them by name."""

Work = Callable[[Mapping[str, Any]], tuple[Any, Mapping[str, Any] | None]]
"""Makes of the grains that hold now an answer and new values; ``None`` changes nothing."""

log = logging.getLogger(__name__)

OUTPUTTERS = {"items": "nested", "item": "nested", "setval": "nested"}

FILE = "grains"
"""The file of such grains, beside the minion's configuration."""

_SANITIZED = {
    "domain": "DOMAINNAME",
    "fqdn": "MINION.DOMAINNAME",
    "host": "MINION",
    "id": "MINION.DOMAINNAME",
    "localhost": "MINION",
    "nodename": "MINION",
}
"""What stands in for a grain that tells too much, with ``sanitize``."""

_MISSING = object()
_BY_FORCE = "Use 'force=True' to overwrite."


def items(ctx: MinionContext, sanitize: bool = False) -> dict[str, Any]:
    """All grains; ``sanitize`` hides names of the machine.

    CLI Example:

        salt '*' grains.items
    """
    grains = dict(ctx.grains)
    return _sanitize_grains(grains) if sanitize else grains


def item(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """Some grains; an unknown one is empty.

    ``default`` is for unknown ones, ``delimiter`` for nested ones, ``sanitize`` as for ``items``.

    CLI Example:

        salt '*' grains.item os osrelease oscodename
    """
    default, delimiter = kwargs.get("default", ""), kwargs.get("delimiter", DELIMITER)
    found = {str(name): traverse(ctx.grains, name, default, delimiter) for name in args}
    return _sanitize_grains(found) if kwargs.get("sanitize") else found


def _sanitize_grains(grains: Mapping[str, object]) -> dict[str, Any]:
    hidden = {
        name: _SANITIZED[name] for name, value in grains.items() if name in _SANITIZED and value
    }
    serial = grains.get("serialnumber")
    if serial:
        hidden["serialnumber"] = f"{str(serial)[:-2]}XX"
    return {**grains, **hidden}


def get(
    ctx: MinionContext,
    key: str,
    default: object = "",
    delimiter: str = DELIMITER,
    ordered: bool = True,
) -> Any:
    """One grain, also from within others: ``pkg:apache``.

    CLI Example:

        salt '*' grains.get pkg:apache
    """
    return traverse(ctx.grains, key, default, delimiter)


fetch = alias_function(get, "fetch", "grains.get")


def ls(ctx: MinionContext) -> list[str]:
    """The names of all grains.

    CLI Example:

        salt '*' grains.ls
    """
    return sorted(ctx.grains)


def has_value(ctx: MinionContext, key: str) -> bool:
    """Whether there is such a grain, and it is not ``False``.

    CLI Example:

        salt '*' grains.has_value pkg:apache
    """
    return traverse(ctx.grains, key, False) is not False


def equals(ctx: MinionContext, key: str, value: object) -> bool:
    """Whether a grain has this value; compared as text. One that is not there is empty.

    CLI Example:

        salt '*' grains.equals fqdn example.com
    """
    return str(get(ctx, key)) == str(value)


def filter_by(
    ctx: MinionContext,
    lookup_dict: Mapping[Any, Any],
    grain: str = "os_family",
    merge: Mapping[str, object] | None = None,
    default: str = "default",
    base: str | None = None,
) -> Any:
    """The entry of a map that fits the value of a grain, ``default`` otherwise.

    CLI Example:

        salt '*' grains.filter_by '{Debian: Debheads rule, RedHat: I love my hat}'
    """
    if not isinstance(lookup_dict, Mapping):
        raise SaltliteError("filter_by lookup_dict argument must be a dictionary.")
    if merge and not isinstance(merge, Mapping):
        raise SaltliteError("filter_by merge argument must be a dictionary.")
    values = traverse(ctx.grains, grain, [])
    return choose(lookup_dict, values, merged=merge, default=default, base=base)


def setval(
    ctx: MinionContext,
    key: str,
    val: object,
    destructive: bool = False,
    refresh_pillar: bool = True,
) -> dict[str, Any]:
    """Set one grain, whatever it was; with ``destructive`` ``None`` removes it.

    CLI Example:

        salt '*' grains.setval key val
    """
    return setvals(ctx, {key: val}, destructive, refresh_pillar)


def setvals(
    ctx: MinionContext,
    grains: Mapping[str, object],
    destructive: bool = False,
    refresh_pillar: bool = True,
) -> dict[str, Any]:
    """Set several grains.

    CLI Example:

        salt '*' grains.setvals "{'key1': 'val1', 'key2': 'val2'}"
    """
    if not isinstance(grains, Mapping):
        raise SaltliteError("setvals grains must be a dictionary.")
    update(ctx, lambda _now: (None, grains), destructive, refresh_pillar)
    return dict(grains)


def update(
    ctx: MinionContext, work: Work, destructive: bool = False, refresh_pillar: bool = True
) -> Any:
    """Set the grains that ``work`` makes of those that hold now; its answer.

    What the file has counts, not what it had when this job began: nobody else writes it between
    its reading and its writing, so that of two changes none is lost.

    Raises:
        FunctionError: the file cannot be read.
        StoreError: it cannot be written.
    """
    path = Path(os.path.dirname(ctx.config.paths.conf_file), FILE)
    make_dir(path.parent, 0o755)
    with hold_lock(path.with_name(f".{FILE}.lock")):
        kept = _read_file(path)
        known = {**ctx.grains, **kept, **ctx.config.grains.grains}
        answer, values = work(known)
        if values is None:
            return answer
        _set_in((kept, known), values, destructive)
        _write_file(path, kept)
    ctx.grains = known
    _refresh_grains(ctx, refresh_pillar)
    return answer


def read_set(ctx: MinionContext) -> dict[str, Any]:
    """The grains that somebody has set: in the file beside the configuration, and in it."""
    path = Path(os.path.dirname(ctx.config.paths.conf_file), FILE)
    return {**_read_file(path), **ctx.config.grains.grains}


def _set_in(
    places: tuple[dict[str, Any], ...], values: Mapping[str, object], destructive: bool
) -> None:
    for name, value in values.items():
        for place in places:
            if value is None and destructive is True:
                place.pop(name, None)
            else:
                place[name] = value


def _read_file(path: Path) -> dict[str, Any]:
    """What the file has; one that cannot be read is not replaced."""
    from saltlite.config.yaml import load

    stored = read_regular(path)
    if not stored:
        return {}
    try:
        grains = load(stored.decode(), str(path))
    except (ConfigError, UnicodeDecodeError) as error:
        raise FunctionError(f"Unable to read existing grains file: {error}") from error
    if grains is None:
        return {}
    if not isinstance(grains, dict):
        raise FunctionError(f"Unable to read existing grains file: {path}: found no map")
    return dict(grains)


def _write_file(path: Path, grains: Mapping[str, object]) -> None:
    from saltlite.config.yaml import dump

    try:
        mode = os.stat(path).st_mode & 0o7777
    except OSError:
        mode = 0o644
    write_file(path, dump(dict(grains)).encode(), mode=mode)


def _refresh_grains(ctx: MinionContext, refresh_pillar: bool) -> None:
    """Have the minion collect its grains anew, and ask for its pillar.

    From outside a job both come with one event.
    """
    ctx.functions.call("saltutil.refresh_grains")
    if refresh_pillar and ctx.refresh_grains is not None:
        ctx.functions.call("saltutil.refresh_pillar")


def append(
    ctx: MinionContext, key: str, val: object, convert: bool = False, delimiter: str = DELIMITER
) -> Any:
    """Append to a grain that is a list; with ``convert`` another value becomes one first.

    CLI Example:

        salt '*' grains.append key val
    """
    return _change_list(ctx, key, delimiter, lambda found: _append_value(found, key, val, convert))


def _append_value(found: object, key: str, val: object, convert: bool) -> list[Any] | str:
    if convert and not isinstance(found, list):
        found = [] if found is None else [found]
    if not isinstance(found, list):
        return f"The key {key} is not a valid list"
    if val in found:
        return f"The val {val} was already in the list {key}"
    return [*found, *val] if isinstance(val, list) else [*found, val]


def remove(ctx: MinionContext, key: str, val: object, delimiter: str = DELIMITER) -> Any:
    """Remove a value from a grain that is a list.

    CLI Example:

        salt '*' grains.remove key val
    """
    return _change_list(ctx, key, delimiter, lambda found: _remove_value(found, key, val))


def _remove_value(found: object, key: str, val: object) -> list[Any] | str:
    if not isinstance(found, list):
        return f"The key {key} is not a valid list"
    if val not in found:
        return f"The val {val} was not in the list {key}"
    at = found.index(val)
    return [*found[:at], *found[at + 1 :]]


def _change_list(
    ctx: MinionContext, key: str, delimiter: str, change: Callable[[Any], list[Any] | str]
) -> Any:
    """Set the list that is made of what is there; or the text that says why there is none."""

    def work(now: Mapping[str, object]) -> tuple[Any, dict[str, Any] | None]:
        values = change(traverse(now, key, [], delimiter))
        if isinstance(values, str):
            return values, None
        changed = _with_below(now, key, values, delimiter)
        return changed, changed

    return update(ctx, work)


def _with_below(
    grains: Mapping[str, object], key: str, value: object, delimiter: str
) -> dict[str, Any]:
    """The top grain with a value below ``a:b:c``; what is on the way and no map becomes one."""
    top, *way = key.split(delimiter)
    if not way:
        return {top: value}
    whole = _as_map(copy_data(grains.get(top)))
    below = whole
    for name in way[:-1]:
        below[name] = below = _as_map(below.get(name))
    below[way[-1]] = value
    return {top: whole}


def _as_map(value: object) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def delval(
    ctx: MinionContext, key: str, destructive: bool = False, force: bool = False
) -> dict[str, Any]:
    """Empty a grain, or with ``destructive`` remove it; a list or map only with ``force``.

    CLI Example:

        salt '*' grains.delval key
    """
    return set_(ctx, key, None, force, destructive)


def delkey(ctx: MinionContext, key: str, force: bool = False) -> dict[str, Any]:
    """Remove a grain; a list or map only with ``force``.

    CLI Example:

        salt '*' grains.delkey key
    """
    return delval(ctx, key, destructive=True, force=force)


def set_(
    ctx: MinionContext,
    key: str,
    val: object = "",
    force: bool = False,
    destructive: bool = False,
    delimiter: str = DELIMITER,
) -> dict[str, Any]:
    """Set a grain, also within others (``a:b``); lists and maps are replaced only with ``force``.

    CLI Example:

        salt '*' grains.set 'apps:myApp:port' 2209
    """

    def work(now: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any] | None]:
        found = traverse(now, key, _MISSING, delimiter)
        if found is not _MISSING and found == val and not (val is None and destructive):
            return _build_outcome("Grain is already set", {}), None
        refused = "" if force else refusal(now, key, val, delimiter)
        if refused:
            return _build_outcome(refused, {}, result=False), None
        top, value = _change_nested(now, key, val, delimiter, destructive)
        return _build_outcome("", {top: value}), {top: value}

    return dict(update(ctx, work, destructive))


def _build_outcome(comment: str, changes: dict[str, Any], *, result: bool = True) -> dict[str, Any]:
    return {"comment": comment, "changes": changes, "result": result}


def refusal(grains: Mapping[str, object], key: str, val: object, delimiter: str = DELIMITER) -> str:
    """Why a grain takes a value by ``force`` only; empty if nothing is lost by it."""
    found = traverse(grains, key, None, delimiter)
    if isinstance(found, (dict, list)):
        return f"The key '{key}' exists but is a dict or a list. {_BY_FORCE}"
    if found is not None and isinstance(val, (dict, list)):
        return f"The key '{key}' exists and the given value is a dict or a list. {_BY_FORCE}"
    while delimiter in key:
        key, _, last = key.rpartition(delimiter)
        around = traverse(grains, key, None, delimiter)
        if around is not None and not isinstance(around, (dict, list)) and around != last:
            return (
                f"The key '{key}' value is '{around}', which is different from the provided key "
                f"'{last}'. {_BY_FORCE}"
            )
    return ""


def _change_nested(
    grains: Mapping[str, object], key: str, val: object, delimiter: str, destructive: bool
) -> tuple[str, Any]:
    """The top grain and its new value, for a value somewhere below it."""
    while delimiter in key:
        key, _, last = key.rpartition(delimiter)
        around = copy_data(traverse(grains, key, {}, delimiter))
        if isinstance(around, list):
            val = _into_list(around, last, val)
        elif isinstance(around, dict) or around is None:
            val = _into_map(around or {}, last, val, destructive)
        else:
            val = {last: val}
    return key, val


def _into_list(around: list[Any], key: str, val: object) -> list[Any]:
    """A list with ``{key: val}`` in place of the key or in the map that has it, else at its end."""
    for at, each in enumerate(around):
        if isinstance(each, dict) and key in each:
            each[key] = val
            return around
        if each == key:
            around[at] = {key: val}
            return around
    return [*around, {key: val}]


def _into_map(around: dict[Any, Any], key: str, val: object, destructive: bool) -> dict[Any, Any]:
    if val is None and destructive:
        around.pop(key, None)
    else:
        around[key] = val
    return around
