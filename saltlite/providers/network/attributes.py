"""Attributes of network interfaces as the kernel shows them, in the words of pyroute2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from saltlite.host import Host

CLASS: Final = "/sys/class/net"
_PROMISCUOUS: Final = 0x100


def _plain_text(text: str) -> str:
    return text.strip()


def _parse_number(text: str) -> int:
    return int(text, 0)


_FILES: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "address": ("address", _plain_text),
    "broadcast": ("broadcast", _plain_text),
    "carrier": ("carrier", _parse_number),
    "carrier_changes": ("carrier_changes", _parse_number),
    "flags": ("flags", _parse_number),
    "group": ("netdev_group", _parse_number),
    "ifi_type": ("type", _parse_number),
    "index": ("ifindex", _parse_number),
    "linkmode": ("link_mode", _parse_number),
    "mtu": ("mtu", _parse_number),
    "operstate": ("operstate", lambda text: _plain_text(text).upper()),
    "promiscuity": ("flags", lambda text: int(bool(_parse_number(text) & _PROMISCUOUS))),
    "txqlen": ("tx_queue_len", _parse_number),
}
"""Attributes that are in a file, its name, and how it is read."""

NAMES: Final = tuple(sorted([*_FILES, "ifname", "ipaddr"]))


def read(host: Host, interface: str, names: Iterable[str]) -> dict[str, Any]:
    """The attributes of an interface that can be read."""
    found: dict[str, Any] = {}
    for name in names:
        value = _read_attribute(host, interface, name)
        if value is not None:
            found[name] = value
    return found


def _read_attribute(host: Host, interface: str, name: str) -> Any:
    if name == "ifname":
        return interface
    if name == "ipaddr":
        done = host.run(["ip", "-json", "address", "show", "dev", interface], timeout_s=10)
        return parse_addresses(done.stdout) if done.exit_code == 0 else None
    file, read_value = _FILES[name]
    text = host.read_text(f"{CLASS}/{interface}/{file}")
    try:
        return None if not text else read_value(text)
    except ValueError:
        return None


def parse_addresses(text: str) -> list[list[Any]] | None:
    """``ip -json address``: addresses with their prefixes; ``None`` if it cannot be read. Pure."""
    try:
        found = json.loads(text)
        given = [each for interface in found for each in interface.get("addr_info", ())]
        given.sort(key=lambda each: str(each["family"]))
        return [[each["local"], each["prefixlen"]] for each in given]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
