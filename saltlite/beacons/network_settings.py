"""How network interfaces are set."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers.network import attributes
from saltlite.providers.watch import settings

KEPT: Final = "interfaces"


@dataclass(frozen=True, slots=True)
class NetworkSettingsOptions:
    """The configuration of this beacon."""

    interfaces: Any = None
    coalesce: Any = False


def validate(config: Mapping[str, Any]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    checked = settings.check_map("network_settings", config, "interfaces")
    if not checked[0]:
        return checked
    for name, wanted in read_fields(NetworkSettingsOptions, config).interfaces.items():
        if not isinstance(wanted or {}, Mapping):
            return False, f"Configuration for network_settings beacon: {name} must be a map."
        unknown = sorted(set(map(str, wanted or {})) - set(attributes.NAMES))
        if unknown:
            text = f"{', '.join(unknown)} of {name} is none of {', '.join(attributes.NAMES)}"
            return False, f"Configuration for network_settings beacon: {text}."
    text = settings.check_switches("network_settings", "it", config, ["coalesce"])
    return (False, text) if text else settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, object]) -> list[dict[str, Any]]:
    """Tell which attributes of interfaces are others than at the last look.

    With ``onvalue`` only when one has that value now. ``coalesce`` tells all in one event.
    """
    options = read_fields(NetworkSettingsOptions, config)
    now = {
        name: attributes.read(ctx.minion.host, name, [*wanted])
        for name, wanted in _find_interfaces(ctx, options)
    }
    before: dict[str, dict[str, Any]] = ctx.kept.get(KEPT, now)
    ctx.kept[KEPT] = now
    changes = {
        name: changed
        for name, wanted in _find_interfaces(ctx, options)
        if name in before and (changed := _find_changes(before[name], now.get(name, {}), wanted))
    }
    if options.coalesce:
        return [{"tag": "result", "changes": changes}] if changes else []
    return [{"tag": n, "interface": n, "change": change} for n, change in changes.items()]


def _find_interfaces(
    ctx: BeaconContext, options: NetworkSettingsOptions
) -> Iterator[tuple[str, Any]]:
    """The interfaces there are that are asked about, with the attributes."""
    for name in ctx.minion.host.names(attributes.CLASS):
        for pattern, wanted in options.interfaces.items():
            if fnmatch.fnmatchcase(name, str(pattern)):
                yield name, wanted or {}
                break


def _find_changes(
    before: Mapping[str, object], now: Mapping[str, object], wanted: Mapping[str, object]
) -> dict[str, Any]:
    return {
        name: now[name]
        for name, options in wanted.items()
        if name in now and now[name] != before.get(name) and _is_asked(now[name], options)
    }


def _is_asked(value: object, options: object) -> bool:
    if not isinstance(options, Mapping) or "onvalue" not in options:
        return True
    onvalue = options["onvalue"]
    return value in onvalue if isinstance(onvalue, (list, tuple)) else bool(value == onvalue)
