"""docker_container: the signal that a running container gets when something watched has changed."""

from __future__ import annotations

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Verdict
from saltlite.modules.docker import containers


def send_signal(name: str, signal: str, *, start: bool) -> Action:
    """Return what sends a signal; with ``start`` the container has to run afterwards."""

    def run(ctx: MinionContext) -> Verdict:
        return _send_signal(ctx, name, signal, start=start)

    def foresee(ctx: MinionContext) -> Verdict:
        if ctx.follow(containers.state, name) != "running":
            return _fail_with(f"Container '{name}' is not running")
        return Verdict(result=None, comment=would, changes={"signal": signal})

    would = f"Signal {signal} would be sent to container"
    return Action(would=would, run=run, foreseen=foresee)


def _send_signal(ctx: MinionContext, name: str, signal: str, *, start: bool) -> Verdict:
    old = ctx.follow(containers.state, name)
    try:
        ctx.follow(containers.signal, name, signal)
    except FunctionError as error:
        return _fail_with(str(error))
    new = ctx.follow(containers.state, name)
    moved = {} if old == new else {"state": {"old": old, "new": new}}
    said = [f"Sent signal {signal} to container"]
    said += [f"State changed from '{old}' to '{new}'."] if moved else []
    fails = start and new != "running"
    said += ["Container is not running."] if fails else []
    comment = ". ".join(said[:2]) + "".join(f" {part}" for part in said[2:])
    return Verdict(result=not fails, comment=comment, changes={"signal": signal, **moved})


def _fail_with(why: str) -> Verdict:
    return Verdict(result=False, comment=f"Failed to signal container: {why}")
