"""Whether this minion, or another one of the same kind, is meant by a target."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core import data as nested
from saltlite.core.data import DELIMITER
from saltlite.core.factories import name_function
from saltlite.core.targets import MinionFacts, Target, matches
from saltlite.errors import FunctionError, TargetError

log = logging.getLogger(__name__)

_NOTHING = object()


def _explain_match(name: str, what: str, example: str) -> str:
    return f"""Whether {what}.

    CLI Example:

        salt '*' match.{name} '{example}'
    """


def _make_match(name: str, what: str, example: str) -> Callable[..., bool]:
    """Make the function of one kind of target that is about minions."""

    def match_minion(ctx: MinionContext, tgt: str, minion_id: str | None = None) -> bool:
        return _is_match(ctx, tgt, name, minion_id)

    return name_function(match_minion, name, _explain_match(name, what, example))


compound = _make_match("compound", "a compound target fits", "L@cheese,foo and *")
glob = _make_match("glob", "a glob fits the id", "web*")
pcre = _make_match("pcre", "a regular expression fits the id", ".*")


def list_(ctx: MinionContext, tgt: object, minion_id: str | None = None) -> bool:
    """Whether the id is in a list.

    CLI Example:

        salt '*' match.list 'server1,server2'
    """
    return _is_match(ctx, tgt, "list", minion_id)


def _make_data_match(name: str, what: str, example: str) -> Callable[..., bool]:
    """Make the function of one kind of target that is about what minions know."""

    def match_data(ctx: MinionContext, tgt: str, delimiter: str = DELIMITER) -> bool:
        return _is_match(ctx, tgt, name, None, delimiter)

    return name_function(match_data, name, _explain_match(name, what, example))


grain = _make_data_match("grain", "a grain fits a glob", "os:Ubuntu")
grain_pcre = _make_data_match("grain_pcre", "a grain fits a regular expression", "os:Fedo.*")
pillar = _make_data_match("pillar", "a pillar value fits a glob", "cheese:foo")
pillar_pcre = _make_data_match(
    "pillar_pcre", "a pillar value fits a regular expression", "cheese:(swiss|american)"
)


def ipcidr(ctx: MinionContext, tgt: str) -> bool:
    """Whether one of the minion's addresses is this one, or in this network.

    CLI Example:

        salt '*' match.ipcidr '192.168.44.0/24'
    """
    return _is_match(ctx, tgt, "ipcidr", None)


def data(tgt: str) -> bool:
    """Never: there is no local data store.

    CLI Example:

        salt '*' match.data 'spam:eggs'
    """
    return False


def filter_by(
    ctx: MinionContext,
    lookup: Mapping[str, object],
    tgt_type: str = "compound",
    minion_id: str | None = None,
    merge: Mapping[str, object] | None = None,
    merge_lists: bool = False,
    default: str = "default",
) -> Any:
    """The first entry whose name, as a target, fits, under ``merge``; ``default`` otherwise.

    CLI Example:

        salt '*' match.filter_by '{foo*: Foo!, bar*: Bar!}' minion_id=bar03
    """
    fitting = (value for tgt, value in lookup.items() if _is_match(ctx, tgt, tgt_type, minion_id))
    found = next(fitting, _NOTHING)
    if found is _NOTHING:
        return lookup.get(default)
    if not merge:
        return found
    return merge if found is None else nested.update(found, merge, merge_lists=merge_lists)


def search_by(
    ctx: MinionContext,
    lookup: Mapping[str, Any],
    tgt_type: str = "compound",
    minion_id: str | None = None,
) -> list[str] | None:
    """The names of all entries, once for each target of theirs that fits; ``None`` without any.

    CLI Example:

        salt '*' match.search_by '{web: [node1, node2], db: [node2, node]}'
    """
    found = [
        name
        for name, targets in lookup.items()
        for tgt in targets
        if _is_match(ctx, tgt, tgt_type, minion_id)
    ]
    return found or None


def ifelse(
    ctx: MinionContext,
    *args: Any,
    tgt_type: str = "compound",
    minion_id: str | None = None,
    merge: Mapping[str, object] | None = None,
    merge_lists: bool = False,
) -> Any:
    """Pairs of target and value, then a value for the case that none fits.

    CLI Example:

        salt '*' match.ifelse 'foo*' 'Foo!' 'bar*' 'Bar!' 'Neither' minion_id=bar03
    """
    if len(args) % 2 == 0:
        raise FunctionError("The ifelse function must have an odd number of arguments!")
    pairs = zip(args[0:-1:2], args[1:-1:2], strict=True)
    fitting = (value for tgt, value in pairs if _is_match(ctx, tgt, tgt_type, minion_id))
    found = next(fitting, args[-1])
    if merge and isinstance(found, Mapping):
        return nested.merge(found, merge, merge_lists=merge_lists)
    return found


def _is_match(
    ctx: MinionContext,
    tgt: object,
    tgt_type: str,
    minion_id: str | None,
    delimiter: str = DELIMITER,
) -> bool:
    facts = MinionFacts(minion_id or ctx.config.identity.id, ctx.grains, ctx.pillar)
    target = Target(tgt if isinstance(tgt, list) else str(tgt), tgt_type, delimiter)
    groups = ctx.config.extra.get("nodegroups")
    try:
        return matches(target, facts, nodegroups=groups if isinstance(groups, Mapping) else {})
    except TargetError as error:
        log.error("%s", error)
        return False
