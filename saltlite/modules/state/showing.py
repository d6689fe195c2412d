"""What would be run, and what runs now."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.apply import (
    COMPILE_ERROR,
    STATE_FAILURE,
    Wishes,
    need_pillar,
    prepare_context,
)
from saltlite.highstate.apply import running as runs
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.compile import Compiled
from saltlite.modules._state import of_sls, of_top, show, words


def show_sls(
    ctx: MinionContext, mods: object, test: bool | None = None, queue: object = None, **kwargs: Any
) -> Any:
    """The high data of SLS files.

    CLI Example:

        salt '*' state.show_sls core,edit.vim dev
    """
    wishes = Wishes.of(ctx, {**kwargs, "test": test})
    return show(
        ctx, wishes, lambda own: of_sls(own, mods, wishes).as_written(), lambda found: found.high
    )


def show_low_sls(
    ctx: MinionContext, mods: object, test: bool | None = None, queue: object = None, **kwargs: Any
) -> Any:
    """The low data of SLS files.

    CLI Example:

        salt '*' state.show_low_sls foo
    """
    wishes = Wishes.of(ctx, {**kwargs, "test": test})
    return show(ctx, wishes, lambda own: of_sls(own, mods, wishes).as_written(), _show_low)


def _show_low(found: Compiled) -> list[dict[str, Any]]:
    return [chunk.to_low() for chunk in found.low]


def show_highstate(ctx: MinionContext, queue: object = None, **kwargs: Any) -> Any:
    """The high data that the top file has for this minion; without any it has failed.

    CLI Example:

        salt '*' state.show_highstate
    """
    wishes = Wishes.of(ctx, kwargs)
    found = show(ctx, wishes, lambda own: of_top(own, wishes).as_read(), lambda it: it.high)
    if not found:
        ctx.retcode = STATE_FAILURE
    return found


def show_lowstate(ctx: MinionContext, queue: object = None, **kwargs: Any) -> Any:
    """The low data that the top file has for this minion.

    CLI Example:

        salt '*' state.show_lowstate
    """
    wishes = Wishes.of(ctx, kwargs)
    return show(ctx, wishes, lambda own: of_top(own, wishes), _show_low)


def show_top(ctx: MinionContext, queue: object = None, **kwargs: Any) -> Any:
    """The SLS files that the top files have for this minion, by environment.

    CLI Example:

        salt '*' state.show_top
    """
    from saltlite.highstate.compile import top_of

    wishes = Wishes.of(ctx, kwargs)
    with prepare_context(ctx, wishes) as own:
        if not wishes.force:
            need_pillar(own)
        found = top_of(own, saltenv=wishes.only_env)
        if found.errors:
            own.retcode = COMPILE_ERROR
            return list(found.errors)
        return found.sls


def show_states(ctx: MinionContext, queue: object = None, **kwargs: Any) -> Any:
    """The names of all SLS files that a highstate would run, in order.

    CLI Example:

        salt '*' state.show_states
    """
    wishes = Wishes.of(ctx, kwargs)
    found = show(ctx, wishes, lambda own: of_top(own, wishes), lambda found: found.low)
    if ctx.retcode:
        return found
    return list(dict.fromkeys(chunk.sls for chunk in found))


def show_state_usage(ctx: MinionContext, queue: object = None, **kwargs: Any) -> Any:
    """Which SLS files a highstate of this minion uses, and which it does not, by environment.

    CLI Example:

        salt '*' state.show_state_usage
    """
    wishes = Wishes.of(ctx, {**kwargs, "force": True})
    found = show(ctx, wishes, lambda own: of_top(own, wishes).as_read(), lambda it: it.high)
    if not isinstance(found, dict):
        return found
    bodies = [body for body in found.values() if isinstance(body, dict)]
    usage = {}
    for saltenv in ctx.functions.call("cp.envs"):
        there = ctx.functions.call("cp.list_states", saltenv)
        mine = {body.get("__sls__") for body in bodies if body.get("__env__") == saltenv}
        used = sorted(set(there) & mine)
        unused = sorted(set(there) - mine)
        usage[saltenv] = {
            "used": used,
            "unused": unused,
            "count_all": len(there),
            "count_used": len(used),
            "count_unused": len(unused),
        }
    return usage


def sls_exists(
    ctx: MinionContext, mods: object, test: bool | None = None, queue: object = None, **kwargs: Any
) -> bool:
    """Whether there is an SLS file of that name.

    CLI Example:

        salt '*' state.sls_exists core,edit.vim
    """
    found = isinstance(show_sls(ctx, mods, test=test, **kwargs), dict)
    ctx.retcode = 0 if found else COMPILE_ERROR
    return found


def id_exists(
    ctx: MinionContext,
    ids: object,
    mods: object,
    test: bool | None = None,
    queue: object = None,
    **kwargs: Any,
) -> bool:
    """Whether SLS files have states of all these ids.

    CLI Example:

        salt '*' state.id_exists create_myfile,update_template filestate
    """
    wishes = Wishes.of(ctx, {**kwargs, "test": test})
    found = show(
        ctx, wishes, lambda own: of_sls(own, mods, wishes).as_written(), lambda found: found.low
    )
    ctx.retcode = 0
    there = {str(chunk.ident) for chunk in found if isinstance(chunk, Chunk)}
    return set(words(ids)) <= there


def running(ctx: MinionContext, concurrent: bool = False) -> list[str]:
    """A sentence about each run of states that goes on now.

    CLI Example:

        salt '*' state.running
    """
    return [] if concurrent else runs(ctx)
