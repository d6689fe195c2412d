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

from saltlite.errors import UsageError
from saltlite.providers.network.ifupdown import Route, shown

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


def switch(value: Any) -> str:
    """``on`` or ``off``, of any word for it."""
    word = str(value).lower()
    if word not in (*ON, *OFF):
        raise ValueError(SWITCHES)
    return "on" if word in ON else "off"


def _text(value: Any) -> str:
    text = str(value).strip()
    if not text or "\n" in text or "\0" in text or text.endswith("\\"):
        raise ValueError("one line of text")
    return text


def _word(value: Any) -> str:
    text = _text(value)
    if text.split() != [text]:
        raise ValueError("one word")
    return text


def _plain(value: Any) -> str:
    """A word that a shell takes as it is."""
    text = str(value)
    if not re.fullmatch(r"[\w.:/%+-]+", text, re.ASCII):
        raise ValueError("one word without marks of the shell")
    return text


def _name(value: Any) -> str:
    """The name of an interface; the kernel's are shorter than 16 bytes."""
    text = str(value)
    if not re.fullmatch(r"\w[\w.:@+-]{0,30}", text, re.ASCII):
        raise ValueError("the name of an interface")
    return text


def _integer(value: Any) -> str:
    try:
        return str(int(value))
    except (TypeError, ValueError):
        raise ValueError("an integer") from None


def _number(value: Any) -> str:
    try:
        float(str(value))
    except ValueError:
        raise ValueError("a number") from None
    return str(value)


def _hardware(value: Any) -> str:
    if not re.fullmatch(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}", str(value)):
        raise ValueError("a hardware address, 00:11:22:33:44:55")
    return str(value)


def _address(version: int) -> Check:
    def check(value: Any) -> str:
        try:
            if ipaddress.ip_interface(str(value)).version == version:
                return str(value)
        except ValueError:
            pass
        raise ValueError(f"an IPv{version} address")

    return check


def _netmask(version: int) -> Check:
    network = ipaddress.IPv4Network if version == 4 else ipaddress.IPv6Network

    def check(value: Any) -> str:
        try:
            network((0, str(value)))
        except ValueError:
            raise ValueError("a netmask, or the length of a prefix") from None
        return str(value)

    return check


def _scope(value: Any) -> str:
    if value not in ("global", "link", "host", "site"):
        raise ValueError("global|link|host|site")
    return str(value)


_IPV4: Final = _address(4)
_IPV6: Final = _address(6)

_BOTH: Final[Mapping[str, tuple[str, Check]]] = {
    "hwaddr": ("hwaddress", _hardware),
    "hwaddress": ("hwaddress", _hardware),
    "mtu": ("mtu", _integer),
    "vlan-raw-device": ("vlan-raw-device", _word),
    "up_cmds": ("up", _text),
    "down_cmds": ("down", _text),
    "pre_up_cmds": ("pre-up", _text),
    "post_up_cmds": ("post-up", _text),
    "pre_down_cmds": ("pre-down", _text),
    "post_down_cmds": ("post-down", _text),
    "autoneg": ("ethernet-autoneg", switch),
    "duplex": ("link-duplex", _word),
    "speed": ("link-speed", _integer),
    **{f"wpa-{each}": (f"wpa-{each}", _text) for each in ("conf", "driver", "psk", "ssid")},
    "wireless-mode": ("wireless-mode", _text),
    **{each: (f"offload-{each}", switch)
       for each in ("gro", "gso", "lro", "rx", "sg", "tso", "tx", "ufo")},
}  # fmt: skip
"""Of both families; one of IPv6 alone comes before them there."""

_ONE: Final[Mapping[str, Mapping[str, tuple[str, Check]]]] = {
    "inet": {
        "netmask": ("netmask", _netmask(4)),
        "metric": ("metric", _integer),
        "gateway": ("gateway", _IPV4),
        "pointopoint": ("pointopoint", _IPV4),
        "scope": ("scope", _scope),
        **{each: (each, _text)
           for each in ("hostname", "vendor", "client", "bootfile", "provider", "options")},
        **{each: (each, _integer) for each in ("leasehours", "leasetime", "ttl", "unit")},
        **{each: (each, _IPV4) for each in ("server", "endpoint", "dstaddr", "local")},
    },
    "inet6": {
        "netmask": ("netmask", _netmask(6)),
        "gateway": ("gateway", _IPV6),
        "scope": ("scope", _scope),
        "media": ("media", _text),
        "mode": ("mode", _word),
        "endpoint": ("endpoint", _IPV4),
        **{each: (each, _integer) for each in ("ttl", "autoconf", "privext", "dhcp", "accept_ra")},
    },
}  # fmt: skip

_BRIDGE: Final[Mapping[str, Check]] = {
    **dict.fromkeys(("ageing", "bridgeprio", "fd", "gcint", "hello", "maxage", "maxwait"), _number),
    **dict.fromkeys(("pathcost", "portprio", "waitport"), _text),
    "hw": _hardware,
    "stp": switch,
}  # fmt: skip

_BOND: Final[Mapping[str, Check]] = {
    "miimon": _integer,
    "updelay": _integer,
    "downdelay": _integer,
    "use_carrier": switch,
    "arp_interval": _integer,
    "primary": _word,
    "lacp_rate": _word,
    "ad_select": _word,
    "xmit_hash_policy": _word,
}


def of_declared(interface: str, kind: str, enabled: bool, options: Options) -> list[str]:
    """The lines of an interface, as ``ip.build_interface`` shows them.

    Raises:
        UsageError: what is given cannot be, or something is missing; says what.
    """
    _checked(str(interface), "name", interface, _name)
    if kind not in KINDS:
        raise _wrong(interface, "type", kind, "|".join(KINDS))
    more = _of_kind(interface, kind, options)
    lines = [f"auto {interface}\n"] if enabled else []
    if options.get("hotplug"):
        lines.append(f"allow-hotplug {interface}\n")
    method = "manual" if kind == "slave" else options.get("proto")
    lines += _stanza(interface, "inet", method, options, more)
    if options.get("ipv6proto") and options.get("enable_ipv6", True):
        lines += _stanza(interface, "inet6", options["ipv6proto"], options, more)
    return [*lines, "\n"]


def _stanza(interface: str, family: str, method: Any, options: Options, more: Pairs) -> list[str]:
    prefix = "ipv6" if family == "inet6" else ""
    if method not in METHODS[family]:
        raise _wrong(interface, f"{prefix}proto", method, "|".join(METHODS[family]))
    taken = {**_BOTH, **_ONE[family]}
    pairs = list(more)
    own, others = _addresses(interface, prefix, method, options)
    pairs += [("address", each) for each in own]
    servers = options.get(f"{prefix}dns", options.get("dns"))
    if servers:
        words = servers if isinstance(servers, (list, tuple)) else str(servers).split()
        checked = [_checked(interface, f"{prefix}dns", each, _word) for each in words]
        pairs.append(("dns-nameservers", " ".join(checked)))
    for name, (word, check) in taken.items():
        key = f"{prefix}{name}"
        if key not in options and name in _BOTH:
            key = name
        given = options.get(key)
        if given is not None:
            values = given if isinstance(given, (list, tuple)) else [given]
            pairs += [(word, _checked(interface, key, each, check)) for each in values]
    lines = [f"iface {interface} {family} {method}\n", *shown(pairs)]
    mask = [pair for pair in pairs if pair[0] == "netmask"]
    for address in others:
        alone = [("address", address), *([] if "/" in address else mask)]
        lines += [f"iface {interface} {family} static\n", *shown(alone)]
    return lines


def _addresses(
    interface: str, prefix: str, method: str, options: Options
) -> tuple[list[str], list[str]]:
    """The address by any of its names, and further ones: ifupdown takes one for each stanza."""
    check = _IPV6 if prefix else _IPV4
    found: list[list[str]] = []
    for names in (("ipaddr", "address", "addr"), ("addresses", "addrs", "ipaddrs")):
        key = next((each for name in names if (each := f"{prefix}{name}") in options), "")
        given = options.get(key)
        values = given if isinstance(given, (list, tuple)) else [given]
        found.append([_checked(interface, key, each, check) for each in values if each])
    own, others = found
    if method == "static":
        own, others = [*own, *others][:1], [*own, *others][1:]
    return own, others


def _of_kind(interface: str, kind: str, options: Options) -> Pairs:
    if kind == "slave":
        return [("bond-master", _needed(interface, kind, options, "master"))]
    if kind == "vlan" and "vlan-raw-device" not in options:
        device = options.get("vlan_raw_device") or interface.partition(".")[0]
        return [("vlan-raw-device", _checked(interface, "vlan_raw_device", device, _name))]
    if kind == "bridge":
        ports = _needed(interface, kind, options, "ports")
        return [("bridge_ports", ports), *_given(interface, "bridge_", _BRIDGE, options)]
    return _of_bond(interface, options) if kind == "bond" else []


def _of_bond(interface: str, options: Options) -> Pairs:
    """Links are watched by ARP if there is somebody to ask, else by their carrier."""
    slaves = _needed(interface, "bond", options, "slaves")
    asked = options.get("arp_ip_target")
    if asked:
        several = list(asked) if isinstance(asked, (list, tuple)) else str(asked).split(",")
        targets = [_checked(interface, "arp_ip_target", each, _IPV4) for each in several]
        found = {"arp_interval": "250", "arp_ip_target": ",".join(targets)}
    else:
        found = {"miimon": "100", "updelay": "0", "downdelay": "200", "use_carrier": "on"}
    number = _mode(interface, options.get("mode"))
    if MODES[number] == "802.3ad":
        found |= {"lacp_rate": "0", "ad_select": "0"}
    found |= dict(_given(interface, "", _BOND, options))
    if "lacp_rate" in found:
        found["lacp_rate"] = {"slow": "0", "fast": "1"}.get(found["lacp_rate"], found["lacp_rate"])
    found |= {"mode": str(number), "slaves": slaves}
    return [(f"bond-{name}", value) for name, value in found.items()]


def _mode(interface: str, given: Any) -> int:
    numbers = [str(number) for number in range(len(MODES))]
    for known in (MODES, numbers):
        if str(given) in known:
            return known.index(str(given))
    raise _wrong(interface, "mode", given, "|".join([*numbers, *MODES]))


def _given(interface: str, word: str, taken: Mapping[str, Check], options: Options) -> Pairs:
    return [
        (f"{word}{name}", _checked(interface, name, each, check))
        for name, check in taken.items()
        if options.get(name) is not None
        for each in (options[name] if isinstance(options[name], (list, tuple)) else [options[name]])
    ]


def _needed(interface: str, kind: str, options: Options, name: str) -> str:
    """Names of interfaces, a list or text."""
    given = options.get(name)
    if not given:
        on = " on Debian or Ubuntu based systems" if kind == "bridge" else ""
        raise UsageError(f"{name} is a required setting for {kind} interfaces{on}")
    words = given if isinstance(given, (list, tuple)) else str(given).split()
    return " ".join(_checked(interface, name, each, _word) for each in words)


def _checked(interface: str, name: str, value: Any, check: Check) -> str:
    try:
        return check(value)
    except ValueError as error:
        raise _wrong(interface, name, value, str(error)) from None


def _wrong(interface: str, name: str, value: Any, allowed: str) -> UsageError:
    if name == "type":
        return UsageError(
            f"Invalid option -- Interface: {interface}, Option: {value}, Expected: [{allowed}]"
        )
    shown_value = "***" if name.endswith("wpa-psk") else value
    said = f"Interface: {interface}, Option: {name}, Value: {shown_value}, Expected: [{allowed}]"
    return UsageError(f"Invalid option -- {said}")


def routes_of(interface: str, routes: Any) -> list[Route]:
    """Declared routes; raises UsageError."""
    _checked(str(interface), "name", interface, _name)
    if not isinstance(routes, (list, tuple)):
        raise UsageError(
            f"Invalid option -- Route interface: {interface}, Option: routes, "
            "Expected: [List of routes]"
        )
    return [_route(interface, each) for each in routes]


def _route(interface: str, given: Any) -> Route:
    if not isinstance(given, Mapping) or not given.get("ipaddr"):
        raise UsageError(f"Invalid option -- Route interface: {interface}: a route has no ipaddr")

    def taken(key: str) -> str:
        return _checked(interface, f"routes: {key}", given[key], _ROUTE[key])

    target = taken("ipaddr")
    if given.get("netmask") is not None and "/" not in target:
        target += f"/{taken('netmask')}"
    return Route(
        name=taken("name") if given.get("name") else "",
        target=target,
        gateway=taken("gateway") if given.get("gateway") else "",
        metric=taken("metric") if given.get("metric") is not None else "",
    )


_ROUTE: Final[Mapping[str, Check]] = {
    "name": _text, "ipaddr": _plain, "netmask": _plain, "gateway": _plain, "metric": _integer,
}  # fmt: skip
