"""``/etc/network/interfaces``: whose stanza is which, and how one is replaced.

Source: interfaces(5) of ifupdown 0.8. Comments, mappings and other interfaces stay as they are.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, replace
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError
from saltlite.host import Host

FILE = "/etc/network/interfaces"

HOOKS = ("/etc/network/if-up.d", "/etc/network/if-down.d")
"""Where programs are that run when an interface has come up, and when it is about to go down."""

SYS_NET = "/sys/class/net"

_UP = 1
"""IFF_UP of <linux/if.h>."""

_PSK = regex(r"^(\s*wpa-psk ).*")

_LISTS = ("auto", "allow-hotplug")
"""Lists of interfaces that a declaration says something about."""

_ALONE = ("source", "source-directory", "no-auto-down", "no-scripts", "rename", "template")

_FIRST = ("autoconf", "privext", "dhcp", "hwaddress", "vlan-raw-device", "address", "netmask",
          "metric", "gateway", "pointopoint", "scope", "hostname", "leasehours", "leasetime",
          "vendor", "client", "bootfile", "server", "media", "mode", "endpoint", "dstaddr",
          "local", "ttl", "mtu", "bond-master", "provider", "unit", "options", "wireless-mode",
          "wpa-conf", "wpa-driver", "wpa-psk", "wpa-ssid", "dns-nameservers", "accept_ra", "up",
          "down", "pre-up", "post-up", "pre-down", "post-down")  # fmt: skip
"""Options of a stanza in the order of Salt; all others come behind them, by name."""

_RANKS = {word: number for number, word in enumerate(_FIRST)}


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines of the file: a stanza, a list of interfaces, or what is in between.

    ``kind`` is its first word, empty in between; ``names`` are the further words of that line.
    """

    kind: str
    names: tuple[str, ...]
    lines: tuple[str, ...]

    def is_of(self, interface: str) -> bool:
        """Whether it is a stanza of this interface."""
        return self.kind == "iface" and self.names[:1] == (interface,)

    def without(self, interface: str) -> Piece:
        """A list that does not name the interface; it may be empty."""
        left = tuple(name for name in self.names if name != interface)
        if self.kind not in _LISTS or left == self.names:
            return self
        return replace(self, names=left, lines=(f"{' '.join((self.kind, *left))}\n",))


def pieces(text: str) -> list[Piece]:
    """The file in pieces, whose lines together are the file."""
    found: list[Piece] = []
    between: list[str] = []
    for line in _join_lines(text):
        words = line.replace("\\\n", " ").split()
        if not words or words[0].startswith("#"):
            between.append(line)
        elif _begins_stanza(words[0]) or not found or found[-1].kind not in ("iface", "mapping"):
            if between:
                found.append(Piece("", (), tuple(between)))
            found.append(Piece(words[0], tuple(words[1:]), (line,)))
            between = []
        else:
            stanza = found[-1]
            found[-1] = replace(stanza, lines=(*stanza.lines, *between, line))
            between = []
    return [*found, Piece("", (), tuple(between))] if between else found


def _join_lines(text: str) -> list[str]:
    """Lines, each with those that a backslash joins to it."""
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        if lines and lines[-1].endswith("\\\n"):
            lines[-1] += line
        else:
            lines.append(line)
    return lines


def _begins_stanza(word: str) -> bool:
    return word in ("iface", "mapping", "auto", *_ALONE) or word.startswith("allow-")


def of_interface(text: str, interface: str) -> list[str]:
    """What the file says of an interface, lines as ``ip.get_interface`` shows them.

    Options are in Salt's order, without comments; a last line is empty, unless all are.
    """
    found = pieces(text)
    lists = [kind for kind in _LISTS if any(each.kind == kind and interface in each.names
                                            for each in found)]  # fmt: skip
    stanzas = sorted((each for each in found if each.is_of(interface)), key=_family_of)
    lines = [f"{kind} {interface}\n" for kind in lists]
    for stanza in stanzas:
        lines.append(f"iface {' '.join(stanza.names)}\n")
        options = (line.replace("\\\n", " ").split(None, 1) for line in stanza.lines[1:])
        lines += show_options(
            (words[0], words[1].strip() if len(words) > 1 else "")
            for words in options
            if words and not words[0].startswith("#")
        )
    return [*lines, "\n"] if lines else []


def _family_of(stanza: Piece) -> str:
    return stanza.names[1] if len(stanza.names) > 1 else ""


def show_options(options: Iterable[tuple[str, str]]) -> list[str]:
    """Options of a stanza as lines in Salt's order; those of one name keep theirs."""
    ordered = sorted(options, key=lambda each: _rank_of(each[0]))
    return [f"    {name} {value}".rstrip() + "\n" for name, value in ordered]


def _rank_of(name: str) -> tuple[int, str]:
    return (_RANKS[name], "") if name in _RANKS else (len(_RANKS), name)


def with_interface(text: str, interface: str, lines: Sequence[str]) -> str:
    """The file with these lines for an interface, in the place of its old ones or at the end."""
    kept: list[str] = []
    place: int | None = None
    for piece in pieces(text):
        if piece.is_of(interface):
            place = len(kept) if place is None else place
            continue
        left = piece.without(interface)
        if left.names or left.kind not in _LISTS:
            kept += left.lines
    if kept and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    at = len(kept) if place is None else place
    own = [line for line in lines if line.strip()]
    return "".join([*kept[:at], *own, *kept[at:]])


def route_scripts(interface: str, routes: Sequence[Route]) -> tuple[str, str]:
    """The programs that add and remove the routes of an interface, as Salt writes them."""
    return _build_script(interface, routes, "add"), _build_script(interface, routes, "del")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route: its name for a comment, and words for ``ip route``; empty for none."""

    name: str
    target: str
    gateway: str
    metric: str


def _build_script(interface: str, routes: Sequence[Route], verb: str) -> str:
    lines = ["#!/bin/sh", f"# {verb}", f'test "${{IFACE}}" = "{interface}" || exit 0']
    for route in routes:
        if route.name:
            lines.append(f"# {route.name}")
        via = f"via {route.gateway}" if route.gateway else ""
        metric = f" metric {route.metric}" if route.metric else ""
        lines.append(f"ip route {verb} {route.target} {via} dev {interface}{metric}")
    return "".join(f"{line}\n" for line in lines)


def route_files(iface: str) -> list[str]:
    """Where these programs are."""
    return [f"{place}/route-{iface}" for place in HOOKS]


def only_debian(ctx: MinionContext) -> None:
    """Raises FunctionError where interfaces are configured in another way."""
    family = ctx.grains.get("os_family")
    if family != "Debian":
        raise FunctionError(
            f"Interfaces can be configured on Debian only ({FILE}); this is {family}"
        )


def is_up(host: Host, iface: str) -> bool:
    """Whether the kernel has the interface, and it is up."""
    flags = (host.read_text(f"{SYS_NET}/{iface}/flags") or "0").strip()
    return bool(int(flags, 16) & _UP)


def difference(old: Sequence[str], new: Sequence[str]) -> str:
    """What is another in lines, as Salt tells it; keys of wireless networks are hidden."""
    before, after = ([_PSK.sub(r"\1***", line) for line in lines] for lines in (old, new))
    return "\n".join(difflib.unified_diff(before, after, lineterm=""))
