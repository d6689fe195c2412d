"""``mine.*``: what minions put into the mine, read from the master."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.runner_context import RunnerContext


def get(
    ctx: RunnerContext, tgt: str | list[str], fun: str | list[str], tgt_type: str = "glob"
) -> dict[str, Any]:
    """Return one function's mine data of the targeted minions; of several, by function.

    The master sees everything: ``allow_tgt`` binds minions only.

    CLI Example:

        salt-run mine.get '*' network.interfaces
    """
    names = [one.strip() for one in fun.split(",")] if isinstance(fun, str) else fun
    mines = {one: ctx.cache.fetch("mine", one) for one in ctx.cached(tgt, tgt_type)}
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        found[name] = {
            minion: _bare_value(mine[name])
            for minion, mine in mines.items()
            if isinstance(mine, Mapping) and name in mine
        }
    if isinstance(fun, str) and len(names) == 1:
        return found[names[0]]
    return {name: data for name, data in found.items() if data}


def update(
    ctx: RunnerContext,
    tgt: str | list[str],
    tgt_type: str = "glob",
    clear: bool = False,
    mine_functions: Mapping[str, object] | None = None,
) -> Mapping[str, Any]:
    """Have the targeted minions send their mine data anew; what they say of it.

    CLI Example:

        salt-run mine.update '*'
        salt-run mine.update 'juniper-edges' tgt_type='nodegroup'
    """
    kwarg = {"clear": clear, "mine_functions": mine_functions}
    return ctx.local.cmd(tgt, "mine.update", tgt_type=tgt_type, kwarg=kwarg)


def _bare_value(entry: object) -> Any:
    """The data without who may read them."""
    if isinstance(entry, Mapping) and entry.get("__saltmine_acl__") and "__data__" in entry:
        return entry["__data__"]
    return entry
