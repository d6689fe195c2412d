"""Who is meant by a target, as far as the master knows."""

from __future__ import annotations

from typing import Final

from saltlite.core.targets import Expected, Target, expected
from saltlite.master.context import MasterContext
from saltlite.master.keystore import KeyState

_BY_NAME: Final = frozenset({"glob", "list", "pcre"})
_BY_GRAINS: Final = frozenset({"grain", "grain_pcre", "ipcidr"})
_BY_PILLAR: Final = frozenset({"pillar", "pillar_pcre", "pillar_exact"})


def minions_of(ctx: MasterContext, target: Target, *, greedy: bool = True) -> Expected:
    """The accepted minions that ``target`` means.

    ``greedy`` also counts those of which nothing is cached. Only what the kind of target looks at
    is read.

    Raises:
        TargetError: the expression is not well formed.
    """
    kind = target.tgt_type
    facts = ctx.minions.facts(
        ctx.keys.ids(KeyState.ACCEPTED),
        grains=kind not in _BY_NAME and kind not in _BY_PILLAR,
        pillar=kind not in _BY_NAME and kind not in _BY_GRAINS,
    )
    return expected(target, facts, greedy=greedy, nodegroups=ctx.config.targets.nodegroups)
