"""What is declared of an interface, as a stanza of ``/etc/network/interfaces``.

Arguments have Salt's names; those for IPv6 alone begin with ``ipv6``. What is no argument for
Debian is left out, since the same declaration may be for other distributions too.
Source: interfaces(5), bridge-utils-interfaces(5), the bonding documentation of Linux.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.errors import UsageError
from saltlite.providers.network.ifupdown import Route, show_options

KINDS = ("eth", "bond", "bridge", "slave", "vlan")
METHODS = {
    "inet": ("loopback", "static", "manual", "dhcp", "bootp", "tunnel", "ppp", "wvdial", "ipv4ll"),
    "inet6": ("auto", "loopback", "static", "manual", "dhcp", "v4tunnel", "6to4"),
}
MODES = ("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb",
         "balance-alb")  # fmt: skip
ON = ("yes", "on", "true", "1")
OFF = ("no", "off", "false", "0")
SWITCHES = "yes|on|true|1|True|no|off|false|0|False"

Options = Mapping[str, Any]
Check = Callable[[Any], str]
Pairs = list[tuple[str, str]]


def switch(value: object) -> str:
    """``on`` or ``off``, of any word for it."""
    word = str(value).lower()
    if word not in (*ON, *OFF):
        raise ValueError(SWITCHES)
    return "on" if word in ON else "off"


def _check_text(value: object) -> str:
    text = str(value).strip()
    if not text or "\n" in text or "\0" in text or text.endswith("\\"):
        raise ValueError("one line of text")
    return text


def _check_word(value: object) -> str:
    text = _check_text(value)
    if text.split() != [text]:
        raise ValueError("one word")
    return text


def _check_plain(value: object) -> str:
    """A word that a shell takes as it is."""
    text = str(value)
    if not re.fullmatch(r"[\w.:/%+-]+", text, re.ASCII):
        raise ValueError("one word without marks of the shell")
    return text


def _check_name(value: object) -> str:
    """The name of an interface; the kernel's are shorter than 16 bytes."""
    text = str(value)
    if not re.fullmatch(r"\w[\w.:@+-]{0,30}", text, re.ASCII):
        raise ValueError("the name of an interface")
    return text


def _check_integer(value: Any) -> str:
    try:
        return str(int(value))
    except (TypeError, ValueError):
        raise ValueError("an integer") from None


def _check_number(value: object) -> str:
    try:
        float(str(value))
    except ValueError:
        raise ValueError("a number") from None
    return str(value)


def _check_hardware(value: object) -> str:
    if not re.fullmatch(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}", str(value)):
        raise ValueError("a hardware address, 00:11:22:33:44:55")
    return str(value)


def _check_address(version: int) -> Check:
    def check(value: object) -> str:
        try:
            if ipaddress.ip_interface(str(value)).version == version:
                return str(value)
        except ValueError:
            pass
        raise ValueError(f"an IPv{version} address")

    return check


def _check_netmask(version: int) -> Check:
    network = ipaddress.IPv4Network if version == 4 else ipaddress.IPv6Network

    def check(value: object) -> str:
        try:
            network((0, str(value)))
        except ValueError:
            raise ValueError("a netmask, or the length of a prefix") from None
        return str(value)

    return check


def _check_scope(value: object) -> str:
    if value not in ("global", "link", "host", "site"):
        raise ValueError("global|link|host|site")
    return str(value)


_IPV4: Final = _check_address(4)
_IPV6: Final = _check_address(6)

_BOTH: Final[Mapping[str, tuple[str, Check]]] = {
    "hwaddr": ("hwaddress", _check_hardware),
    "hwaddress": ("hwaddress", _check_hardware),
    "mtu": ("mtu", _check_integer),
    "vlan-raw-device": ("vlan-raw-device", _check_word),
    "up_cmds": ("up", _check_text),
    "down_cmds": ("down", _check_text),
    "pre_up_cmds": ("pre-up", _check_text),
    "post_up_cmds": ("post-up", _check_text),
    "pre_down_cmds": ("pre-down", _check_text),
    "post_down_cmds": ("post-down", _check_text),
    "autoneg": ("ethernet-autoneg", switch),
    "duplex": ("link-duplex", _check_word),
    "speed": ("link-speed", _check_integer),
    **{f"wpa-{each}": (f"wpa-{each}", _check_text) for each in ("conf", "driver", "psk", "ssid")},
    "wireless-mode": ("wireless-mode", _check_text),
    **{each: (f"offload-{each}", switch)
       for each in ("gro", "gso", "lro", "rx", "sg", "tso", "tx", "ufo")},
}  # fmt: skip
"""Of both families; one of IPv6 alone comes before them there."""

_ONE: Final[Mapping[str, Mapping[str, tuple[str, Check]]]] = {
    "inet": {
        "netmask": ("netmask", _check_netmask(4)),
        "metric": ("metric", _check_integer),
        "gateway": ("gateway", _IPV4),
        "pointopoint": ("pointopoint", _IPV4),
        "scope": ("scope", _check_scope),
        **{each: (each, _check_text)
           for each in ("hostname", "vendor", "client", "bootfile", "provider", "options")},
        **{each: (each, _check_integer) for each in ("leasehours", "leasetime", "ttl", "unit")},
        **{each: (each, _IPV4) for each in ("server", "endpoint", "dstaddr", "local")},
    },
    "inet6": {
        "netmask": ("netmask", _check_netmask(6)),
        "gateway": ("gateway", _IPV6),
        "scope": ("scope", _check_scope),
        "media": ("media", _check_text),
        "mode": ("mode", _check_word),
        "endpoint": ("endpoint", _IPV4),
        **{
            each: (each, _check_integer)
            for each in ("ttl", "autoconf", "privext", "dhcp", "accept_ra")
        },
    },
}  # fmt: skip

_BRIDGE: Final[Mapping[str, Check]] = {
    **dict.fromkeys(
        ("ageing", "bridgeprio", "fd", "gcint", "hello", "maxage", "maxwait"), _check_number
    ),
    **dict.fromkeys(("pathcost", "portprio", "waitport"), _check_text),
    "hw": _check_hardware,
    "stp": switch,
}  # fmt: skip

_BOND: Final[Mapping[str, Check]] = {
    "miimon": _check_integer,
    "updelay": _check_integer,
    "downdelay": _check_integer,
    "use_carrier": switch,
    "arp_interval": _check_integer,
    "primary": _check_word,
    "lacp_rate": _check_word,
    "ad_select": _check_word,
    "xmit_hash_policy": _check_word,
}


@dataclass(frozen=True, slots=True)
class StanzaOptions:
    """Options of an interface that settle which stanzas it has; others become lines of them."""

    proto: Any = None
    ipv6proto: Any = None
    enable_ipv6: Any = True
    hotplug: Any = False
    vlan_raw_device: Any = None
    arp_ip_target: Any = None
    mode: Any = None


def of_declared(interface: str, kind: str, enabled: bool, options: Options) -> list[str]:
    """The lines of an interface, as ``ip.build_interface`` shows them.

    Raises:
        UsageError: what is given cannot be, or something is missing; says what.
    """
    _check_value(str(interface), "name", interface, _check_name)
    if kind not in KINDS:
        raise _wrong_value(interface, "type", kind, "|".join(KINDS))
    more = _of_kind(interface, kind, options)
    lines = [f"auto {interface}\n"] if enabled else []
    wanted = read_fields(StanzaOptions, options)
    if wanted.hotplug:
        lines.append(f"allow-hotplug {interface}\n")
    method = "manual" if kind == "slave" else wanted.proto
    lines += _build_stanza(interface, "inet", method, options, more)
    if wanted.ipv6proto and wanted.enable_ipv6:
        lines += _build_stanza(interface, "inet6", wanted.ipv6proto, options, more)
    return [*lines, "\n"]


def _build_stanza(
    interface: str, family: str, method: object, options: Options, more: Pairs
) -> list[str]:
    prefix = "ipv6" if family == "inet6" else ""
    if method not in METHODS[family]:
        raise _wrong_value(interface, f"{prefix}proto", method, "|".join(METHODS[family]))
    taken = {**_BOTH, **_ONE[family]}
    pairs = list(more)
    own, others = _build_addresses(interface, prefix, method, options)
    pairs += [("address", each) for each in own]
    servers = options.get(f"{prefix}dns", options.get("dns"))
    if servers:
        words = servers if isinstance(servers, (list, tuple)) else str(servers).split()
        checked = [_check_value(interface, f"{prefix}dns", each, _check_word) for each in words]
        pairs.append(("dns-nameservers", " ".join(checked)))
    for name, (word, check) in taken.items():
        key = f"{prefix}{name}"
        if key not in options and name in _BOTH:
            key = name
        given = options.get(key)
        if given is not None:
            values = given if isinstance(given, (list, tuple)) else [given]
            pairs += [(word, _check_value(interface, key, each, check)) for each in values]
    lines = [f"iface {interface} {family} {method}\n", *show_options(pairs)]
    mask = [pair for pair in pairs if pair[0] == "netmask"]
    for address in others:
        alone = [("address", address), *([] if "/" in address else mask)]
        lines += [f"iface {interface} {family} static\n", *show_options(alone)]
    return lines


def _build_addresses(
    interface: str, prefix: str, method: str, options: Options
) -> tuple[list[str], list[str]]:
    """The address by any of its names, and further ones: ifupdown takes one for each stanza."""
    check = _IPV6 if prefix else _IPV4
    found: list[list[str]] = []
    for names in (("ipaddr", "address", "addr"), ("addresses", "addrs", "ipaddrs")):
        key = next((each for name in names if (each := f"{prefix}{name}") in options), "")
        given = options.get(key)
        values = given if isinstance(given, (list, tuple)) else [given]
        found.append([_check_value(interface, key, each, check) for each in values if each])
    own, others = found
    if method == "static":
        own, others = [*own, *others][:1], [*own, *others][1:]
    return own, others


def _of_kind(interface: str, kind: str, options: Options) -> Pairs:
    if kind == "slave":
        return [("bond-master", _join_names(interface, kind, options, "master"))]
    if kind == "vlan" and "vlan-raw-device" not in options:
        device = read_fields(StanzaOptions, options).vlan_raw_device or interface.partition(".")[0]
        return [
            ("vlan-raw-device", _check_value(interface, "vlan_raw_device", device, _check_name))
        ]
    if kind == "bridge":
        ports = _join_names(interface, kind, options, "ports")
        return [("bridge_ports", ports), *_given_pairs(interface, "bridge_", _BRIDGE, options)]
    return _of_bond(interface, options) if kind == "bond" else []


def _of_bond(interface: str, options: Options) -> Pairs:
    """Links are watched by ARP if there is somebody to ask, else by their carrier."""
    slaves = _join_names(interface, "bond", options, "slaves")
    wanted = read_fields(StanzaOptions, options)
    asked = wanted.arp_ip_target
    if asked:
        several = list(asked) if isinstance(asked, (list, tuple)) else str(asked).split(",")
        targets = [_check_value(interface, "arp_ip_target", each, _IPV4) for each in several]
        found = {"arp_interval": "250", "arp_ip_target": ",".join(targets)}
    else:
        found = {"miimon": "100", "updelay": "0", "downdelay": "200", "use_carrier": "on"}
    number = _bonding_mode(interface, wanted.mode)
    if MODES[number] == "802.3ad":
        found |= {"lacp_rate": "0", "ad_select": "0"}
    found |= dict(_given_pairs(interface, "", _BOND, options))
    if "lacp_rate" in found:
        found["lacp_rate"] = {"slow": "0", "fast": "1"}.get(found["lacp_rate"], found["lacp_rate"])
    found |= {"mode": str(number), "slaves": slaves}
    return [(f"bond-{name}", value) for name, value in found.items()]


def _bonding_mode(interface: str, given: object) -> int:
    numbers = [str(number) for number in range(len(MODES))]
    for known in (MODES, numbers):
        if str(given) in known:
            return known.index(str(given))
    raise _wrong_value(interface, "mode", given, "|".join([*numbers, *MODES]))


def _given_pairs(interface: str, word: str, taken: Mapping[str, Check], options: Options) -> Pairs:
    return [
        (f"{word}{name}", _check_value(interface, name, each, check))
        for name, check in taken.items()
        if options.get(name) is not None
        for each in (options[name] if isinstance(options[name], (list, tuple)) else [options[name]])
    ]


def _join_names(interface: str, kind: str, options: Options, name: str) -> str:
    """Names of interfaces, a list or text."""
    given = options.get(name)
    if not given:
        on = " on Debian or Ubuntu based systems" if kind == "bridge" else ""
        raise UsageError(f"{name} is a required setting for {kind} interfaces{on}")
    words = given if isinstance(given, (list, tuple)) else str(given).split()
    return " ".join(_check_value(interface, name, each, _check_word) for each in words)


def _check_value(interface: str, name: str, value: object, check: Check) -> str:
    try:
        return check(value)
    except ValueError as error:
        raise _wrong_value(interface, name, value, str(error)) from None


def _wrong_value(interface: str, name: str, value: object, allowed: str) -> UsageError:
    if name == "type":
        return UsageError(
            f"Invalid option -- Interface: {interface}, Option: {value}, Expected: [{allowed}]"
        )
    shown_value = "***" if name.endswith("wpa-psk") else value
    said = f"Interface: {interface}, Option: {name}, Value: {shown_value}, Expected: [{allowed}]"
    return UsageError(f"Invalid option -- {said}")


def routes_of(interface: str, routes: object) -> list[Route]:
    """Declared routes; raises UsageError."""
    _check_value(str(interface), "name", interface, _check_name)
    if not isinstance(routes, (list, tuple)):
        raise UsageError(
            f"Invalid option -- Route interface: {interface}, Option: routes, "
            "Expected: [List of routes]"
        )
    return [_build_route(interface, each) for each in routes]


def _build_route(interface: str, given: object) -> Route:
    if not isinstance(given, Mapping) or not given.get("ipaddr"):
        raise UsageError(f"Invalid option -- Route interface: {interface}: a route has no ipaddr")

    def take(key: str) -> str:
        return _check_value(interface, f"routes: {key}", given[key], _ROUTE[key])

    target = take("ipaddr")
    if given.get("netmask") is not None and "/" not in target:
        target += f"/{take('netmask')}"
    return Route(
        name=take("name") if given.get("name") else "",
        target=target,
        gateway=take("gateway") if given.get("gateway") else "",
        metric=take("metric") if given.get("metric") is not None else "",
    )


_ROUTE: Final[Mapping[str, Check]] = {
    "name": _check_text, "ipaddr": _check_plain, "netmask": _check_plain,
    "gateway": _check_plain, "metric": _check_integer,
}  # fmt: skip
