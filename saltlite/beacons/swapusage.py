"""How much of the swap space is in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import BeaconContext
from saltlite.providers.status import memory
from saltlite.providers.watch import settings


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    return settings.check_percent("swapusage", config)


def beacon(ctx: BeaconContext, config: Mapping[str, object]) -> list[dict[str, Any]]:
    """Tell of the swap space in use, in percent, when it is at ``percent`` or above."""
    used = memory.swap_percent(ctx.minion.host)
    return [{"swapusage": used}] if used >= settings.percent(config["percent"]) else []
