"""How many sessions the servers of haproxy's backends have."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.errors import FunctionUnavailable
from saltlite.providers.watch import haproxy, settings

USERS_OWN: Final = "haproxy.get_sessions"
"""A function of this name, of a user's module, is asked instead, as Salt does."""


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    if "backends" not in config:
        return False, "Configuration for haproxy beacon requires backends."
    if not isinstance(config["backends"], Mapping):
        return False, "Backends for haproxy beacon must be a dictionary."
    for name, options in config["backends"].items():
        if not isinstance(options, Mapping) or "servers" not in options:
            return False, "Backends for haproxy beacon require servers."
        if not isinstance(options["servers"], (list, tuple)):
            return False, "Servers for haproxy beacon must be a list."
        if not _is_number(options.get("threshold")):
            return False, f"Configuration for haproxy beacon: {name} needs a threshold, a number."
    if not isinstance(config.get("socket", ""), str):
        return False, "Configuration for haproxy beacon: socket must be a path."
    return settings.VALID


def _is_number(value: object) -> bool:
    try:
        int(str(value))
    except ValueError:
        return False
    return True


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell of each server that has more sessions than its backend's threshold."""
    get_sessions = _choose_source(ctx, config)
    found = []
    for backend, options in config["backends"].items():
        threshold = options["threshold"]
        for server in options["servers"]:
            sessions = get_sessions(str(server), str(backend))
            if sessions and int(sessions) > int(threshold):
                found.append({"server": server, "scur": sessions, "threshold": threshold})
    return found


def _choose_source(ctx: BeaconContext, config: Mapping[str, Any]) -> Callable[[str, str], Any]:
    """What gives the sessions of a server in a backend; nothing for one that is not there."""
    functions = ctx.minion.functions
    with contextlib.suppress(FunctionUnavailable):
        functions.source(USERS_OWN.partition(".")[0])
        return lambda server, backend: functions.call(USERS_OWN, server, backend)
    path = config.get("socket") or haproxy.find_socket(ctx.minion.host)
    sessions = haproxy.parse_sessions(haproxy.read_statistics(path))
    return lambda server, backend: sessions.get((backend, server))
