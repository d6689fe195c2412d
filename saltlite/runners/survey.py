"""``survey.*``: group minions by what they return."""

from __future__ import annotations

import difflib
from typing import Any

from saltlite.core.keywords import own_keywords
from saltlite.runner_context import RunnerContext


def hash_(ctx: RunnerContext, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
    """Run a function on minions and group those that return the same.

    survey_sort : down
        Largest group first; ``up``: smallest first.

    CLI Example:

        salt-run survey.hash '*' file.get_hash /etc/salt/minion survey_sort=up
    """
    return _group_returns(ctx, args, kwargs)


def diff(ctx: RunnerContext, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
    """Run a function on minions, and print how each group's return differs from the first's.

    CLI Example:

        salt-run survey.diff survey_sort=up '*' cp.get_file_str file:///etc/hosts
    """
    pools = _group_returns(ctx, args, kwargs)
    for pool in pools:
        _print_pool(ctx, pool, pools[0])
    return pools


def _print_pool(ctx: RunnerContext, pool: dict[str, Any], first: dict[str, Any]) -> None:
    ctx.write(f"minion pool :\n{'-' * 12}\n{pool['pool']}")
    ctx.write(f"pool size :\n{'-' * 10}\n    {len(pool['pool'])}")
    if pool is first:
        ctx.write(f"pool result :\n{'-' * 12}\n    {pool['result']}\n")
        return
    head = f'differences from "{first["pool"][0]}" results :'
    ctx.write(f"{head}\n{'-' * 30}")
    lines = (first["result"].splitlines(), pool["result"].splitlines())
    for line in difflib.unified_diff(*lines, first["pool"][0], pool["pool"][0], lineterm=""):
        ctx.write(line)
    ctx.write("\n")


def _group_returns(ctx: RunnerContext, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    options = own_keywords(kwargs)
    order = options.pop("survey_sort", "down")
    if len(args) < 2:
        raise ValueError("a target and a function are needed")
    tgt, fun, *arg = args
    answers = ctx.local.cmd(tgt, fun, arg, tgt_type="compound", kwarg=options or None)
    pools: dict[str, dict[str, Any]] = {}
    for minion in sorted(answers):
        result = str(answers[minion])
        pools.setdefault(result, {"pool": [], "result": result})["pool"].append(minion)
    return sorted(pools.values(), key=lambda one: len(one["pool"]), reverse=order != "up")
