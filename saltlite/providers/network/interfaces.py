"""Interfaces and their addresses, from ``ip addr show``. Pure."""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from saltlite.core.numbers import is_digits

_HEAD = re.compile(r"\d+: ([^:@\s]+)(?:@([^:\s]+))?: <([^>]*)>")
_KINDS = ("inet", "inet6", "secondary")
_HARDWARE = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2})+")

Interfaces = dict[str, dict[str, Any]]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_ip_addr(text: str) -> Interfaces:
    """Interfaces as ``network.interfaces`` shows them, in the kernel's order."""
    found: Interfaces = {}
    current: dict[str, Any] = {}
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            current = found.setdefault(head.group(1), {"up": "UP" in head.group(3).split(",")})
            if head.group(2):
                current["parent"] = head.group(2)
            continue
        words = line.split()
        if len(words) >= 2:
            _take(current, words)
    return found


def _take(interface: dict[str, Any], words: Sequence[str]) -> None:
    if words[0].startswith("link/"):
        if _HARDWARE.fullmatch(words[1]):
            interface["hwaddr"] = words[1]
    elif words[0] == "inet":
        _take_inet(interface, words)
    elif words[0] == "inet6":
        address, _, prefix = words[1].partition("/")
        interface.setdefault("inet6", []).append(
            {"address": address, "prefixlen": prefix, "scope": _after(words, "scope")}
        )


def _take_inet(interface: dict[str, Any], words: Sequence[str]) -> None:
    address, _, prefix = words[1].partition("/")
    if words[2:3] == ["peer"]:
        prefix = words[3].partition("/")[2]
    entry = {
        "address": address,
        "netmask": netmask(prefix),
        "broadcast": _after(words, "brd"),
        "label": words[-1],
    }
    if "secondary" in words:
        interface.setdefault("secondary", []).append({"type": "inet", **entry})
    else:
        interface.setdefault("inet", []).append(entry)


def _after(words: Sequence[str], name: str) -> str | None:
    return words[words.index(name) + 1] if name in words[:-1] else None


def netmask(prefix: str) -> str:
    """A mask as an address, for a length in bits; without one it is that of a single address."""
    bits = int(prefix) if is_digits(prefix) else 32
    return str(ipaddress.IPv4Network((0, bits)).netmask)


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
