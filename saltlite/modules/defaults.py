"""Default values of formulas, and maps laid on one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core import data


def get(ctx: MinionContext, key: str, default: object = "") -> Any:
    """A value of ``defaults.yaml`` or ``defaults.json`` of a formula: ``formula:key:below``.

    CLI Example:

        salt '*' defaults.get core:users:root
    """
    formula, colon, below = key.partition(":")
    values = _load_defaults(ctx, formula)
    return data.traverse(values, below, default) if colon else values


def _load_defaults(ctx: MinionContext, formula: str) -> Any:
    from saltlite.fileserver.client import file_client
    from saltlite.templates.serializers import SERIALIZERS

    saltenv = ctx.config.files.saltenv or "base"
    client = file_client(ctx)
    for kind in ("json", "yaml"):
        path = f"{formula}/defaults.{kind}"
        if path not in client.list_files(saltenv):
            continue
        read = SERIALIZERS[kind].deserialize
        found = client.read(f"salt://{path}", saltenv)
        if found is not None and read is not None:
            return read(found) or {}
    return {}


def merge(
    dest: object,
    src: object,
    merge_lists: bool = False,
    in_place: bool = True,
    convert_none: bool = True,
) -> Any:
    """``src`` laid on ``dest``; lists are joined with ``merge_lists``.

    CLI Example:

        salt '*' defaults.merge '{a: b}' '{d: e}'
    """
    if in_place and dest is None:
        raise TypeError("Can't perform in-place merge into NoneType")
    joined = data.update(
        _as_map(dest), _as_map(src) if convert_none else src, merge_lists=merge_lists
    )
    return _update_in_place(dest, joined) if in_place else joined


def _as_map(value: object) -> Any:
    return {} if value is None else value


def _update_in_place(dest: object, joined: dict[Any, Any]) -> Any:
    """The caller's own map, changed: templates count on that."""
    if not isinstance(dest, dict):
        return joined
    dest.update(joined)
    return dest


def deepcopy(source: object) -> Any:
    """A copy that shares nothing.

    CLI Example:

        salt '*' defaults.deepcopy '{a: [1]}'
    """
    return data.copy_data(source)


def update(
    dest: object,
    defaults: Mapping[str, object],
    merge_lists: bool = True,
    in_place: bool = True,
    convert_none: bool = True,
) -> Any:
    """Each map in ``dest`` laid on ``defaults``.

    CLI Example:

        salt '*' defaults.update '{node1: {a: 1}}' '{b: 2}'
    """
    made = {
        name: data.update(
            defaults, _as_map(each) if convert_none else each, merge_lists=merge_lists
        )
        for name, each in _as_map(dest).items()
    }
    return _update_in_place(dest, made) if in_place else made
