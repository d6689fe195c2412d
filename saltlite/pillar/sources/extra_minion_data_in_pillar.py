"""``extra_minion_data_in_pillar``: what a minion's ``pass_to_ext_pillars`` names, as its pillar.

These are the minion's own words: whoever controls the minion chooses them. Source: observed on Salt
3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.context import MinionContext

ALL: Final = ("*", "<all>")


def ext_pillar(
    ctx: MinionContext,
    pillar: Mapping[str, object],
    include: Any,
    extra_minion_data: Mapping[str, object] | None = None,
) -> Mapping[str, Any]:
    """What is included: all with ``*`` or ``<all>``, else the values of paths such as ``a:b``.

    Of two paths that begin with the same name the later one counts.
    """
    data = extra_minion_data or {}
    if isinstance(include, str) and include in ALL:
        return data
    found: dict[str, Any] = {}
    for path in include:
        found.update(_value_below(data, path.split(":")))
    return found


def _value_below(data: Any, names: list[str]) -> dict[str, Any]:
    """The value at a path, below its names; empty if there is none."""
    name, *rest = names
    if name not in data:
        return {}
    if not rest:
        return {name: data[name]}
    below = _value_below(data[name], rest)
    return {name: below} if below else {}
