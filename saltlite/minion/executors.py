"""Executors: what stands between a job and its function.

Each is called with what the function would be, and the first that gives back something but ``None``
has run it. A user's own (``_executors``) goes before ours. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.loader.catalogue import EXECUTORS, has_custom_code
from saltlite.minion.taken_job import TakenJob

DIRECT = "direct_call"
Call = Callable[[], Any]


def executors_of(job: TakenJob, ctx: MinionContext) -> list[str]:
    """The executors that a job names, else those of the configuration; raises FunctionError."""
    wanted = job.module_executors or ctx.config.extra.get("module_executors") or DIRECT
    if isinstance(wanted, str):
        return [name.strip() for name in wanted.split(",") if name.strip()]
    if not isinstance(wanted, (list, tuple)):
        raise FunctionError("module_executors must be a list of names")
    return [str(name) for name in wanted]


def execute(
    function: Callable[..., Any],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    job: TakenJob,
    ctx: MinionContext,
) -> Any:
    """Run a function through the executors of its job.

    Raises:
        FunctionError: one of them is not there.
    """
    value: Any = None
    for name in executors_of(job, ctx):
        value = _call_executor(name, function, args, kwargs, job, ctx)
        if value is not None:
            return value
    return value


def _call_executor(
    name: str,
    function: Callable[..., Any],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    job: TakenJob,
    ctx: MinionContext,
) -> Any:
    if name == DIRECT:  # what nearly all jobs have needs no look for files
        return function(*args, **kwargs)
    own = _of_users(name, ctx)
    if own is not None:
        # All options in one map cost some time to make: only a user's executor takes them.
        from saltlite.config.opts import flat_opts

        return own(flat_opts(ctx.config), dict(job.fields), function, list(args), dict(kwargs))
    module = EXECUTORS.load(name)
    if module is None:
        raise FunctionError(f"'{name}' executor is not available")
    return vars(module)["execute"](ctx, job.fields, function, args, kwargs)


def _of_users(name: str, ctx: MinionContext) -> Callable[..., Any] | None:
    if not has_custom_code(ctx.config, "executors"):
        return None
    from saltlite.loader.surroundings import surroundings
    from saltlite.loader.user import UserModules

    return UserModules(ctx, "executors", surroundings(ctx)).get(f"{name}.execute")
