"""What has gone through network interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers.status import proc
from saltlite.providers.watch import settings

COUNTERS: Final = {
    "bytes_sent": "tx_bytes",
    "bytes_recv": "rx_bytes",
    "packets_sent": "tx_packets",
    "packets_recv": "rx_packets",
    "errin": "rx_errs",
    "errout": "tx_errs",
    "dropin": "rx_drop",
    "dropout": "tx_drop",
}
"""Salt's name of each counter, and ours of the kernel's."""

KINDS: Final = ("equal", "greater")


@dataclass(frozen=True, slots=True)
class NetworkInfoOptions:
    """The configuration of this beacon."""

    interfaces: Any = None


@dataclass(frozen=True, slots=True)
class CounterLimits:
    """How the counters of one interface are compared with the numbers beside."""

    type: Any = "equal"


def validate(config: Mapping[str, Any]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    checked = settings.check_map("network_info", config, "interfaces")
    if not checked[0]:
        return checked
    for name, limits in read_fields(NetworkInfoOptions, config).interfaces.items():
        text = _check_limits(str(name), limits)
        if text:
            return False, f"Configuration for network_info beacon: {text}."
    return settings.VALID


def _check_limits(name: str, limits: object) -> str:
    if not isinstance(limits, Mapping) or not any(counter in limits for counter in COUNTERS):
        return f"{name} must be a map with one of {', '.join(COUNTERS)}"
    if read_fields(CounterLimits, limits).type not in KINDS:
        return f"type of {name} must be equal or greater"
    for counter, limit in limits.items():
        if counter in COUNTERS and (isinstance(limit, bool) or not isinstance(limit, (int, float))):
            return f"{counter} of {name} must be a number"
    return ""


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell of every interface of which one counter is as asked about: equal, or greater."""
    now = proc.parse_netdev(ctx.minion.host.read_text("/proc/net/dev") or "")
    found = []
    for name, limits in read_fields(NetworkInfoOptions, config).interfaces.items():
        if name not in now:
            continue
        counters = {counter: now[name][ours] for counter, ours in COUNTERS.items()}
        if _fits(counters, limits):
            found.append({"interface": str(name), "network_info": counters})
    return found


def _fits(counters: Mapping[str, int], limits: Mapping[str, Any]) -> bool:
    is_greater = read_fields(CounterLimits, limits).type == "greater"
    return any(
        counters[counter] > limits[counter] if is_greater else counters[counter] == limits[counter]
        for counter in COUNTERS
        if counter in limits
    )
