"""How much of the memory is in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import BeaconContext
from saltlite.providers.status import memory
from saltlite.providers.watch import settings


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    return settings.check_percent("memusage", config)


def beacon(ctx: BeaconContext, config: Mapping[str, object]) -> list[dict[str, Any]]:
    """Tell of the memory in use, in percent, when it is at ``percent`` or above."""
    used = memory.memory_percent(ctx.minion.host)
    return [{"memusage": used}] if used >= settings.percent(config["percent"]) else []
