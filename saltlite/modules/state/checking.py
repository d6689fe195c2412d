"""Before and after a run: mistakes, the order as a graph, whether a run did as was planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.highstate.apply import (
    COMPILE_ERROR,
    STATE_FAILURE,
    Wishes,
    prepare_context,
    synchronise,
)
from saltlite.highstate.compile import Compiled
from saltlite.modules._state import of_sls, of_top, show, words


def check(ctx: MinionContext, mods: object = None, **kwargs: Any) -> dict[str, Any]:
    """Look for mistakes in SLS files, or without a name in those of the top file; nothing is run.

    Unknown states and arguments, requisites that name nothing, files and pillar that are not there,
    and whatever does not render or compile, all at once, with file and line. Files that are named
    are looked at as one run. With a glob it is a whole tree: what the top file has for this minion
    as one run, and each other file that nobody includes by itself. The exit code is 1 if there is a
    mistake.

    CLI Example:

        salt '*' state.check
        salt-call --local state.check '*'
    """
    from saltlite.highstate.check import check as checked
    from saltlite.highstate.check import check_all
    from saltlite.highstate.compile import parse_list, top_of
    from saltlite.highstate.top import TopStates

    wishes = Wishes.of(ctx, kwargs)
    exclude = words(wishes.exclude)
    named = [str(name) for name in parse_list(mods)]
    with prepare_context(ctx, wishes) as own:
        synchronise(own, wishes.saltenv)
        if named and not any(character in name for name in named for character in "*?["):
            found = checked(own, TopStates({wishes.saltenv: named}), exclude)
        elif named:
            top = top_of(own, saltenv=wishes.only_env)
            found = check_all(own, {wishes.saltenv: named}, top, exclude)
        else:
            found = checked(own, top_of(own, saltenv=wishes.only_env), exclude)
    if found.mistakes:
        ctx.retcode = COMPILE_ERROR
    return {
        "sls": found.sls,
        "states": found.states,
        "mistakes": [str(mistake) for mistake in found.mistakes],
    }


def graph(ctx: MinionContext, mods: object = None, format: str = "mermaid", **kwargs: Any) -> Any:
    """The states and their requisites as a graph, in the order in which they would run.

    ``format`` is ``mermaid``, ``dot``, ``json``, or ``svg`` where Graphviz is.

    CLI Example:

        salt-call --local --out=newline_values_only state.graph web format=dot
    """
    from saltlite.highstate.drawing import FORMATS, draw
    from saltlite.highstate.graph import order

    if format not in FORMATS:
        raise UsageError(f"format: {format!r} is none of {', '.join(FORMATS)}")
    wishes = Wishes.of(ctx, kwargs)

    def make(own: MinionContext) -> Compiled:
        return of_sls(own, mods, wishes) if mods else of_top(own, wishes)

    return show(
        ctx, wishes, make, lambda found: draw(ctx.host, order(found.low, found.names), format)
    )


def diff(
    ctx: MinionContext, old: object, new: object, mods: object = None, **kwargs: Any
) -> dict[str, Any] | list[str]:
    """How what this minion would get of two environments differs; nothing is run.

    Branches of a gitfs remote are environments. Without ``mods`` it is what the top file of each
    environment has for this minion. ``added``, ``removed`` and ``changed`` have states by tag,
    ``moved`` those whose place among the others is another one. A list is that of the mistakes for
    which one of the two does not compile; the exit code then is 1.

    CLI Example:

        salt 'web1' state.diff base dev
        salt 'web1' state.diff base dev mods=nginx --out=json
    """
    from saltlite.highstate.chunk import Chunk
    from saltlite.highstate.differing import compare, declarations_of

    names = [str(name) for name in (old, new)]
    there = [str(name) for name in ctx.functions.call("cp.envs")]
    for name in names:
        # Else one that is misspelt would look like one in which everything is missing.
        if name not in there:
            raise FunctionError(f"environment: {name!r} is none of {', '.join(sorted(there))}")
    sides = []
    for name in names:
        wishes = Wishes.of(ctx, {**kwargs, "saltenv": name})

        def make(own: MinionContext, wishes: Wishes = wishes) -> Compiled:
            return of_sls(own, mods, wishes) if mods else of_top(own, wishes)

        found = show(ctx, wishes, make, lambda found: found.low)
        if not all(isinstance(chunk, Chunk) for chunk in found):
            return [f"{name}: {error}" for error in found]
        sides.append(declarations_of(found))
    return compare(*sides).as_answer(*sides)


def verify(ctx: MinionContext, mods: object = None, **kwargs: Any) -> dict[str, Any]:
    """Hold the last real run against the test run before it.

    Every test run of SLS files or of the top file is kept, and the next real run of the same beside
    it. ``differences`` has, by tag, each state that did something else than the test run had said.
    The exit code is 2 if there is one.

    CLI Example:

        salt '*' state.apply web test=True
        salt '*' state.apply web
        salt '*' state.verify web
    """
    from saltlite.highstate.plans import Asked, differences, find_plan

    wishes = Wishes.of(ctx, kwargs)
    with prepare_context(ctx, wishes) as own:
        found = find_plan(
            own, Asked(_list_wanted(own, mods, wishes), wishes.pillar, wishes.exclude)
        )
    if found is None:
        raise FunctionError("there was no test run of this to compare with")
    planned, done = found.planned, found.done
    if done is None:
        raise FunctionError(f"there was no real run since the test run {planned.jid}".rstrip())
    told = {each.tag: each.as_answer() for each in differences(planned.states, done.states)}
    if told:
        ctx.retcode = STATE_FAILURE
    return {"planned": planned.jid, "done": done.jid, "differences": told}


def _list_wanted(ctx: MinionContext, mods: object, wishes: Wishes) -> Mapping[str, Any]:
    """Environment → SLS names of what was asked for."""
    from saltlite.highstate.compile import parse_list, top_of

    if mods:
        return {wishes.saltenv: parse_list(mods)}
    found = top_of(ctx, saltenv=wishes.only_env)
    if found.errors:
        raise FunctionError("\n".join(found.errors))
    return found.sls
