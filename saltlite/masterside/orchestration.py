"""States on the master: the context in which they run, and a run of them as a runner's return.

They are compiled and run by the same engine as on minions. Files are the master's, the pillar is
that of the master's id, ``<host>_master``. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.context import MinionContext
from saltlite.disk import write_file
from saltlite.errors import UsageError
from saltlite.runner_context import RunnerContext

if TYPE_CHECKING:
    from saltlite.highstate.apply import Wishes
    from saltlite.highstate.compile import Compiled

OUTPUTTER = "highstate"
NO_PILLAR = "Pillar data must be formatted as a dictionary"

Make = Callable[[MinionContext, "Wishes"], "Compiled"]
"""How what shall be run is compiled."""


def master_context(
    ctx: RunnerContext,
    *,
    pillar: object = None,
    pillarenv: str | None = None,
    orchestration_jid: str | None = None,
) -> MinionContext:
    """The context of states on the master; ``pillar`` lies over its own pillar.

    ``orchestration_jid`` is that of the outermost orchestration, if it is not this one.

    Raises:
        UsageError: ``pillar`` is no map.
        SaltliteError: the pillar cannot be compiled.
    """
    from saltlite.masterside.context import execution_context
    from saltlite.pillar.context import compile_for_minion

    if pillar is not None and not isinstance(pillar, Mapping):
        raise UsageError(NO_PILLAR)
    found = execution_context(ctx)
    found.pillar = compile_for_minion(
        ctx.config,
        found.config.identity.id,
        found.grains,
        pillarenv=pillarenv,
        override=pillar or {},
    )
    found.state["orchestration_jid"] = orchestration_jid or ctx.jid
    return found


def ran(ctx: MinionContext, make: Make, given: Mapping[str, object]) -> Any:
    """Compile and run: the returns by tag, or a list of errors.

    ``given`` are ``test``, ``saltenv`` and ``exclude`` of the call.
    """
    from saltlite.highstate.apply import Wishes, apply, compile_states, refusal

    if given.get("test") is None:
        given = {**given, "test": ctx.config.files.test}  # a pillar's "test" is for minions
    wishes = Wishes.of(ctx, given)
    with _under_way(ctx):
        refused = refusal(ctx, wishes)
        if refused is not None:
            return refused
        return apply(ctx, compile_states(ctx, lambda: make(ctx, wishes)), wishes)


@contextmanager
def _under_way(ctx: MinionContext) -> Iterator[None]:
    """While ``cachedir/proc/<jid>`` says so, the run can be told to pause or to end."""
    from saltlite.highstate import control

    jid = ctx.jid
    if not jid:
        yield
        return
    path = Path(ctx.config.paths.cachedir, "proc", jid)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    told = {"jid": jid, "fun": "runner.state.orchestrate", "pid": os.getpid()}
    write_file(path, json.dumps(told).encode(), mode=0o600)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        control.forget(ctx, jid)


def as_high(data: object) -> dict[str, Any]:
    """High data as the engine has it: ``{id: {module: [function, arguments ...]}}``.

    ``module.function`` may be written, as in SLS files.

    Raises:
        UsageError: ``data`` is no map of maps.
    """
    if not isinstance(data, Mapping) or not all(isinstance(x, Mapping) for x in data.values()):
        raise UsageError("high data are a map: id → module.function → arguments")
    found: dict[str, Any] = {}
    for ident, body in data.items():
        found[ident] = {}
        for name, given in body.items():
            module, dot, function = str(name).partition(".")
            found[ident][module] = [function, *(given or ())] if dot else given
    return found


def as_return(ctx: MinionContext, answers: object) -> dict[str, Any]:
    """The return of ``state.orchestrate``: ``{"data": {id: answers}, "outputter", "retcode"}``."""
    data = {ctx.config.identity.id: answers}
    return {"data": data, "outputter": OUTPUTTER, "retcode": int(not has_succeeded(answers))}


def has_succeeded(answers: object) -> bool:
    """Whether something ran and none of it failed."""
    if not isinstance(answers, Mapping) or not answers:
        return False
    return all(answer.get("result") is not False for answer in answers.values())


def tell(ctx: RunnerContext, data: Mapping[str, object]) -> None:
    """Say on the bus how far it is: ``salt/run/<jid>/progress``."""
    from saltlite.core import tags

    told: dict[str, Any] = {"data": dict(data), "outputter": OUTPUTTER}
    ctx.events.fire(tags.run_part(ctx.jid, "progress"), told)
