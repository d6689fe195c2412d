"""Who is meant by a target, as far as the master knows, and whom a rule names."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from saltlite.core.patterns import fits_whole
from saltlite.core.targets import (
    Expected,
    Target,
    compare_whole,
    find_expected,
    looks_at,
    takes_long,
)
from saltlite.errors import PatternTooSlow, TargetError
from saltlite.master.acl import AuthenticatedUser
from saltlite.master.context import MasterContext
from saltlite.master.keystore import KeyState

log = logging.getLogger(__name__)


def minions_of(ctx: MasterContext, target: Target, *, greedy: bool = True) -> Expected:
    """The accepted minions that ``target`` means.

    ``greedy`` also counts those of which nothing is cached. Only what the kind of target looks at
    is read.

    Raises:
        PatternTooSlow: a regular expression in it takes too long.
        TargetError: the expression is not well formed.
    """
    grains, pillar = looks_at(target.tgt_type)
    facts = ctx.minions.facts(ctx.keys.ids(KeyState.ACCEPTED), grains=grains, pillar=pillar)
    return find_expected(target, facts, greedy=greedy, nodegroups=ctx.config.targets.nodegroups)


def minions_asked_by(
    ctx: MasterContext, who: str, target: Target, *, greedy: bool = True
) -> Expected:
    """As :func:`minions_of`, for a minion or a limited user.

    Expressions of theirs end in time, each of them; but all who ask for something slow stand in
    one line, with those who need their pillar, and so nobody has the line for himself.

    Raises:
        PatternTooSlow: or ``who`` has asked for too much that takes long.
        TargetError: the expression is not well formed.
    """
    if not is_slow(ctx, target):
        return minions_of(ctx, target, greedy=greedy)
    begun_s = ctx.steady_s()
    if not ctx.slow_targets.allows(who, begun_s):
        raise PatternTooSlow("such targets have taken too much time in the last minute")
    try:
        return minions_of(ctx, target, greedy=greedy)
    finally:
        # Also after an error: an expression that was cut off has used time as well.
        ended_s = ctx.steady_s()
        ctx.slow_targets.spend(who, ended_s - begun_s, ended_s)


def without_patterns(ctx: MasterContext, tgt: object, tgt_type: object) -> Any:
    """The kind of a minion's target, with whole values where it compares some of pillar."""
    if not isinstance(tgt, (str, list)) or not isinstance(tgt_type, str):
        return tgt_type
    return compare_whole(Target(tgt, tgt_type), nodegroups=ctx.config.targets.nodegroups).tgt_type


def minions_of_rule(ctx: MasterContext, expression: str) -> set[str]:
    """The minions that a target in an access list means; none for one that cannot be read."""
    try:
        # Not greedy: a rule does not cover a minion of which nothing is known.
        return set(minions_of(ctx, Target(expression, "compound"), greedy=False).minions)
    except TargetError:
        return set()


def reads_pillars(ctx: MasterContext, user: AuthenticatedUser) -> bool:
    """Whether a user may know all pillars, and so compare them with patterns."""
    minions = sorted(ctx.keys.ids(KeyState.ACCEPTED))
    return ctx.access.reads_pillars(user, minions, partial(minions_of_rule, ctx))


def means(ctx: MasterContext, target: Target, minion_id: str) -> bool:
    """Whether ``target`` means this one minion; unknown is no.

    Raises:
        PatternTooSlow: a regular expression in it takes too long.
        TargetError: the expression is not well formed.
    """
    grains, pillar = looks_at(target.tgt_type)
    facts = ctx.minions.facts([minion_id], grains=grains, pillar=pillar)
    groups = ctx.config.targets.nodegroups
    return bool(find_expected(target, facts, greedy=False, nodegroups=groups).minions)


def is_slow(ctx: MasterContext, target: Target) -> bool:
    """Whether :func:`minions_of` may take more than a moment."""
    # These hold no regular expressions, and nothing else takes long.
    if target.tgt_type in ("glob", "list", "grain", "pillar", "pillar_exact", "ipcidr"):
        return False
    minions = len(ctx.keys.ids(KeyState.ACCEPTED))
    return takes_long(target, minions, nodegroups=ctx.config.targets.nodegroups)


def asks_slowly(ctx: MasterContext, load: Mapping[str, object]) -> bool:
    """Whether :func:`minions_of` may take more than a moment for what a minion asks."""
    tgt, tgt_type = load.get("tgt"), load.get("tgt_type", load.get("expr_form", "glob"))
    # Malformed: the handler refuses it, and at once.
    if not isinstance(tgt, (str, list)) or not isinstance(tgt_type, str):
        return False
    return is_slow(ctx, Target(tgt, without_patterns(ctx, tgt, tgt_type)))


def rule_fits(expression: str, text: str) -> bool:
    """Whether a whole expression of a rule names ``text``; what is broken or too slow does not."""
    try:
        return fits_whole(expression, text)
    except TargetError as error:
        log.warning("A rule allows nothing: %s", error)
        return False
