"""``cache.*``: what the master remembers of its minions, and banks of data of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from saltlite.core.factories import name_function
from saltlite.runner_context import RunnerContext

CACHED = ("grains", "pillar", "mine")


def grains(
    ctx: RunnerContext, tgt: str | list[str] | None = None, tgt_type: str = "glob", **_kwargs: Any
) -> dict[str, Any]:
    """Return the cached grains of the targeted minions.

    CLI Example:

        salt-run cache.grains '*'
    """
    return _of_all(ctx, "grains", tgt, tgt_type)


def pillar(
    ctx: RunnerContext, tgt: str | list[str] | None = None, tgt_type: str = "glob", **_kwargs: Any
) -> dict[str, Any]:
    """Return the cached pillars of the targeted minions.

    CLI Example:

        salt-run cache.pillar web1
    """
    return _of_all(ctx, "pillar", tgt, tgt_type)


def mine(
    ctx: RunnerContext, tgt: str | list[str] | None = None, tgt_type: str = "glob", **_kwargs: Any
) -> dict[str, Any]:
    """Return the mine data of the targeted minions, as they were sent.

    CLI Example:

        salt-run cache.mine 'web*'
    """
    return _fetch_cached(ctx, "mine", tgt, tgt_type)


def _make_clear(name: str, what: str, banks: tuple[str, ...]) -> Callable[..., bool]:
    """Make the function that forgets what is in some banks."""

    def clear_banks(
        ctx: RunnerContext, tgt: str | list[str] | None = None, tgt_type: str = "glob"
    ) -> bool:
        return _clear_banks(ctx, banks, tgt, tgt_type)

    text = f"""Forget {what}.

    CLI Example:

        salt-run cache.{name} '*'
    """
    return name_function(clear_banks, name, text)


_TARGETED = "of the targeted minions; ``False`` without a target"
clear_pillar = _make_clear("clear_pillar", f"the cached pillars {_TARGETED}", ("pillar",))
clear_grains = _make_clear("clear_grains", f"the cached grains {_TARGETED}", ("grains",))
clear_mine = _make_clear("clear_mine", f"the mine data {_TARGETED}", ("mine",))
clear_all = _make_clear(
    "clear_all", "grains, pillars and mine data of the targeted minions", CACHED
)


def clear_mine_func(
    ctx: RunnerContext,
    tgt: str | list[str] | None = None,
    tgt_type: str = "glob",
    clear_mine_func_flag: str | None = None,
) -> bool:
    """Forget one function's data in the mine of the targeted minions; ``False`` without a target.

    CLI Example:

        salt-run cache.clear_mine_func tgt='*' clear_mine_func_flag='network.interfaces'
    """
    if tgt is None:
        return False
    for one in _list_minions(ctx, tgt, tgt_type):
        ctx.cache.drop("mine", one, str(clear_mine_func_flag))
    return True


def flush(
    ctx: RunnerContext, bank: str, key: str | None = None, cachedir: str | None = None
) -> bool:
    """Forget a key of a bank, or the whole bank; ``False`` if there was nothing.

    CLI Example:

        salt-run cache.flush mybank/myapp mykey
    """
    _no_other_dir(cachedir)
    return ctx.cache.flush(str(bank), None if key is None else str(key))


def list_(ctx: RunnerContext, bank: str, cachedir: str | None = None) -> list[str]:
    """Return the keys of a bank.

    CLI Example:

        salt-run cache.list mybank/myapp
    """
    _no_other_dir(cachedir)
    return ctx.cache.list(str(bank))


def store(
    ctx: RunnerContext, bank: str, key: str, data: object, cachedir: str | None = None
) -> None:
    """Keep data under a key of a bank.

    CLI Example:

        salt-run cache.store mybank/myapp mykey 'The time has come'
    """
    _no_other_dir(cachedir)
    ctx.cache.store(str(bank), str(key), data)


def fetch(ctx: RunnerContext, bank: str, key: str, cachedir: str | None = None) -> Any:
    """Return what is kept under a key of a bank; an empty map for nothing.

    CLI Example:

        salt-run cache.fetch mybank/myapp mykey
    """
    _no_other_dir(cachedir)
    found = ctx.cache.fetch(str(bank), str(key))
    return {} if found is None else found


def updated(ctx: RunnerContext, bank: str, key: str, cachedir: str | None = None) -> int | None:
    """Return when a key was stored, in seconds since 1970; nothing if it is not there.

    CLI Example:

        salt-run cache.updated mybank/myapp mykey
    """
    _no_other_dir(cachedir)
    found = ctx.cache.mtime_s(str(bank), str(key))
    return None if found is None else int(found)


def contains(
    ctx: RunnerContext, bank: str, key: str | None = None, cachedir: str | None = None
) -> bool:
    """Check whether a bank has a key, or anything at all.

    CLI Example:

        salt-run cache.contains mybank/myapp mykey
    """
    _no_other_dir(cachedir)
    found = ctx.cache.list(str(bank))
    return bool(found) if key is None else str(key) in found


def _list_minions(ctx: RunnerContext, tgt: str | list[str] | None, tgt_type: str) -> list[str]:
    return ctx.cached("*" if tgt is None else tgt, tgt_type)


def _of_all(
    ctx: RunnerContext, bank: str, tgt: str | list[str] | None, tgt_type: str
) -> dict[str, Any]:
    """As :func:`_fetch_cached`, with an empty map for who has nothing there."""
    found = _fetch_cached(ctx, bank, tgt, tgt_type)
    return {one: found.get(one, {}) for one in _list_minions(ctx, tgt, tgt_type)}


def _fetch_cached(
    ctx: RunnerContext, bank: str, tgt: str | list[str] | None, tgt_type: str
) -> dict[str, Any]:
    data = {one: ctx.cache.fetch(bank, one) for one in _list_minions(ctx, tgt, tgt_type)}
    return {one: value for one, value in data.items() if value is not None}


def _clear_banks(
    ctx: RunnerContext, banks: tuple[str, ...], tgt: str | list[str] | None, tgt_type: str
) -> bool:
    if tgt is None:
        return False  # Salt wants a target here: nobody forgets everything by a slip
    for one in _list_minions(ctx, tgt, tgt_type):
        for bank in banks:
            ctx.cache.flush(bank, one)
    return True


def _no_other_dir(cachedir: str | None) -> None:
    if cachedir is not None:
        raise ValueError("cachedir is not supported; the master's own cache is used")
