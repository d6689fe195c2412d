"""A small store of values on the minion, in its cache directory."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.disk import make_dir, read_regular, write_file
from saltlite.providers import textfile

FILE = "datastore"


def _data_path(ctx: MinionContext) -> Path:
    return Path(ctx.config.paths.cachedir, FILE)


def load(ctx: MinionContext) -> dict[str, Any]:
    """All values; none if there are none, or what is stored cannot be read.

    CLI Example:

        salt '*' data.load
    """
    stored = read_regular(_data_path(ctx))
    if not stored:
        return {}
    try:
        values = json.loads(stored)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def dump(ctx: MinionContext, new_data: object) -> bool:
    """Replace all values; ``False`` for what is no map.

    CLI Example:

        salt '*' data.dump '{'eggs': 'spam'}'
    """
    values = new_data if isinstance(new_data, Mapping) else ast.literal_eval(str(new_data))
    if not isinstance(values, Mapping):
        return False
    with _hold_file(ctx):
        _write_values(ctx, values)
    return True


def _hold_file(ctx: MinionContext) -> AbstractContextManager[None]:
    return textfile.hold(ctx, str(_data_path(ctx)))


def _write_values(ctx: MinionContext, values: Mapping[str, object]) -> None:
    make_dir(_data_path(ctx).parent)
    write_file(_data_path(ctx), json.dumps(dict(values)).encode())


def clear(ctx: MinionContext) -> bool:
    """Remove all values.

    CLI Example:

        salt '*' data.clear
    """
    with _hold_file(ctx):
        _data_path(ctx).unlink(missing_ok=True)
    return True


def update(ctx: MinionContext, key: str, value: object) -> bool:
    """Set one value.

    CLI Example:

        salt '*' data.update <key> <value>
    """
    with _hold_file(ctx):
        _write_values(ctx, {**load(ctx), key: value})
    return True


def cas(ctx: MinionContext, key: str, value: object, old_value: object) -> bool:
    """Set one value if it is ``old_value`` now.

    CLI Example:

        salt '*' data.cas <key> <value> <old_value>
    """
    with _hold_file(ctx):
        stored = load(ctx)
        if key not in stored or stored[key] != old_value:
            return False
        _write_values(ctx, {**stored, key: value})
    return True


def pop(ctx: MinionContext, key: str, default: object = None) -> Any:
    """Remove one value and answer it.

    CLI Example:

        salt '*' data.pop <key> "there was no val"
    """
    with _hold_file(ctx):
        stored = load(ctx)
        value = stored.pop(key, default)
        _write_values(ctx, stored)
    return value


def get(ctx: MinionContext, key: Any, default: Any = None) -> Any:
    """One value, or a list of them for a list of names.

    CLI Example:

        salt '*' data.get <key>
    """
    stored = load(ctx)
    if isinstance(key, list):
        return [stored.get(each, default) for each in key]
    return stored.get(key, default)


def keys(ctx: MinionContext) -> list[str]:
    """The names of all values.

    CLI Example:

        salt '*' data.keys
    """
    return list(load(ctx))


def values(ctx: MinionContext) -> list[Any]:
    """All values without their names.

    CLI Example:

        salt '*' data.values
    """
    return list(load(ctx).values())


def items(ctx: MinionContext) -> dict[str, Any]:
    """All values by their names.

    CLI Example:

        salt '*' data.items
    """
    return load(ctx)


def has_key(ctx: MinionContext, key: str) -> bool:
    """Whether there is a value of that name.

    CLI Example:

        salt '*' data.has_key <key>
    """
    return key in load(ctx)
