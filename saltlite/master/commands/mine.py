"""The mine: what minions put in for other minions to read. Source: docs/wire.md#mine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from saltlite.channel.master import OpenedRequest
from saltlite.core.messages import as_map, as_text
from saltlite.core.plain import Plain
from saltlite.core.targets import Target, takes_long
from saltlite.errors import PatternTooSlow, StoreError, TargetError, WireError
from saltlite.master.commands import matching
from saltlite.master.commands.matching import rule_fits
from saltlite.master.context import MasterContext
from saltlite.master.minioncache import MINE

_ACL_MARK: Final = "__saltmine_acl__"
_DATA: Final = "__data__"
FUNCTIONS_LIMIT: Final = 100
"""Names asked for at once."""


def store(ctx: MasterContext, request: OpenedRequest) -> bool:
    """Add to this minion's mine, or replace it with ``clear``."""
    data = as_map(request.load.get("data"), "data")
    # When stored, not when read: each minion that asks would have it matched again.
    slow = [name for name, entry in data.items() if _is_slow_entry(ctx, entry)]
    if slow:
        raise WireError(f"allow_tgt of {slow[0]!r:.80} may take too long to match")
    clear = request.load.get("clear") is True

    def add(kept: dict[str, Any]) -> dict[str, Any]:
        # Under the lock that deleting takes: no mine is left of a deleted minion.
        if ctx.keys.load_accepted(request.id) is None:
            raise WireError("key was removed")
        return {**({} if clear else kept), **data}

    try:
        ctx.minions.update(MINE, request.id, add)
    except StoreError as error:
        raise WireError(str(error)) from error
    return True


def get(ctx: MasterContext, request: OpenedRequest) -> dict[str, Any] | str:
    """What the targeted minions put in for one or several functions; a text says why nothing."""
    load = request.load
    functions = _read_functions(load.get("fun"))
    tgt_type = as_text(load.get("tgt_type", load.get("expr_form", "glob")), "tgt_type")
    try:
        tgt = load.get("tgt", "*")
        target = Target(tgt, matching.without_patterns(ctx, tgt, tgt_type))
        # Not greedy: where grains are not known, the minion is not meant.
        meant = matching.minions_asked_by(ctx, request.id, target, greedy=False).minions
    except PatternTooSlow as error:
        ctx.refusals.refuse("_mine_get", f"minion {request.id}: {error}")
        return f"The mine was not searched: {error}"
    except TargetError:
        return {}
    allowed = [one for one in functions if _may_ask(ctx, request.id, one)]
    found: dict[str, dict[str, Any]] = {one: {} for one in allowed}
    may_read = _Readable(ctx, request.id)
    for minion_id in sorted(meant):
        mine = ctx.minions.read(MINE, minion_id) or {}
        for function in allowed:
            if function in mine and may_read(mine[function]):
                found[function][minion_id] = _value_of(mine[function])
    # One function as text: a map by minion; several: a map by function, then minion.
    if isinstance(load.get("fun"), str) and len(functions) == 1:
        return found.get(functions[0], {})
    return {function: data for function, data in found.items() if data}


def is_slow(ctx: MasterContext, load: Mapping[str, object]) -> bool:
    """Whether finding the minions may take long."""
    return matching.asks_slowly(ctx, load)


def delete(ctx: MasterContext, request: OpenedRequest) -> bool:
    """Take one function out of this minion's mine."""
    function = as_text(request.load.get("fun"), "fun")

    def without(mine: dict[str, Any]) -> dict[str, Any] | None:
        return mine if mine.pop(function, None) is not None else None

    ctx.minions.update(MINE, request.id, without)
    return True


def flush(ctx: MasterContext, request: OpenedRequest) -> bool:
    """Empty this minion's mine."""
    ctx.minions.delete(request.id, MINE)
    return True


def _read_functions(fun: object) -> list[str]:
    if isinstance(fun, str):
        found = [one.strip() for one in fun.split(",") if one.strip()]
    elif isinstance(fun, Sequence):
        found = [as_text(one, "fun") for one in fun]
    else:
        raise WireError("fun is neither text nor a list")
    if len(found) > FUNCTIONS_LIMIT:
        raise WireError(f"more than {FUNCTIONS_LIMIT} functions in one request")
    return list(dict.fromkeys(found))


def _may_ask(ctx: MasterContext, minion_id: str, function: str) -> bool:
    """The master's option ``mine_get``: without it everybody may ask for everything."""
    rules = ctx.config.extra.get("mine_get")
    if not isinstance(rules, Mapping):
        return True
    return any(
        rule_fits(str(ids), minion_id) and any(rule_fits(str(one), function) for one in functions)
        for ids, functions in rules.items()
        if isinstance(functions, (list, tuple))
    )


class _Readable:
    """Whether a minion may read entries, by their own ``allow_tgt``; within one request.

    Many minions have entries with the same target, which is looked at once.
    """

    def __init__(self, ctx: MasterContext, minion_id: str) -> None:
        self._ctx, self._minion_id = ctx, minion_id
        self._known: dict[tuple[str, str], bool] = {}

    def __call__(self, entry: Any) -> bool:
        if not _has_acl(entry) or not entry.get("allow_tgt"):
            return True
        target = _find_allowed(entry)
        # repr, since a target may be a list.
        key = repr(target.tgt), target.tgt_type
        if key not in self._known:
            self._known[key] = self._look(target)
        return self._known[key]

    def _look(self, target: Target) -> bool:
        ctx = self._ctx
        try:
            # store() refuses slow ones; in a file that is older, or not ours, they allow nobody.
            return not _is_slow(ctx, target) and matching.means(ctx, target, self._minion_id)
        except TargetError:
            return False


def _find_allowed(entry: Mapping[str, Any]) -> Target:
    return Target(entry["allow_tgt"], str(entry.get("allow_tgt_type") or "glob"))


def _is_slow(ctx: MasterContext, target: Target) -> bool:
    """Whether an entry's own target takes long: many are looked at for one question."""
    return takes_long(target, 1, nodegroups=ctx.config.targets.nodegroups)


def _is_slow_entry(ctx: MasterContext, entry: Any) -> bool:
    return _has_acl(entry) and bool(entry.get("allow_tgt")) and _is_slow(ctx, _find_allowed(entry))


def _has_acl(entry: object) -> bool:
    return isinstance(entry, Mapping) and bool(entry.get(_ACL_MARK)) and _DATA in entry


def _value_of(entry: Any) -> Plain:
    value: Plain = entry[_DATA] if _has_acl(entry) else entry
    return value
