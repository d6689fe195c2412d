"""``_register_resources``: minions of 3008 send it at every start. Source: docs/wire.md#others."""

from __future__ import annotations

from saltlite.channel.master import OpenedRequest
from saltlite.master.context import MasterContext


def register(_ctx: MasterContext, _request: OpenedRequest) -> bool:
    """Resources are not built; the minion ignores the reply."""
    return True
