"""Custom matchers: ``match: kind`` in a top file asks ``match`` of ``_matchers/kind_match.py``.

They are asked where top files are read: in jobs, in runs without a master, and on the master for
its pillar. Targets of commands have Salt's own kinds alone: on these a minion decides in its loop,
where no code of users runs. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from saltlite.context import MinionContext
from saltlite.core.targets import MinionFacts, Target, matches
from saltlite.errors import TargetError
from saltlite.loader import catalogue

log = logging.getLogger(__name__)

KIND = "matchers"
SUFFIX = "_match"
FUNCTION = "match"


def fits(
    ctx: MinionContext, target: Target, facts: MinionFacts, nodegroups: Mapping[str, object]
) -> bool:
    """Whether a target of a top file means the minion that the facts are of.

    Raises:
        TargetError: there is no such kind, the target is malformed, or a custom matcher fails.
    """
    try:
        return matches(target, facts, nodegroups=nodegroups)
    except TargetError:
        if not catalogue.has_custom_code(ctx.config, KIND):
            raise
        meant = _ask_matcher(ctx, target)
        if meant is None:
            raise
        return meant


def _ask_matcher(ctx: MinionContext, target: Target) -> bool | None:
    """What a custom matcher says, ``None`` without one."""
    from saltlite.loader.surroundings import surroundings

    name = f"{target.tgt_type}{SUFFIX}"
    source = surroundings(ctx).modules(KIND).source(name)
    function = source.functions.get(FUNCTION) if source is not None else None
    if function is None:
        return None
    try:
        return bool(function(target.tgt))
    except Exception as error:  # a callback of users: one target must not cost all the others
        log.debug("matcher %s", name, exc_info=True)
        raise TargetError(f"the matcher {name} fails: {error}") from error
