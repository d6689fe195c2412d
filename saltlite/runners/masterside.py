"""Execution functions where there is no minion: a context made from the master's options."""

from __future__ import annotations

from typing import cast

from saltlite.context import Functions, MinionContext
from saltlite.runners.context import RunnerContext


def execution_context(ctx: RunnerContext) -> MinionContext:
    """What execution functions get on the master: its files, its grains, no pillar, no minion."""
    from saltlite.config.asminion import as_minion
    from saltlite.grains import load_grains
    from saltlite.host import Host
    from saltlite.loader.registry import Registry

    config, host = as_minion(ctx.config, ctx.config.process.id), Host()
    found = MinionContext(
        config=config,
        host=host,
        grains=load_grains(config, host),
        pillar={},
        functions=cast(Functions, None),
        events=ctx.events,
    )
    found.functions = Registry(found)
    return found
