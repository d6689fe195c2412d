"""Executors: what stands between a job and its function. Source: modules.md 2; Salt 3006.30.

Each is called with what the function would be, and the first that gives back something but ``None``
has run it. A user's own (``_executors``) goes before ours.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError

DIRECT = "direct_call"
SPLAY_S = 300.0
"""``splaytime`` where neither the job nor the configuration says it."""

Call = Callable[[], Any]


def executors_of(job: Mapping[str, Any], ctx: MinionContext) -> list[str]:
    """The executors that a job names, else those of the configuration; raises FunctionError."""
    wanted = job.get("module_executors") or ctx.config.extra.get("module_executors") or DIRECT
    if isinstance(wanted, str):
        return [name.strip() for name in wanted.split(",") if name.strip()]
    if not isinstance(wanted, (list, tuple)):
        raise FunctionError("module_executors must be a list of names")
    return [str(name) for name in wanted]


def execute(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    job: Mapping[str, Any],
    ctx: MinionContext,
) -> Any:
    """Run a function through the executors of its job.

    Raises:
        FunctionError: one of them is not there.
    """
    value: Any = None
    for name in executors_of(job, ctx):
        value = _one(name, function, args, kwargs, job, ctx)
        if value is not None:
            return value
    return value


def _one(
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    job: Mapping[str, Any],
    ctx: MinionContext,
) -> Any:
    if name == DIRECT:
        return function(*args, **kwargs)
    own = _of_users(name, ctx)
    if own is not None:
        from saltlite.config.opts import flat_opts

        return own(flat_opts(ctx.config), dict(job), function, list(args), dict(kwargs))
    if name == "splay":
        time.sleep(splay_s(_splaytime(job, ctx), ctx.config.identity.id))
        return None
    raise FunctionError(f"'{name}' executor is not available")


def _of_users(name: str, ctx: MinionContext) -> Callable[..., Any] | None:
    from saltlite.loader import catalogue

    if not catalogue.has_custom_code(ctx.config, "executors"):
        return None
    from saltlite.loader.user import UserModules

    return UserModules(ctx, "executors").get(f"{name}.execute")


def _splaytime(job: Mapping[str, Any], ctx: MinionContext) -> float:
    given = job.get("executor_opts")
    wanted = given.get("splaytime") if isinstance(given, Mapping) else None
    wanted = ctx.config.extra.get("splaytime", SPLAY_S) if wanted is None else wanted
    if not isinstance(wanted, (int, float)) or wanted < 0:
        raise FunctionError("splaytime must be a number of seconds, zero or more")
    return float(wanted)


def splay_s(splaytime_s: float, minion_id: str) -> float:
    """How long a minion waits: the same each time, and even over all minions."""
    return splaytime_s * (zlib.crc32(minion_id.encode()) / 2**32)
