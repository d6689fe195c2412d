"""What ``traceroute``, ``ethtool``, ``arp`` and a magic packet look like. Pure."""

from __future__ import annotations

import re
from typing import Any

from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits

_HOP = regex(
    r"\s*(\d+)\s+(\S+)\s+\(([^)]*)\)\s+([\d.]+) ms(?: !\S*)?\s+([\d.]+) ms(?: !\S*)?\s+([\d.]+) ms"
)
_SILENT = regex(r"\s*(\d+)(?:\s+\*)+\s*$")
_RING = ("rx", "rx-mini", "rx-jumbo", "tx")


def parse_traceroute(text: str) -> list[dict[str, Any]]:
    """One map per hop, times in ms; empty for a hop of which the line does not tell all."""
    return [_parse_hop(line) for line in text.splitlines() if re.match(r"\s*\d+\s", line)]


def _parse_hop(line: str) -> dict[str, Any]:
    match = _HOP.match(line)
    if match:
        number, name, address, *times = match.groups()
        hop = {"count": int(number), "hostname": name, "ip": address}
        return hop | {f"ms{index}": float(time) for index, time in enumerate(times, 1)}
    silent = _SILENT.match(line)
    return {"count": int(silent.group(1)), "hostname": "*"} if silent else {}


def parse_arp(text: str) -> dict[str, str]:
    """``/proc/net/arp``: hardware address → address; without those that are still asked for."""
    found = {}
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) >= 6 and int(words[2], 16) & 2:
            found[words[3]] = words[0]
    return found


def parse_neighbours(text: str) -> dict[str, str]:
    """``ip neigh show``: hardware address → address; without those that do not answer."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if "lladdr" in words[:-1]:
            found[words[words.index("lladdr") + 1]] = words[0]
    return found


def parse_ring(text: str) -> dict[str, Any]:
    """``ethtool -g``: the largest and the present size of each ring buffer."""
    found: dict[str, Any] = {"result": True}
    suffix = "-max"
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.lower().startswith("current"):
            suffix = ""
        key = name.strip().lower().replace(" ", "-")
        if key in _RING and is_digits(value.strip()):
            found[f"{key}{suffix}"] = int(value)
    return found


def magic_packet(mac: str) -> bytes:
    """The packet that wakes the machine with this hardware address.

    Raises:
        ValueError: it is none.
    """
    digits = re.sub(r"[:.-]", "", mac)
    if not re.fullmatch(r"[0-9A-Fa-f]{12}", digits):
        raise ValueError("Invalid MAC address")
    return b"\xff" * 6 + bytes.fromhex(digits) * 16


def with_hostname(hosts: str, old: str, new: str) -> str:
    """``/etc/hosts`` with another name for the machine; the names of other machines stay."""
    if not old:
        return hosts
    pattern = re.compile(rf"(?<=\s){re.escape(old)}(?=\s|\.|$)")
    lines = []
    for line in hosts.splitlines(keepends=True):
        text, mark, comment = line.partition("#")
        lines.append(pattern.sub(new, text) + mark + comment)
    return "".join(lines)
