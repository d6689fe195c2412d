"""Which requests are a syndic's, and which a minion's; without ``order_masters`` all are minions'.

What syndics send is handled in ``syndics.py``, loaded with the first of it.
"""

from __future__ import annotations

from typing import Any

from saltlite.channel.master import OpenedRequest
from saltlite.master.commands import events
from saltlite.master.context import MasterContext


def accept_syndic_return(ctx: MasterContext, request: OpenedRequest) -> dict[str, Any] | None:
    """Take what a syndic's minions returned; ``{}`` for who is no syndic."""
    if not _is_syndic(ctx, request.id):
        ctx.refusals.refuse("_syndic_return", f"minion {request.id} is no syndic")
        return {}
    from saltlite.master.commands.syndics import take_returns

    take_returns(ctx, request)
    return None


def accept_events(ctx: MasterContext, request: OpenedRequest) -> dict[str, str] | None:
    """Take the events of a minion, or of a syndic, which may name others."""
    if not _is_syndic(ctx, request.id):
        return events.accept_events(ctx, request)
    from saltlite.master.commands.syndics import take_events

    return take_events(ctx, request)


def _is_syndic(ctx: MasterContext, minion_id: str) -> bool:
    if not ctx.config.syndic.order_masters:
        return False
    from saltlite.master.syndics import is_syndic

    return is_syndic(ctx.config.syndic, ctx.shared.cachedir, minion_id)
