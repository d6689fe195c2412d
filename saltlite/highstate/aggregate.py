"""States that do the work of others too: ``aggregate``, ``state_aggregate``, ``mod_aggregate``.

A state module's ``mod_aggregate(low, chunks, running)`` gives back the chunk with what it takes
over from others, and marks these with ``__agg__``. It gets those that could run by now, so that
nothing is done before what it requires. The others run later and find that nothing is left to do.
Source: observed on Salt 3006.30, which asks nobody whether the others could run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionUnavailable
from saltlite.highstate.chunk import ABSENT, Chunk
from saltlite.loader.states import resolve

Aggregator = Callable[..., Any]

MOD_AGGREGATE, MOD_INIT = "mod_aggregate", "mod_init"
MARK = "__agg__"


def is_asked(chunk: Chunk, option: bool | Sequence[str]) -> bool:
    """Whether a state is to take over the work of others, by its own word or by the option's."""
    if chunk.arguments.get(MARK):
        return False
    own = chunk.options.aggregate
    given = option if own is ABSENT else own
    if isinstance(given, (list, tuple, str)):
        # A list has the names of the state modules that are to do it.
        return str(chunk.state) in given
    return bool(given)


def aggregator(ctx: MinionContext, module: str) -> Aggregator | None:
    """The ``mod_aggregate`` of a state module; ``None`` if it has none."""
    return _find_function(ctx, module, MOD_AGGREGATE)


def prepare(ctx: MinionContext, chunk: Chunk, done: set[str]) -> None:
    """Let a custom state module prepare: ``mod_init(low)``, until it has said ``True`` once."""
    module = str(chunk.state)
    if module in done:
        return
    function = _find_function(ctx, module, MOD_INIT)
    # One that is not ready yet is asked again with the next state of its module.
    if function is None or function(chunk.to_low()):
        done.add(module)


def _find_function(ctx: MinionContext, module: str, name: str) -> Callable[..., Any] | None:
    try:
        return resolve(f"{module}.{name}", ctx).call
    except FunctionUnavailable:
        return None
