"""Routes, from ``/proc/net/route`` and ``/proc/net/ipv6_route``, in the words of netstat. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence

from saltlite.core.lazyregex import regex

Route = dict[str, str]

_EVERYWHERE = ("0.0.0.0", "::/0")  # noqa: S104 - a destination, nothing is bound
_REJECT = 0x200
_FLAGS = (
    (0x0002, "G"),
    (0x0004, "H"),
    (0x0008, "R"),
    (0x0010, "D"),
    (0x0020, "M"),
)
_FLAGS6 = (
    *_FLAGS,
    (0x00010000, "D"),
    (0x00040000, "A"),
    (0x00400000, "e"),
    (0x01000000, "C"),
    (0x00200000, "n"),
)
_HEX_ADDRESS = regex(r"[0-9a-f]{32}")


def _flag_letters(number: int, letters: Sequence[tuple[int, str]]) -> str:
    first = "!" if number & _REJECT else "U"
    return first + "".join(letter for bit, letter in letters if number & bit)


def _parse_address(text: str) -> str:
    return str(ipaddress.IPv4Address(bytes.fromhex(text)[::-1]))


def parse_ipv4(text: str) -> list[Route]:
    """``/proc/net/route``; a route that refuses has no gateway and no interface."""
    found = []
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) < 8:
            continue
        number = int(words[3], 16)
        refuses = bool(number & _REJECT)
        found.append(
            {
                "addr_family": "inet",
                "destination": _parse_address(words[1]),
                "gateway": "-" if refuses else _parse_address(words[2]),
                "netmask": _parse_address(words[7]),
                "flags": "!" + _flag_letters(number & ~4, _FLAGS)[1:]
                if refuses
                else _flag_letters(number, _FLAGS),
                "interface": "-" if refuses else words[0],
            }
        )
    return found


def parse_ipv6(text: str) -> list[Route]:
    """``/proc/net/ipv6_route``."""
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) < 10 or not _HEX_ADDRESS.fullmatch(words[0]):
            continue
        destination = ipaddress.IPv6Address(bytes.fromhex(words[0]))
        found.append(
            {
                "addr_family": "inet6",
                "destination": f"{destination}/{int(words[1], 16)}",
                "gateway": str(ipaddress.IPv6Address(bytes.fromhex(words[4]))),
                "netmask": "",
                "flags": _flag_letters(int(words[8], 16), _FLAGS6),
                "interface": words[9],
            }
        )
    return found


def is_default(route: Route) -> bool:
    """Whether this is where everything goes that no other route is for."""
    return route["destination"] in _EVERYWHERE


def parse_get(text: str) -> Mapping[str, str | None] | None:
    """The first line of ``ip route get``; ``None`` if it tells no route."""
    words = (text.splitlines() or [""])[0].split()
    kinds = {"local", "broadcast", "multicast", "unicast", "anycast"}
    while words and words[0] in kinds:
        words = words[1:]
    if "dev" not in words[:-1] or "src" not in words[:-1]:
        return None
    via = words.index("via") if "via" in words[:-1] else None
    return {
        "destination": words[0],
        "gateway": None if via is None else words[via + 1],
        "interface": words[words.index("dev") + 1],
        "source": words[words.index("src") + 1],
    }
