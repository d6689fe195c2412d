"""``config.*``: the master's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.config.opts import flat_opts
from saltlite.runner_context import RunnerContext


def get(ctx: RunnerContext, key: str, default: object = "", delimiter: str = ":") -> Any:
    """Return an option of the master; ``:`` leads into nested ones.

    CLI Example:

        salt-run config.get worker_threads
        salt-run config.get nodegroups:web
    """
    value: Any = flat_opts(ctx.config)
    for part in str(key).split(delimiter):
        if not isinstance(value, Mapping) or part not in value:
            return default
        value = value[part]
    return value
