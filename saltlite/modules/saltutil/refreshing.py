"""Have the minion read its grains, its pillar and its code anew."""

from __future__ import annotations

import logging
from typing import Any

from saltlite.context import MinionContext, NoEvents
from saltlite.core.factories import alias_function
from saltlite.modules import event

log = logging.getLogger(__name__)


def refresh_grains(ctx: MinionContext, **kwargs: Any) -> bool:
    """Collect the grains anew.

    CLI Example:

        salt '*' saltutil.refresh_grains
    """
    if ctx.refresh_grains is not None:
        ctx.grains = ctx.refresh_grains()
    else:
        from saltlite.grains import cached

        cached.forget(ctx.config)
        event.fire(ctx, {"force_refresh": True}, "grains_refresh")
    return True


_PILLAR_COMPLETE = "/salt/minion/minion_pillar_refresh_complete"
_BUS_ANSWERS_S = 5.0


def refresh_pillar(
    ctx: MinionContext, wait: bool = False, timeout: int = 30, clean_cache: bool = True
) -> bool:
    """Ask the master for the pillar anew; ``False`` without a minion that could.

    ``wait`` until it is there, for at most ``timeout`` seconds; ``False`` if it does not come.

    CLI Example:

        salt '*' saltutil.refresh_pillar
        salt '*' saltutil.refresh_pillar wait=True timeout=60
    """
    asked = {"clean_cache": clean_cache}
    if not wait or ctx.listen is None or isinstance(ctx.events, NoEvents):
        return event.fire(ctx, asked, "pillar_refresh")
    listener = ctx.listen(_PILLAR_COMPLETE)
    try:
        listener.connect_confirmed(_BUS_ANSWERS_S)
        if not event.fire(ctx, asked, "pillar_refresh"):
            return False
        found = listener.get(float(timeout))
    finally:
        listener.close()
    if found is None:
        log.warning("the pillar is not refreshed after %s s", timeout)
    return found is not None and found.data.get("complete") is not False


pillar_refresh = alias_function(refresh_pillar, "pillar_refresh", "saltutil.refresh_pillar")


def refresh_modules(ctx: MinionContext, **kwargs: Any) -> bool:
    """Read changed modules again; ``False`` without a minion that could.

    CLI Example:

        salt '*' saltutil.refresh_modules
    """
    ctx.functions.reload()
    return event.fire(ctx, {}, "module_refresh")


def refresh_beacons(ctx: MinionContext) -> bool:
    """Read the beacons' configuration again; ``False`` without a minion that could.

    CLI Example:

        salt '*' saltutil.refresh_beacons
    """
    return event.fire(ctx, {}, "beacons_refresh")


def refresh_matchers(ctx: MinionContext) -> bool:
    """Read custom matchers again; ``False`` without a minion that could.

    CLI Example:

        salt '*' saltutil.refresh_matchers
    """
    return event.fire(ctx, {}, "matchers_refresh")
