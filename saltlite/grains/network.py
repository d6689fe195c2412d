"""Interfaces, addresses, gateways and name servers."""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Iterable
from typing import Any

from saltlite.core.netlink import IPV4, IPV6, Link
from saltlite.host import Host

log = logging.getLogger(__name__)

_IPV6_DEFAULT = "0" * 32


def read(host: Host) -> dict[str, Any]:
    """The grains of this machine."""
    return {
        **interface_grains(_read_links(host)),
        **gateway_grains(
            host.read_text("/proc/net/route") or "", host.read_text("/proc/net/ipv6_route") or ""
        ),
        "dns": parse_resolv_conf(host.read_text("/etc/resolv.conf") or ""),
    }


def addresses(host: Host) -> list[str]:
    """All addresses of this machine that others may reach it by."""
    found = interface_grains(_read_links(host))
    every = [ipaddress.ip_address(each) for each in (*found["ipv4"], *found["ipv6"])]
    return [str(each) for each in every if not (each.is_loopback or each.is_link_local)]


def _read_links(host: Host) -> list[Link]:
    try:
        return host.links()
    except OSError as error:
        log.warning("The addresses of this machine are not known: %s", error)
        return []


def interface_grains(links: Iterable[Link]) -> dict[str, Any]:
    """The grains by interface, and ``ipv4`` and ``ipv6`` of all of them.

    Secondary addresses come last, as Salt lists them.
    """
    links = list(links)
    first = {one.name: _list_addresses(one, IPV4, secondary=False) for one in links}
    second = {one.name: _list_addresses(one, IPV4, secondary=True) for one in links}
    ipv6 = {one.name: _list_addresses(one, IPV6, secondary=False) for one in links}
    ipv4 = {name: [*first[name], *second[name]] for name in first}
    return {
        "ip_interfaces": {name: [*first[name], *ipv6[name], *second[name]] for name in first},
        "ip4_interfaces": ipv4,
        "ip6_interfaces": ipv6,
        "hwaddr_interfaces": {one.name: one.hardware for one in links if one.hardware},
        "ipv4": _sort_addresses(address for found in ipv4.values() for address in found),
        "ipv6": _sort_addresses(address for found in ipv6.values() for address in found),
    }


def _list_addresses(link: Link, version: int, *, secondary: bool) -> list[str]:
    return [
        each.address
        for each in link.addresses
        if each.version == version and each.secondary == secondary
    ]


def _sort_addresses(addresses: Iterable[str]) -> list[str]:
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
