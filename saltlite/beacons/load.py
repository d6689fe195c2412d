"""The load averages of the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers.watch import settings

OWN_OPTIONS: Final = ("emitatstartup", "onchangeonly")
KEPT: Final = "outside"
AVERAGES: Final = ("1m", "5m", "15m")


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The configuration of this beacon."""

    averages: Any = None
    onchangeonly: Any = False
    emitatstartup: Any = True


def validate(config: Mapping[str, Any]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    checked = settings.check_map("load", config, "averages")
    if not checked[0]:
        return checked
    text = settings.check_switches("load", "load", config, OWN_OPTIONS)
    if text:
        return False, text
    averages = read_fields(LoadOptions, config).averages
    for name in AVERAGES:
        if not _are_bounds(averages.get(name)):
            text = f"Configuration for load beacon: {name} must be a list of two numbers."
            return False, text
    return settings.VALID


def _are_bounds(value: object) -> bool:
    return (
        isinstance(value, (list, tuple))
        and len(value) == 2
        and all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in value)
    )


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell of the averages when one of them is not between its bounds.

    With ``onchangeonly`` only when one leaves its bounds or comes back to them; then
    ``emitatstartup`` ``False`` leaves out the first look.
    """
    options = read_fields(LoadOptions, config)
    now = dict(zip(AVERAGES, os.getloadavg(), strict=True))
    outside = {name: _is_outside(now[name], options.averages[name]) for name in AVERAGES}
    before: dict[str, bool] | None = ctx.kept.get(KEPT)
    ctx.kept[KEPT] = outside
    if not options.onchangeonly:
        return [now] if any(outside.values()) else []
    if before is None:
        return [now] if any(outside.values()) and options.emitatstartup else []
    return [now] if outside != before else []


def _is_outside(value: float, bounds: Any) -> bool:
    low, high = bounds
    return not float(low) <= value <= float(high)
