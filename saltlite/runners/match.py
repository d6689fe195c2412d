"""``match.*``: try out targets."""

from __future__ import annotations

from saltlite.errors import PatternTooSlow, TargetError
from saltlite.runner_context import RunnerContext


def compound_matches(ctx: RunnerContext, expr: str, minion_id: str) -> dict[str, str | None]:
    """Tell whether the master takes a compound expression to mean a minion.

    ``{"matches": id}``, or ``{"matches": None}``. Real Salt has it from 3007 on.

    CLI Example:

        salt-run match.compound_matches 'G@os:Debian and web*' web1
    """
    try:
        meant = str(minion_id) in ctx.cached(expr, "compound")
    except PatternTooSlow:
        raise
    except TargetError:
        meant = False
    return {"matches": str(minion_id) if meant else None}
