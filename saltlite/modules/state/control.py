"""What an administrator says to runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate import control
from saltlite.modules import grains
from saltlite.modules._state import words


def disable(ctx: MinionContext, states: object) -> dict[str, Any]:
    """Let SLS files, by names or globs, not be run until they are enabled again.

    ``highstate`` stands for the run of the top file.

    CLI Example:

        salt '*' state.disable highstate
        salt '*' state.disable "['web.*', db]"
    """
    return _switch_states(ctx, states, off=True)


def enable(ctx: MinionContext, states: object) -> dict[str, Any]:
    """Let SLS files be run again that were disabled.

    CLI Example:

        salt '*' state.enable highstate
    """
    return _switch_states(ctx, states, off=False)


def _switch_states(ctx: MinionContext, states: object, *, off: bool) -> dict[str, Any]:
    names = words(states)
    return dict(grains.update(ctx, lambda now: control.switch(now, names, off=off)))


def list_disabled(ctx: MinionContext) -> list[str]:
    """What is disabled.

    CLI Example:

        salt '*' state.list_disabled
    """
    return control.list_disabled(ctx.grains)


def pause(
    ctx: MinionContext, jid: str, state_id: str | None = None, duration: float | None = None
) -> None:
    """Let a run wait before a state, or before the next one; for so many seconds, or until resumed.

    CLI Example:

        salt '*' state.pause 20171130110407769519
        salt '*' state.pause 20171130110407769519 vim 10
    """
    what = {} if duration is None else {"duration": float(duration)}
    control.say(ctx, str(jid), state_id or control.ALL, what)


def resume(ctx: MinionContext, jid: str, state_id: str | None = None) -> None:
    """Let a run go on that waits.

    CLI Example:

        salt '*' state.resume 20171130110407769519
    """
    control.say(ctx, str(jid), state_id or control.ALL, None)


def soft_kill(ctx: MinionContext, jid: str, state_id: str | None = None) -> None:
    """Let a run end before a state, or before the next one.

    CLI Example:

        salt '*' state.soft_kill 20171130110407769519
        salt '*' state.soft_kill 20171130110407769519 vim
    """
    control.say(ctx, str(jid), state_id or control.ALL, {"kill": True})


def clear_cache(ctx: MinionContext) -> list[str]:
    """Remove compiled states that Salt may have left in the cache; saltlite keeps none there.

    CLI Example:

        salt '*' state.clear_cache
    """
    gone = sorted(Path(ctx.config.paths.cachedir).glob("*.cache.p"))
    for path in gone:
        path.unlink(missing_ok=True)
    return [path.name for path in gone]


def get_pauses(ctx: MinionContext, jid: str | None = None) -> dict[str, Any]:
    """What was said to runs: jid → state id → what.

    CLI Example:

        salt '*' state.get_pauses
    """
    if jid is None:
        return control.all_pauses(ctx)
    found = control.pauses(ctx, str(jid))
    return {str(jid): found} if found else {}
