"""Whether processes run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers.status import processes
from saltlite.providers.watch import settings

STATES: Final = ("running", "stopped")


@dataclass(frozen=True, slots=True)
class PsOptions:
    """The configuration of this beacon."""

    processes: Any = None


def validate(config: Mapping[str, Any]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    checked = settings.check_map("ps", config, "processes")
    if not checked[0]:
        return checked
    for name, state in read_fields(PsOptions, config).processes.items():
        if state not in STATES:
            return False, f"Configuration for ps beacon: {name} must be running or stopped."
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell, each time, of every process that is as it was asked about."""
    there = processes.names(ctx.minion.host)
    found = []
    for name, state in read_fields(PsOptions, config).processes.items():
        if (name in there) == (state == "running"):
            found.append({str(name): state.capitalize()})
    return found
