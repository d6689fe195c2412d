"""Who is meant by a target, as far as the master knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.core.targets import Expected, Target, expected, looks_at
from saltlite.master.context import MasterContext
from saltlite.master.keystore import KeyState


def minions_of(ctx: MasterContext, target: Target, *, greedy: bool = True) -> Expected:
    """The accepted minions that ``target`` means.

    ``greedy`` also counts those of which nothing is cached. Only what the kind of target looks at
    is read.

    Raises:
        TargetError: the expression is not well formed.
    """
    grains, pillar = looks_at(target.tgt_type)
    facts = ctx.minions.facts(ctx.keys.ids(KeyState.ACCEPTED), grains=grains, pillar=pillar)
    return expected(target, facts, greedy=greedy, nodegroups=ctx.config.targets.nodegroups)


_EXACT: Final[Mapping[str, str]] = {
    "pillar": "pillar_exact",
    "pillar_pcre": "pillar_exact",
    "compound": "compound_pillar_exact",
}


def without_patterns(tgt_type: Any) -> Any:
    """The kind of a minion's target, with exact values where it looks at pillar.

    With patterns a minion could find out another's pillar, letter by letter.
    """
    return _EXACT.get(tgt_type, tgt_type) if isinstance(tgt_type, str) else tgt_type
