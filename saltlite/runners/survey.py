"""``survey.*``: group minions by what they return."""

from __future__ import annotations

import difflib
import json
from typing import Any

from saltlite.runners.context import RunnerContext


def hash_(ctx: RunnerContext, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
    """Run a function on minions and group those that return the same.

    survey_sort : down
        Largest group first; ``up``: smallest first.

    CLI Example:

        salt-run survey.hash '*' file.get_hash /etc/salt/minion survey_sort=up
    """
    return _pools(ctx, args, kwargs)


def diff(ctx: RunnerContext, *args: Any, **kwargs: Any) -> str:
    """Run a function on minions and print how each group's return differs from the first's.

    CLI Example:

        salt-run survey.diff survey_sort=up '*' cp.get_file_str file:///etc/hosts
    """
    first: list[str] | None = None
    for pool in _pools(ctx, args, kwargs):
        lines = str(pool["result"]).splitlines()
        ctx.write(f"minion pool :\n{'-' * 12}\n{pool['pool']}\npool size :\n{'-' * 10}")
        ctx.write(f"    {len(pool['pool'])}")
        if first is None:
            first = lines
            ctx.write(f"pool result :\n{'-' * 12}\n    {pool['result']}\n")
            continue
        ctx.write(f"differences from the first pool :\n{'-' * 31}")
        for line in difflib.unified_diff(first, lines, "first pool", "this pool", lineterm=""):
            ctx.write(line)
    return ""


def _pools(ctx: RunnerContext, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    options = {name: value for name, value in kwargs.items() if not name.startswith("__")}
    order = options.pop("survey_sort", "down")
    if len(args) < 2:
        raise ValueError("a target and a function are needed")
    tgt, fun, *arg = args
    tgt_type = options.pop("tgt_type", "glob")
    answers = ctx.local.cmd(tgt, fun, arg, tgt_type=tgt_type, kwarg=options or None)
    pools: dict[str, dict[str, Any]] = {}
    for minion in sorted(answers):
        result = answers[minion]
        alike = json.dumps(result, sort_keys=True, default=str)
        pools.setdefault(alike, {"pool": [], "result": result})["pool"].append(minion)
    return sorted(pools.values(), key=lambda one: len(one["pool"]), reverse=order != "up")
