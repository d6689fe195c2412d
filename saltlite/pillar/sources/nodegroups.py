"""``nodegroups``: which of the master's groups a minion is in. Source: observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.targets import MinionFacts, Target, matches
from saltlite.errors import TargetError


def groups_of(ctx: MinionContext, pillar: Mapping[str, object]) -> list[str]:
    """The names of the groups that the minion of this context is in."""
    groups: Mapping[str, Any] = ctx.config.extra.get("nodegroups") or {}
    facts = MinionFacts(ctx.config.identity.id, ctx.grains, pillar)
    return [name for name in groups if _is_in(name, facts, groups)]


def _is_in(name: str, facts: MinionFacts, groups: Mapping[str, object]) -> bool:
    try:
        return matches(Target(name, "nodegroup"), facts, nodegroups=groups)
    except TargetError:
        return False


def ext_pillar(
    ctx: MinionContext, pillar: Mapping[str, object], pillar_name: str | None = None
) -> Mapping[str, Any]:
    """The nodegroups of a minion."""
    return {pillar_name or "nodegroups": groups_of(ctx, pillar)}
