"""``salt.utils.network``: addresses, and the interfaces as the minion's grains tell of them."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from typing import Any

from saltlite.config.identity import full_name
from saltlite.loader.surroundings import CURRENT


def is_ip(ip_addr: object) -> bool:
    """Whether it is an IP address."""
    return is_ipv4(ip_addr) or is_ipv6(ip_addr)


def is_ipv4(ip_addr: object) -> bool:
    """Whether it is an IPv4 address."""
    return _is_kind(ipaddress.IPv4Address, ip_addr)


def is_ipv6(ip_addr: object) -> bool:
    """Whether it is an IPv6 address."""
    return _is_kind(ipaddress.IPv6Address, str(ip_addr).partition("%")[0])


is_ip_filter, is_ipv4_filter, is_ipv6_filter = is_ip, is_ipv4, is_ipv6


def is_subnet(cidr: object) -> bool:
    """Whether it is a network: ``10.0.0.0/8``."""
    return is_ipv4_subnet(cidr) or is_ipv6_subnet(cidr)


def is_ipv4_subnet(cidr: object) -> bool:
    """Whether it is an IPv4 network."""
    return "/" in str(cidr) and _is_kind(ipaddress.IPv4Network, cidr)


def is_ipv6_subnet(cidr: object) -> bool:
    """Whether it is an IPv6 network."""
    return "/" in str(cidr) and _is_kind(ipaddress.IPv6Network, cidr)


def _is_kind(kind: type, value: object) -> bool:
    try:
        kind(value)
    except (ValueError, TypeError):
        return False
    return True


def sanitize_host(host: str, underscore_ok: bool = False) -> str:
    """The name of a host without what cannot be in one."""
    return re.sub(r"[^A-Za-z0-9._-]", "", host)


def get_fqhostname() -> str | None:
    """The full name of this machine."""
    return full_name() or None


def get_hostname() -> str:
    """The name of this machine."""
    return socket.gethostname()


def host_to_ips(host: str) -> list[str] | None:
    """The addresses of a host, ``None`` if its name is not known."""
    try:
        found = socket.getaddrinfo(host, 0, socket.AF_UNSPEC, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found)) or None


def ip_bracket(addr: object, strip: bool = False) -> str:
    """An IPv6 address in brackets, as URLs have it; IPv4 as it is."""
    bare = str(addr).strip("[]")
    return f"[{bare}]" if is_ipv6(bare) and not strip else bare


def parse_host_port(host_port: str) -> tuple[str, int | None]:
    """Host and port of ``host:port``; the port may be missing.

    Raises:
        ValueError: it is neither.
    """
    text = host_port.strip()
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, int(rest[1:]) if rest.startswith(":") else None
    if text.count(":") != 1:
        return text, None
    host, _, port = text.partition(":")
    return host, int(port)


def calc_net(ip_addr: str, netmask: str | None = None) -> str:
    """The network of an address: ``10.0.0.5/24`` → ``10.0.0.0/24``."""
    text = ip_addr if netmask is None else f"{ip_addr}/{netmask}"
    return str(ipaddress.ip_network(text, strict=False))


def cidr_to_ipv4_netmask(cidr_bits: Any) -> str:
    """``24`` → ``255.255.255.0``; ``""`` if it is no such number."""
    try:
        return str(ipaddress.IPv4Network(f"0.0.0.0/{int(cidr_bits)}").netmask)
    except ValueError:
        return ""


def get_net_size(mask: str) -> int | None:
    """``255.255.255.0`` → 24."""
    bits = "".join(f"{int(octet):08b}" for octet in mask.split("."))
    return len(bits.rstrip("0"))


def in_subnet(cidr: str, addr: Any = None) -> bool:
    """Whether an address, or one of this machine's, is in a network."""
    try:
        network = ipaddress.ip_network(cidr)
    except ValueError:
        return False
    wanted = [addr] if isinstance(addr, str) else addr or [*ip_addrs(), *ip_addrs6()]
    return any(ipaddress.ip_address(each) in network for each in wanted)


def is_reachable_host(entity_name: str) -> bool:
    """Whether a host's name is known."""
    return host_to_ips(entity_name) is not None


def is_loopback(ip_addr: str) -> bool:
    """Whether it is an address of this machine alone."""
    return ipaddress.ip_address(ip_addr).is_loopback


def mac_str_to_bytes(mac_str: str) -> bytes:
    """The address of a network card as bytes.

    Raises:
        ValueError: it is none.
    """
    digits = re.sub(r"[-:]", "", mac_str)
    if len(digits) != 12:
        raise ValueError("Invalid MAC address")
    return bytes.fromhex(digits)


def interfaces() -> dict[str, Any]:
    """Name → ``up``, ``hwaddr``, ``inet``, ``inet6`` of each interface."""
    found: dict[str, Any] = _find_function("network.interfaces") or {}
    return found


def ip_addrs(interface: str | None = None, include_loopback: bool = False, **kwargs: Any) -> Any:
    """The IPv4 addresses of this machine, sorted."""
    grains = _read_grain("ip4_interfaces") or {}
    return _list_addresses(grains, interface, include_loopback)


def ip_addrs6(interface: str | None = None, include_loopback: bool = False, **kwargs: Any) -> Any:
    """The IPv6 addresses of this machine, sorted."""
    grains = _read_grain("ip6_interfaces") or {}
    return _list_addresses(grains, interface, include_loopback)


def hw_addr(iface: str) -> str:
    """The address of a network card, ``""`` without it."""
    return str((_read_grain("hwaddr_interfaces") or {}).get(iface, ""))


hwaddr = hw_addr


def interface_ip(iface: str) -> str:
    """The first IPv4 address of an interface, ``""`` without one."""
    return next(iter((_read_grain("ip4_interfaces") or {}).get(iface, [])), "")


def generate_minion_id() -> str:
    """A name for this machine."""
    return get_fqhostname() or "localhost"


def _list_addresses(by_interface: Any, interface: str | None, loopback: bool) -> list[str]:
    chosen: Iterable[Any] = (
        by_interface.values() if interface is None else [by_interface.get(interface, [])]
    )
    found = {address for addresses in chosen for address in addresses}
    return sorted(each for each in found if loopback or not ipaddress.ip_address(each).is_loopback)


def _read_grain(name: str) -> Any:
    around = CURRENT.get(None)
    return None if around is None else around.grains.get(name)


def _find_function(name: str) -> Any:
    around = CURRENT.get(None)
    return around.salt[name]() if around is not None and name in around.salt else None
