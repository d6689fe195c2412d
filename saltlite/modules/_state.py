"""Between the functions of ``state`` and the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from saltlite.context import MinionContext
from saltlite.highstate.apply import Wishes, compile_states, need_pillar, prepare_context
from saltlite.highstate.compile import Compiled, compile_highstate, compile_sls

Make: TypeAlias = Callable[[MinionContext], Compiled]
"""Compiles in the context that it is given."""


def of_sls(ctx: MinionContext, mods: Any, wishes: Wishes) -> Compiled:
    """The states of SLS files."""
    return compile_sls(ctx, mods, saltenv=wishes.saltenv, exclude=wishes.exclude)


def of_top(ctx: MinionContext, wishes: Wishes, top_file: str | None = None) -> Compiled:
    """The states that the top file has for this minion, or another top file."""
    return compile_highstate(
        ctx, saltenv=wishes.only_env, exclude=wishes.exclude, top_file=top_file
    )


def show(ctx: MinionContext, wishes: Wishes, make: Make, part: Callable[[Compiled], Any]) -> Any:
    """A part of what was compiled, or the list of errors.

    Raises:
        FunctionError: the pillar has errors, and the call does not say ``force``.
    """
    with prepare_context(ctx, wishes) as own:
        if not wishes.force:
            need_pillar(own)
        found = compile_states(own, lambda: make(own))
    return list(found.errors) if found.errors else part(found)


def words(given: object) -> list[str]:
    """A list, or text with commas, as a list."""
    if given is None:
        return []
    parts = given.split(",") if isinstance(given, str) else given
    return [str(part).strip() for part in (parts if isinstance(parts, list) else [parts])]
