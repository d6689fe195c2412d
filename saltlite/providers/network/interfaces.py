"""Interfaces and their addresses, as ``network.interfaces`` shows them. Pure."""

from __future__ import annotations

import ipaddress
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from saltlite.core.netlink import IPV6, Link

_KINDS = ("inet", "inet6", "secondary")

Interfaces = dict[str, dict[str, Any]]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def show_interfaces(links: Iterable[Link]) -> Interfaces:
    """Interfaces as ``network.interfaces`` shows them, in the kernel's order."""
    return {link.name: _show_link(link) for link in links}


def _show_link(link: Link) -> dict[str, Any]:
    shown: dict[str, Any] = {"up": link.up}
    if link.parent:
        shown["parent"] = link.parent
    if link.hardware:
        shown["hwaddr"] = link.hardware
    for each in link.addresses:
        entry: dict[str, Any] = {"address": each.address}
        if each.version == IPV6:
            entry |= {"prefixlen": str(each.prefix), "scope": each.scope}
            shown.setdefault("inet6", []).append(entry)
            continue
        mask = str(ipaddress.IPv4Network((0, each.prefix)).netmask)
        entry |= {"netmask": mask, "broadcast": each.broadcast, "label": each.label}
        if each.secondary:
            shown.setdefault("secondary", []).append({"type": "inet", **entry})
        else:
            shown.setdefault("inet", []).append(entry)
    return shown


def entries(
    interfaces: Interfaces, wanted: Iterable[str] | None, version: int
) -> Iterator[tuple[Address, Network]]:
    """The addresses of a version and the networks they are in; of all interfaces, or of some."""
    meant = (each for name, each in interfaces.items() if wanted is None or name in wanted)
    for interface in meant:
        for entry in itertools.chain(*(interface.get(kind, ()) for kind in _KINDS)):
            mask = entry.get("netmask", entry.get("prefixlen"))
            found = ipaddress.ip_interface(f"{entry['address']}/{mask}")
            if found.version == version:
                yield found.ip, found.network


def addresses(
    interfaces: Interfaces,
    wanted: Iterable[str] | None = None,
    *,
    version: int = 4,
    include_loopback: bool = False,
) -> list[Address]:
    """Addresses without repeats, by their number."""
    found = {address for address, _ in entries(interfaces, wanted, version)}
    return sorted(
        (address for address in found if include_loopback or not address.is_loopback), key=int
    )


def networks(
    interfaces: Interfaces,
    wanted: Iterable[str] | None = None,
    *,
    version: int = 4,
    include_loopback: bool = False,
) -> list[Network]:
    """Networks without repeats, by their number."""
    found = {
        network
        for address, network in entries(interfaces, wanted, version)
        if include_loopback or not address.is_loopback
    }
    return sorted(found, key=lambda network: (int(network.network_address), network.prefixlen))
