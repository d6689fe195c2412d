"""How many sessions the servers of haproxy's backends have."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionUnavailable
from saltlite.providers.watch import haproxy, settings

USERS_OWN: Final = "haproxy.get_sessions"
"""A function of this name, of a user's module, is asked instead, as Salt does."""


@dataclass(frozen=True, slots=True)
class HaproxyOptions:
    """The configuration of this beacon."""

    backends: Any = None
    socket: Any = ""


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """What is asked about one backend."""

    servers: Any = None
    threshold: Any = None


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    if "backends" not in config:
        return False, "Configuration for haproxy beacon requires backends."
    options = read_fields(HaproxyOptions, config)
    if not isinstance(options.backends, Mapping):
        return False, "Backends for haproxy beacon must be a dictionary."
    for name, given in options.backends.items():
        if not isinstance(given, Mapping) or "servers" not in given:
            return False, "Backends for haproxy beacon require servers."
        backend = read_fields(BackendOptions, given)
        if not isinstance(backend.servers, (list, tuple)):
            return False, "Servers for haproxy beacon must be a list."
        if not _is_number(backend.threshold):
            return False, f"Configuration for haproxy beacon: {name} needs a threshold, a number."
    if not isinstance(options.socket, str):
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
    options = read_fields(HaproxyOptions, config)
    get_sessions = _choose_source(ctx, options)
    found = []
    for name, given in options.backends.items():
        backend = read_fields(BackendOptions, given)
        for server in backend.servers:
            sessions = get_sessions(str(server), str(name))
            if sessions and int(sessions) > int(backend.threshold):
                event = {"server": server, "scur": sessions, "threshold": backend.threshold}
                found.append(event)
    return found


def _choose_source(ctx: BeaconContext, options: HaproxyOptions) -> Callable[[str, str], Any]:
    """What gives the sessions of a server in a backend; nothing for one that is not there."""
    functions = ctx.minion.functions
    with contextlib.suppress(FunctionUnavailable):
        functions.source(USERS_OWN.partition(".")[0])
        return lambda server, backend: functions.call(USERS_OWN, server, backend)
    path = options.socket or haproxy.find_socket(ctx.minion.host)
    sessions = haproxy.parse_sessions(haproxy.read_statistics(path))
    return lambda server, backend: sessions.get((backend, server))
