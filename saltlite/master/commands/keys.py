"""``revoke_auth``: a minion asks to be forgotten. Source: docs/wire.md#others."""

from __future__ import annotations

from saltlite.channel.master import OpenedRequest
from saltlite.core.plain import Plain
from saltlite.master.context import MasterContext
from saltlite.master.keyactions import KeyActions


def revoke(ctx: MasterContext, request: OpenedRequest) -> Plain:
    """``True`` and the key is gone; the load as it came if that is not allowed."""
    if not ctx.config.keys.allow_minion_key_revoke:
        ctx.refusals.refuse("revoke_auth", request.id)
        return request.load
    preserve = request.load.get("preserve_minion_cache") is True
    actions = KeyActions(ctx.config, ctx.stores, fire=ctx.events.fire)
    actions.delete(request.id, preserve_cache=preserve)
    return True
