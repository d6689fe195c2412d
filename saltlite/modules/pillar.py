"""Look at pillar."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core import data as nested
from saltlite.core.data import DELIMITER, choose, traverse

log = logging.getLogger(__name__)

OUTPUTTERS = {"items": "nested", "item": "nested", "raw": "nested"}

_NOT_GIVEN = "<Constant.NOT_SET>"
"""Salt's own way to tell that no default was given."""


def get(
    ctx: MinionContext,
    key: str,
    default: Any = _NOT_GIVEN,
    merge: bool = False,
    merge_nested_lists: bool | None = None,
    delimiter: str = DELIMITER,
    pillarenv: str | None = None,
    saltenv: str | None = None,
) -> Any:
    """One value, also from within others: ``pkg:apache``; empty if there is none.

    With ``merge`` the value is laid on ``default``, which then is a map or a list.

    CLI Example:

        salt '*' pillar.get pkg:apache
    """
    given = "" if isinstance(default, str) and default == _NOT_GIVEN else default
    found = traverse(ctx.pillar, key, given, delimiter)
    if not merge or found is given:
        return found
    return _merged(given, found, merge_lists=merge_nested_lists is not False)


def _merged(default: Any, found: Any, *, merge_lists: bool) -> Any:
    if isinstance(default, Mapping) and isinstance(found, Mapping):
        return nested.merge(default, found, merge_lists=merge_lists)
    if isinstance(default, list) and isinstance(found, list):
        return [*default, *found]
    if isinstance(default, (Mapping, list)):
        log.error(
            "pillar.get: the default is a %s, but the value is a %s. They are not merged.",
            type(default).__name__,
            type(found).__name__,
        )
    return found


fetch = get


def items(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """The whole pillar; ``pillar`` lies on top of it.

    CLI Example:

        salt '*' pillar.items
    """
    over = kwargs.get("pillar")
    whole: dict[str, Any] = nested.merge(ctx.pillar, over if isinstance(over, Mapping) else {})
    return whole


def data(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """The same as ``pillar.items``."""
    return items(ctx, *args, **kwargs)


def ls(ctx: MinionContext, *args: str, **kwargs: Any) -> list[str]:
    """The names of all entries at the top.

    CLI Example:

        salt '*' pillar.ls
    """
    return list(items(ctx, **kwargs))


def item(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """Some values; an unknown one is ``default``.

    CLI Example:

        salt '*' pillar.item foo bar:baz
    """
    default, delimiter = kwargs.get("default", ""), kwargs.get("delimiter") or DELIMITER
    return {str(name): traverse(ctx.pillar, name, default, delimiter) for name in args}


def raw(ctx: MinionContext, key: str | None = None) -> Any:
    """The pillar as the minion has it in memory, or one entry of it.

    CLI Example:

        salt '*' pillar.raw
    """
    return ctx.pillar.get(key, {}) if key else dict(ctx.pillar)


def keys(ctx: MinionContext, key: str, delimiter: str = DELIMITER) -> list[Any]:
    """The names of the entries of a map.

    CLI Example:

        salt '*' pillar.keys web:sites
    """
    found = traverse(ctx.pillar, key, KeyError, delimiter)
    if found is KeyError:
        raise KeyError(f"Pillar key not found: {key}")
    if not isinstance(found, Mapping):
        raise ValueError(f"Pillar value in key {key} is not a dict")
    return list(found)


def obfuscate(ctx: MinionContext, *args: str, **kwargs: Any) -> Any:
    """The pillar, or some entries, with the types of the values in place of the values.

    CLI Example:

        salt '*' pillar.obfuscate
    """
    return _types(item(ctx, *args, **kwargs) if args else items(ctx, **kwargs))


def _types(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_types(item) for item in value]
    return f"<{type(value).__name__}>"


def filter_by(
    ctx: MinionContext,
    lookup_dict: Mapping[Any, Any],
    pillar: str,
    merge: Mapping[str, Any] | None = None,
    default: str = "default",
    base: str | None = None,
) -> Any:
    """The entry of a map that fits a value of the pillar, ``default`` otherwise.

    CLI Example:

        salt '*' pillar.filter_by '{web: Serve it up, db: I query}' role
    """
    values = traverse(ctx.pillar, pillar, [])
    return choose(lookup_dict, values, merged=merge, default=default, base=base)
