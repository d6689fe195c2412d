"""Interfaces, addresses, gateways and name servers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from saltlite.errors import CommandError
from saltlite.host import Host

COMMAND_TIMEOUT_S = 5.0

_HEAD = re.compile(r"\d+: ([^:@\s]+)(?:@\S+)?:")
_IPV6_DEFAULT = "0" * 32


@dataclass(slots=True)
class Interface:
    """One interface; addresses in the order in which Salt lists them."""

    hardware: str | None = None
    ipv4: list[str] = field(default_factory=list)
    ipv6: list[str] = field(default_factory=list)
    secondary: list[str] = field(default_factory=list)


def read(host: Host) -> dict[str, Any]:
    """The grains of this machine."""
    interfaces = parse_ip_addr(_addresses(host))
    return {
        **interface_grains(interfaces),
        **gateway_grains(
            host.read_text("/proc/net/route") or "", host.read_text("/proc/net/ipv6_route") or ""
        ),
        "dns": parse_resolv_conf(host.read_text("/etc/resolv.conf") or ""),
    }


def addresses(host: Host) -> list[str]:
    """All addresses of this machine that others may reach it by."""
    found = interface_grains(parse_ip_addr(_addresses(host)))
    every = [ipaddress.ip_address(each) for each in (*found["ipv4"], *found["ipv6"])]
    return [str(each) for each in every if not (each.is_loopback or each.is_link_local)]


def _addresses(host: Host) -> str:
    try:
        return host.run(["ip", "addr", "show"], timeout_s=COMMAND_TIMEOUT_S).stdout
    except CommandError:
        return ""


def parse_ip_addr(text: str) -> dict[str, Interface]:
    """The output of ``ip addr show``."""
    interfaces: dict[str, Interface] = {}
    current = Interface()
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            current = interfaces.setdefault(head.group(1), Interface())
            continue
        words = line.split()
        if len(words) >= 2:
            _take(current, words)
    return interfaces


def _take(interface: Interface, words: Sequence[str]) -> None:
    kind, address = words[0], words[1].partition("/")[0]
    if kind.startswith("link/") and re.fullmatch(r"[0-9a-f]{2}(:[0-9a-f]{2})+", address):
        interface.hardware = address
    elif kind == "inet":
        (interface.secondary if "secondary" in words else interface.ipv4).append(address)
    elif kind == "inet6":
        interface.ipv6.append(address)


def interface_grains(interfaces: dict[str, Interface]) -> dict[str, Any]:
    """The grains by interface, and ``ipv4`` and ``ipv6`` of all of them."""
    ipv4 = {name: [*each.ipv4, *each.secondary] for name, each in interfaces.items()}
    ipv6 = {name: list(each.ipv6) for name, each in interfaces.items()}
    return {
        "ip_interfaces": {
            name: [*each.ipv4, *each.ipv6, *each.secondary] for name, each in interfaces.items()
        },
        "ip4_interfaces": ipv4,
        "ip6_interfaces": ipv6,
        "hwaddr_interfaces": {
            name: each.hardware for name, each in interfaces.items() if each.hardware
        },
        "ipv4": _sorted(address for found in ipv4.values() for address in found),
        "ipv6": _sorted(address for found in ipv6.values() for address in found),
    }


def _sorted(addresses: Iterable[str]) -> list[str]:
    return sorted(set(addresses), key=lambda address: int(ipaddress.ip_address(address)))


def gateway_grains(routes: str, ipv6_routes: str) -> dict[str, Any]:
    """The default routes: an address, ``True`` for a route without one, ``False`` for none."""
    ipv4, ipv6 = parse_route(routes), parse_ipv6_route(ipv6_routes)
    return {"ip_gw": bool(ipv4 or ipv6), "ip4_gw": ipv4, "ip6_gw": ipv6}


def parse_route(text: str) -> str | bool:
    """The gateway of the best default route in ``/proc/net/route``."""
    found: list[tuple[int, str]] = []
    for line in text.splitlines()[1:]:
        columns = line.split()
        if len(columns) >= 8 and columns[1] == "00000000" and columns[7] == "00000000":
            found.append((int(columns[6]), columns[2]))
    if not found:
        return False
    gateway = bytes.fromhex(min(found, key=lambda each: each[0])[1])[::-1]
    return str(ipaddress.IPv4Address(gateway)) if any(gateway) else True


def parse_ipv6_route(text: str) -> str | bool:
    """The gateway of the best default route in ``/proc/net/ipv6_route``."""
    found: list[tuple[int, str]] = []
    for line in text.splitlines():
        columns = line.split()
        if len(columns) < 10 or columns[9] == "lo":
            continue
        if columns[0] == _IPV6_DEFAULT and columns[1] == "00":
            found.append((int(columns[5], 16), columns[4]))
    if not found:
        return False
    gateway = min(found, key=lambda each: each[0])[1]
    return True if gateway == _IPV6_DEFAULT else str(ipaddress.IPv6Address(bytes.fromhex(gateway)))


def parse_resolv_conf(text: str) -> dict[str, Any]:
    """The grain ``dns``. Of an ``options`` line Salt takes the first word."""
    servers: list[str] = []
    sortlist: list[str] = []
    options: list[str] = []
    search: list[str] = []
    domain = ""
    for line in text.splitlines():
        name, *values = re.split(r"[#;]", line)[0].split() or [""]
        if not values:
            continue
        if name == "nameserver":
            servers.append(values[0])
        elif name == "domain":
            domain = values[0]
        elif name == "search":
            search = values
        elif name == "sortlist":
            sortlist = [network for value in values if (network := _sort_entry(value))]
        elif name == "options":
            options.append(values[0])
    return {
        "nameservers": servers,
        "ip4_nameservers": [server for server in servers if ":" not in server],
        "ip6_nameservers": [server for server in servers if ":" in server],
        "sortlist": sortlist,
        "domain": domain,
        "search": search,
        "options": options,
    }


def _sort_entry(text: str) -> str | None:
    """An entry of ``sortlist`` with its netmask; without one it is that of the address's class."""
    if "/" in text:
        return text
    try:
        first = int(ipaddress.IPv4Address(text)) >> 24
    except ValueError:
        return None
    mask = "255.0.0.0" if first < 128 else "255.255.0.0" if first < 192 else "255.255.255.0"
    return f"{text}/{mask}"
