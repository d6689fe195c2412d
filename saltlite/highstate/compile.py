"""The compiler's doors: from names of SLS files, a top file or high data to ordered low chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.low import Chunk, low_of
from saltlite.highstate.sls import High, reader


@dataclass(slots=True)
class Compiled:
    """What was compiled.

    ``high`` is as the files say (``state.show_sls``), ``low`` what is to be run
    (``state.show_lowstate``), in order. With ``errors``, Salt's sentences, nothing may be run.
    """

    high: High
    low: list[Chunk] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def compile_sls(
    ctx: MinionContext,
    mods: str | Sequence[str],
    *,
    saltenv: str = "base",
    exclude: Any = None,
) -> Compiled:
    """The states of SLS files, by names or globs; ``exclude`` as in ``state.apply``.

    Templates see ``ctx.pillar``.
    """
    files = reader(ctx)
    high = files.read({saltenv: split(mods)})
    if files.errors:
        return Compiled(high, errors=files.errors)
    return Compiled(high, low_of(high))


def split(names: Any) -> list[Any]:
    """``"a, b"`` or a list as a list."""
    if isinstance(names, str):
        return [part.strip() for part in names.split(",") if part.strip()]
    if isinstance(names, Mapping) or not isinstance(names, Sequence):
        return [names]
    return list(names)
