"""What runs where there is no minion: a context made from the master's options.

And the other way round: how functions and states, there or on a minion beside its master, have the
master run something.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.config.master import MasterConfig
from saltlite.context import MinionContext
from saltlite.core.plain import PlainMap
from saltlite.errors import FunctionError
from saltlite.runner_context import RunnerContext


def execution_context(ctx: RunnerContext, *, with_pillar: bool = False) -> MinionContext:
    """What execution functions get on the master: its files and grains, no minion.

    ``with_pillar`` also the pillar of the master itself.
    """
    from saltlite.config.asminion import as_minion
    from saltlite.grains import load_grains
    from saltlite.host import Host
    from saltlite.loader.registry import with_functions

    config, host = as_minion(ctx.config, ctx.config.process.id), Host()
    grains = load_grains(config, host)
    return with_functions(
        MinionContext(
            config=config,
            host=host,
            grains=grains,
            pillar=master_pillar(ctx.config, grains) if with_pillar else {},
            events=ctx.events,
            job={"jid": ctx.jid},
            master_side=ctx,
        )
    )


def reaction_context(ctx: RunnerContext, config: MasterConfig) -> MinionContext:
    """What the files of reactions get: as above, and the pillar of ``<id>_master`` when asked for.

    ``config`` has the master's options as they are to hold for these files.
    """
    from saltlite.config.asminion import as_minion
    from saltlite.grains import LazyGrains
    from saltlite.host import Host
    from saltlite.loader.registry import with_functions

    own, host = as_minion(config, master_id(config)), Host()
    grains = LazyGrains(own, host)
    return with_functions(
        MinionContext(
            config=own,
            host=host,
            grains=grains,
            pillar=master_pillar(config, grains),
            events=ctx.events,
            master_side=ctx,
        )
    )


def master_pillar(config: MasterConfig, grains: PlainMap) -> PlainMap:
    """The pillar of the master itself, compiled when somebody looks at it."""
    from saltlite.pillar.context import compile_for_minion
    from saltlite.pillar.lazy import LazyPillar

    return LazyPillar(lambda: compile_for_minion(config, master_id(config), dict(grains)))


def master_id(config: MasterConfig) -> str:
    """The master's name as a minion's: ``<id>_master``."""
    name = config.process.id
    return name if name.endswith("_master") else f"{name}_master"


def run_for(
    ctx: MinionContext, kind: str, fun: str, arg: Sequence[object], kwarg: Mapping[str, Any]
) -> dict[str, Any]:
    """Run a ``runner`` or ``wheel`` function, or a job (``local``), with the master's options.

    In this process where that is the master's side; else in one of its own, on a machine that has
    a master's configuration beside the minion's. The map has ``return`` and ``success``, and of
    the first two kinds ``jid``, ``user`` and ``wrong``: whether the arguments were. Those of a job
    are the arguments of :func:`~saltlite.jobs.publishing.publish`.

    Raises:
        SaltliteError: it could not be run.
    """
    here = ctx.master_side
    if here is None or here.pid != os.getpid():  # a forked state must not use the run's sockets
        return run_apart(ctx, kind, fun, arg, kwarg)
    if kind != "local":
        return here.run(kind, fun, arg, kwarg)
    from saltlite.jobs.publishing import publish

    return {"return": publish(here.local, **{**kwarg, "fun": fun}), "success": True}


def run_apart(
    ctx: MinionContext, kind: str, fun: str, arg: Sequence[object], kwarg: Mapping[str, object]
) -> dict[str, Any]:
    """As :func:`run_for`, always in a process of its own; several may do it at once."""
    import json
    import sys

    directory = os.path.dirname(ctx.config.paths.conf_file)
    if not has_master(ctx):
        raise FunctionError(f"{fun} needs the machine of a master: there is none in {directory}")
    asked = {"config_dir": directory, "kind": kind, "fun": fun, "arg": arg, "kwarg": kwarg}
    command = [sys.executable, "-m", "saltlite.cli.run_for_minion"]
    # python -m looks for modules in the working directory first: it is our own
    cwd = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = ctx.host.run(command, stdin=json.dumps(asked, default=str), cwd=cwd)
    if done.exit_code:
        raise FunctionError(f"{kind} {fun}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    if "error" in found:
        raise FunctionError(str(found["error"]))
    return found


def has_master(ctx: MinionContext) -> bool:
    """Whether this is the master's side, or a master is configured beside this minion."""
    directory = os.path.dirname(ctx.config.paths.conf_file)
    return ctx.master_side is not None or ctx.host.exists(os.path.join(directory, "master"))
