"""``match.*``: try out targets."""

from __future__ import annotations

from saltlite.errors import PatternTooSlow, TargetError
from saltlite.runner_context import RunnerContext


def compound_matches(ctx: RunnerContext, expr: str, minion_id: str) -> dict[str, str | bool]:
    """Tell whether the master takes a compound expression to mean a minion.

    ``{"res": id}``, or ``{"res": False}``. Values of pillar are compared whole, also those in
    nodegroups: minions may be allowed to ask. Real Salt has it from 3007 on.

    CLI Example:

        salt-run match.compound_matches 'G@os:Debian and web*' web1
    """
    try:
        meant = str(minion_id) in ctx.cached(expr, "compound_pillar_exact")
    except PatternTooSlow:
        raise
    except TargetError:
        meant = False
    return {"res": str(minion_id) if meant else False}
