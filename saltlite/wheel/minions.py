"""``minions.*``: which minions are there."""

from __future__ import annotations

from saltlite.runner_context import RunnerContext


def connected(ctx: RunnerContext) -> list[str]:
    """List the minions that are connected, by the master's own knowledge.

    CLI Example:

        wheel.cmd("minions.connected")
    """
    return sorted(ctx.connected())
