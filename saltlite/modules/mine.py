"""Tell other minions things, and read what they tell: the mine."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.keywords import own_keywords
from saltlite.core.mine import MineEntry, data_of, entries, mine_entry, mine_load
from saltlite.core.plain import Plain
from saltlite.core.targets import MinionFacts, Target, matches
from saltlite.errors import FunctionError, FunctionUnavailable, TargetError, WireError

log = logging.getLogger(__name__)

STORE = "mine_cache"
"""Where the mine of a minion without a master is, in the minion's data store."""


def update(ctx: MinionContext, clear: bool = False, mine_functions: object = None) -> Any:
    """Run the mine functions and send what they return to the master; nothing without any.

    clear : False
        Forget what was sent before.

    mine_functions
        These instead of the configured ones: a list of names, or a map as in the option.

    CLI Example:

        salt '*' mine.update
    """
    wanted = _list_configured(ctx) if mine_functions is None else entries(mine_functions)
    if not wanted:
        return None
    data: dict[str, Any] = {}
    for entry in _list_available(ctx, wanted):
        data |= _collect_entry(ctx, entry)
    return _store_data(ctx, data, clear=clear)


def send(ctx: MinionContext, name: str, *args: Any, **kwargs: Any) -> Any:
    """Run one function and send what it returns to the master.

    ``mine_function`` names the function where ``name`` is only what it is stored under.
    ``allow_tgt`` and ``allow_tgt_type`` say which minions may read it.

    CLI Example:

        salt '*' mine.send network.ip_addrs eth0
        salt '*' mine.send eth0_ip_addrs mine_function=network.ip_addrs eth0
    """
    wanted = own_keywords(kwargs)
    entry = mine_entry(str(name), [*args, wanted])
    try:
        value = _call_entry(ctx, entry)
    except FunctionUnavailable:
        log.error("Function %s in mine.send failed to execute", entry.fun)
        return False
    return _store_data(ctx, {entry.name: entry.storage_form(value)}, clear=False)


def get(
    ctx: MinionContext, tgt: Any, fun: Any, tgt_type: str = "glob", exclude_minion: bool = False
) -> Any:
    """Return what minions put into the mine under a name, or several names.

    ``{minion: value}`` of one name; of several, given as a list or with commas between,
    ``{name: {minion: value}}``.

    exclude_minion : False
        Leave out the minion that asks.

    CLI Example:

        salt '*' mine.get '*' network.interfaces
        salt '*' mine.get 'G@os:Debian' network.interfaces compound
    """
    if ctx.master is None:
        return _read_own_mine(ctx, tgt, fun, tgt_type)
    load: dict[str, Plain] = {"cmd": "_mine_get", "tgt": tgt, "fun": fun, "tgt_type": tgt_type}
    found = ctx.master.request(load)
    if isinstance(found, str) and found:
        raise FunctionError(found)  # why the master did not look
    if not isinstance(found, dict) or not exclude_minion:
        return found
    own = ctx.config.identity.id
    if len(_split_functions(fun)) == 1 and isinstance(fun, str):
        return _drop_minion(found, own)
    return {name: _drop_minion(values, own) for name, values in found.items()}


def delete(ctx: MinionContext, fun: str) -> Any:
    """Take one name out of this minion's mine.

    CLI Example:

        salt '*' mine.delete 'network.interfaces'
    """
    if ctx.master is not None:
        return ctx.master.request({"cmd": "_mine_delete", "fun": fun})
    kept = {name: value for name, value in _read_local_store(ctx).items() if name != fun}
    return ctx.functions.call("data.update", STORE, kept)


def flush(ctx: MinionContext) -> Any:
    """Take everything out of this minion's mine.

    CLI Example:

        salt '*' mine.flush
    """
    if ctx.master is not None:
        return ctx.master.request({"cmd": "_mine_flush"})
    return ctx.functions.call("data.update", STORE, {})


def valid(ctx: MinionContext) -> dict[str, Any] | None:
    """Return the configured mine functions that this minion has, with their arguments.

    CLI Example:

        salt '*' mine.valid
    """
    found: dict[str, Any] = {}
    for entry in _list_available(ctx, _list_configured(ctx)):
        arg = [*entry.arg, *([entry.kwarg] if entry.kwarg else [])]
        found[entry.name] = arg if entry.fun == entry.name else {entry.fun: arg}
    return found or None


def _list_configured(ctx: MinionContext) -> list[MineEntry]:
    """The option of the configuration, and that of the pillar over it."""
    own, pillar = ctx.config.mine.mine_functions, ctx.pillar.get("mine_functions")
    found = {entry.name: entry for entry in [*entries(own), *entries(pillar)]}
    return list(found.values())


def _list_available(ctx: MinionContext, wanted: list[MineEntry]) -> list[MineEntry]:
    known = set(ctx.functions.names()) if wanted else set()
    for entry in wanted:
        if entry.fun not in known:
            log.error("Function %s in mine_functions not available", entry.fun)
    return [entry for entry in wanted if entry.fun in known]


def _collect_entry(ctx: MinionContext, entry: MineEntry) -> dict[str, Any]:
    """One entry's data under its name; nothing, and a line in the log, if its function fails."""
    try:
        return {entry.name: entry.storage_form(_call_entry(ctx, entry))}
    except Exception:
        log.exception("Function %s in mine_functions failed to execute", entry.fun)
        return {}


def _call_entry(ctx: MinionContext, entry: MineEntry) -> Any:
    return ctx.functions.call(entry.fun, *entry.arg, **entry.kwarg)


def _store_data(ctx: MinionContext, data: Mapping[str, object], *, clear: bool) -> Any:
    if ctx.master is not None:
        try:
            load = mine_load(data, clear=bool(clear))
        except WireError as error:
            log.error("The mine is not updated: %s", error)
            return False
        return ctx.master.request(load)
    before = {} if clear else _read_local_store(ctx)
    return ctx.functions.call("data.update", STORE, {**before, **data})


def _read_own_mine(ctx: MinionContext, tgt: Any, fun: object, tgt_type: str) -> dict[str, Any]:
    """Without a master a minion reads its own mine only."""
    own = ctx.config.identity.id
    try:
        facts = MinionFacts(own, ctx.grains, ctx.pillar)
        meant = matches(Target(tgt, tgt_type), facts)
    except TargetError as error:
        log.error("%s", error)
        meant = False
    names = _split_functions(fun)
    known = _read_local_store(ctx) if meant else {}
    found = {name: {own: data_of(known[name])} for name in names if name in known}
    if isinstance(fun, str) and len(names) == 1:
        return found.get(names[0], {})
    return found


def _read_local_store(ctx: MinionContext) -> Mapping[str, Any]:
    known = ctx.functions.call("data.get", STORE)
    return known if isinstance(known, Mapping) else {}


def _split_functions(fun: Any) -> list[str]:
    return [one.strip() for one in fun.split(",")] if isinstance(fun, str) else list(fun)


def _drop_minion(values: object, minion: str) -> Any:
    if not isinstance(values, Mapping):
        return values
    return {name: value for name, value in values.items() if name != minion}
