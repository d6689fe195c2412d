"""Whether services run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.beacons import Changes
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers import service
from saltlite.providers.watch import settings

OWN_OPTIONS: Final = ("emitatstartup", "onchangeonly", "delay")
SWITCHES: Final = ("emitatstartup", "onchangeonly")


@dataclass(frozen=True, slots=True)
class ServiceBeacon:
    """The configuration of this beacon."""

    services: Any = None


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """What is asked about one service; ``delay`` in seconds."""

    emitatstartup: Any = True
    onchangeonly: Any = False
    delay: Any = 0
    uncleanshutdown: Any = None


def validate(config: Mapping[str, Any]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    checked = settings.check_map("service", config, "services")
    if not checked[0]:
        return checked
    for name, options in read_fields(ServiceBeacon, config).services.items():
        text = _check_options(str(name), options)
        if text:
            return False, text
    return settings.VALID


def _check_options(name: str, options: object) -> str:
    if options is not None and not isinstance(options, Mapping):
        return f"Configuration for service beacon: {name} must be a map."
    given = options or {}
    told = read_fields(ServiceOptions, given)
    delay = told.delay
    if isinstance(delay, bool) or not isinstance(delay, (int, float)) or delay < 0:
        return f"Configuration for service beacon: delay of {name} must be seconds."
    if "uncleanshutdown" in given and not isinstance(told.uncleanshutdown, str):
        return f"Configuration for service beacon: uncleanshutdown of {name} must be a path."
    return settings.check_switches("service", name, given, SWITCHES)


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell whether each service runs; with ``onchangeonly`` only when that is no more as before.

    With ``uncleanshutdown``, the path of a pid file, also whether that is there without the
    service. A change counts when it has lasted for ``delay`` seconds.
    """
    manager = service.provider(ctx.minion)
    found = []
    for name, given in read_fields(ServiceBeacon, config).services.items():
        options = read_fields(ServiceOptions, given or {})
        is_running = manager.running(str(name))
        status: dict[str, Any] = {"running": is_running}
        if options.uncleanshutdown is not None and not is_running:
            status |= {"uncleanshutdown": ctx.minion.host.exists(options.uncleanshutdown)}
        event = {"tag": str(name), "service_name": str(name), str(name): status}
        found += _changes_of(ctx, str(name), options).choose([event], ctx.now_s())
    return found


def _changes_of(ctx: BeaconContext, name: str, options: ServiceOptions) -> Changes:
    if name not in ctx.kept:
        ctx.kept[name] = Changes(
            onchangeonly=options.onchangeonly,
            emitatstartup=options.emitatstartup or not options.onchangeonly,
            delay_s=float(options.delay),
        )
    changes: Changes = ctx.kept[name]
    return changes
