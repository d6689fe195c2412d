"""Texts that several states gather for a file, until the state of that file takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.chunk import LOWSTATE, Chunk

_KEY = "accumulators"
_TAKING = ("require", "watch", "prereq", "onchanges", "listen")

Accumulators = dict[str, list[Any]]


def of(ctx: MinionContext, filename: str) -> Accumulators:
    """The accumulators of a file in this run, by name; to be added to."""
    low = ctx.state.get(LOWSTATE)
    of_run, files = ctx.state.get(_KEY, (None, {}))
    if of_run is not low:  # those of another run are over
        files = {}
        ctx.state[_KEY] = (low, files)
    found: Accumulators = files.setdefault(filename, {})
    return found


def charge(ctx: MinionContext, name: str, filename: str, texts: Sequence[object]) -> bool:
    """Add what is not there yet; whether anything was not."""
    there = of(ctx, filename).setdefault(name, [])
    new = [text for text in texts if text not in there]
    there.extend(new)
    return bool(new)


def is_taken(ctx: MinionContext, ident: str, name: str) -> bool:
    """Whether any state of a file waits for the state with this id or name."""
    return any(_takes_from(chunk, ident, name) for chunk in _file_chunks(ctx))


def _file_chunks(ctx: MinionContext) -> list[Chunk]:
    return [chunk for chunk in ctx.state.get(LOWSTATE) or () if chunk.state == "file"]


def _takes_from(chunk: Chunk, ident: str, name: str) -> bool:
    return any(
        one.get("file") in (ident, name)
        for kind in _TAKING
        for one in chunk.arguments.get(kind) or ()
        if isinstance(one, Mapping)
    )


def context(ctx: MinionContext, filename: str, given: object) -> Any:
    """The context of a file's template, with ``accumulator`` if there is anything in one."""
    found = of(ctx, filename)
    if not found:
        return given
    return {**(given if isinstance(given, Mapping) else {}), "accumulator": found}


def on_top(ctx: MinionContext, filename: str, content: str, ident: str | None) -> str:
    """A content, and below it what those states gathered that the state ``ident`` waits for."""
    ours = _find_awaited(ctx, filename, ident)
    found = of(ctx, filename).items()
    gathered = [str(text) for name, texts in found if name in ours for text in texts]
    return "\n".join([*([content] if content or not gathered else []), *gathered])


def _find_awaited(ctx: MinionContext, filename: str, ident: str | None) -> set[str]:
    """The names of the accumulators of a file that the state with this id waits for."""
    low = _file_chunks(ctx)
    takers = [one for one in low if one.ident == ident and one.name == filename]
    return {
        str(one.name)
        for one in low
        if one.fun == "accumulated"
        and any(_takes_from(taker, str(one.ident), str(one.name)) for taker in takers)
    }
