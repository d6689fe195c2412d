"""Who is meant by a target, as far as the master knows."""

from __future__ import annotations

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
