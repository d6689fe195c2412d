"""New entries of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers.watch import settings
from saltlite.providers.watch.journal import Journal, simple_fields

KEPT: Final = "journal"


@dataclass(frozen=True, slots=True)
class JournaldOptions:
    """The configuration of this beacon."""

    services: Any = None


def validate(config: Mapping[str, Any]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    checked = settings.check_map("journald", config, "services")
    if not checked[0]:
        return checked
    for name, fields in read_fields(JournaldOptions, config).services.items():
        if not isinstance(fields, Mapping):
            return False, f"Configuration for journald beacon: {name} must be a map of fields."
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell of every new entry of which all fields are as a service has them."""
    if KEPT not in ctx.kept:
        ctx.kept[KEPT] = Journal(ctx.minion.host)
    journal: Journal = ctx.kept[KEPT]
    services = read_fields(JournaldOptions, config).services
    found = []
    for entry in journal.entries():
        fields = simple_fields(entry)
        for name, wanted in services.items():
            if all(fields.get(str(field)) == value for field, value in wanted.items()):
                found.append({"tag": str(name), **fields})
    return found


def close(ctx: BeaconContext, config: Mapping[str, object]) -> None:
    """Follow the journal no more; what comes meanwhile is not told."""
    if KEPT in ctx.kept:
        ctx.kept.pop(KEPT).close()
