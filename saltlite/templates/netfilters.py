"""The filters about addresses, networks and names."""

from __future__ import annotations

import ipaddress
import logging
import secrets
from collections.abc import Callable, Mapping
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from jinja2 import pass_context
from jinja2.runtime import Context

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    Address = ipaddress.IPv4Address | ipaddress.IPv6Address
    Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface

MAX_HOSTS = 1_000_000
"""How many addresses ``network_hosts`` lists at most."""

_KINDS: Mapping[str, Callable[[Address], bool]] = {
    "global": lambda address: address.is_global,
    "link-local": lambda address: address.is_link_local,
    "loopback": lambda address: address.is_loopback,
    "multicast": lambda address: address.is_multicast,
    "private": lambda address: address.is_private,
    "public": lambda address: not address.is_private,
    "reserved": lambda address: address.is_reserved,
    "site-local": lambda address: bool(getattr(address, "is_site_local", False)),
    "unspecified": lambda address: address.is_unspecified,
}


def _fitting_interface(value: Any, version: int | None, options: str | None) -> Interface | None:
    """The address (with its network) if it is one of that version and of all these kinds."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        address = ipaddress.ip_interface(value)
    except ValueError:
        return None
    if version is not None and address.version != version:
        return None
    return address if all(_is_of(address.ip, kind) for kind in _read_kinds(options)) else None


def _read_kinds(options: str | None) -> list[str]:
    return [kind.strip() for kind in options.split(",")] if options else []


def _is_of(address: Address, kind: str) -> bool:
    check = _KINDS.get(kind)
    if check is None:
        log.error("Invalid IP address option %s", kind)
        return True
    return check(address)


def _make_test(version: int | None) -> Callable[..., bool]:
    def check(value: object, options: str | None = None) -> bool:
        return _fitting_interface(value, version, options) is not None

    return check


def _make_filter(version: int | None) -> Callable[..., Any]:
    def choose(value: object, options: str | None = None) -> Any:
        if isinstance(value, (list, tuple, GeneratorType)):
            each_once = list(value)
            return [
                each
                for kind in ((4, 6) if version is None else (version,))
                for each in each_once
                if _address_text(each, kind, options) is not None
            ]
        return _address_text(value, version, options)

    return choose


def _address_text(value: object, version: int | None, options: str | None) -> str | None:
    if not isinstance(value, str):
        return None
    address = _fitting_interface(value, version, options)
    if address is None:
        return None
    return str(address) if "/" in value else str(ipaddress.ip_address(value))


def ip_host(value: object, options: str | None = None, version: int | None = None) -> Any:
    """An address with its network; those of a list that are addresses."""
    if isinstance(value, (list, tuple, GeneratorType)):
        hosts = (ip_host(each, options, version) for each in value)
        return [found for found in hosts if found is not None]
    address = _fitting_interface(value, version, options) if isinstance(value, str) else None
    return None if address is None else str(address)


def filter_by_networks(values: Any, networks: Any) -> Any:
    """The addresses of a list (or of each list in a map) that are in one of the networks."""
    if values is None or networks is None:
        return values
    within = [ipaddress.ip_network(each) for each in networks]
    if isinstance(values, Mapping):
        return {name: filter_by_networks(each, networks) for name, each in values.items()}
    return [each for each in values if any(ipaddress.ip_address(each) in net for net in within)]


def _per_network(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """One network, or the networks of a list; ``None`` for what is none."""

    def check(value: object, options: str | None = None, version: int | None = None) -> Any:
        if isinstance(value, (list, tuple, GeneratorType)):
            found = (check(each, options, version) for each in value)
            return [each for each in found if each is not None]
        address = None if isinstance(value, int) else _fitting_interface(value, version, options)
        return None if address is None else function(address.network)

    return check


def _list_hosts(network: Any) -> list[str]:
    if network.num_addresses > MAX_HOSTS:
        raise OverflowError(f"{network} has more than {MAX_HOSTS} addresses")
    return [str(host) for host in network.hosts()]


def _count_addresses(network: Any) -> int:
    size: int = network.num_addresses
    return size


def ipwrap(value: object) -> Any:
    """Brackets around IPv6 addresses."""
    if isinstance(value, (list, tuple, GeneratorType)):
        return [ipwrap(each) for each in value]
    address = _fitting_interface(value, 6, None)
    return f"[{value}]" if address is not None and "/" not in str(value) else value


@pass_context
def gen_mac(context: Context, prefix: str = "AC:DE:48") -> str:
    """A random MAC address that begins with ``prefix``."""
    return ":".join([prefix, *(f"{byte:02X}" for byte in secrets.token_bytes(3))])


def mac_str_to_bytes(text: str) -> bytes:
    """The six bytes of a MAC address.

    Raises:
        ValueError: it is none.
    """
    digits = text.replace(text[2], "") if len(text) == 17 else text
    if len(digits) != 12:
        raise ValueError("Invalid MAC address")
    return bytes.fromhex(digits)


@pass_context
def dns_check(
    context: Context, name: str, port: int, safe: bool = False, ipv6: bool = False
) -> str:
    """The address of a name; asks the resolver.

    Raises:
        OSError: it has none.
    """
    import socket

    family = socket.AF_INET6 if ipv6 else socket.AF_UNSPEC
    try:
        found = socket.getaddrinfo(name, port, family, socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"not a name that can be looked up: {error}") from error
    first = next((each for each in found if each[0] == socket.AF_INET), found[0])
    address = str(first[4][0])
    return f"[{address}]" if ":" in address else address


NETWORK_FILTERS: Mapping[str, Callable[..., Any]] = {
    "dns_check": dns_check,
    "filter_by_networks": filter_by_networks,
    "gen_mac": gen_mac,
    "ip_host": ip_host,
    "ipaddr": _make_filter(None),
    "ipv4": _make_filter(4),
    "ipv6": _make_filter(6),
    "ipwrap": ipwrap,
    "is_ip": _make_test(None),
    "is_ipv4": _make_test(4),
    "is_ipv6": _make_test(6),
    "mac_str_to_bytes": mac_str_to_bytes,
    "network_hosts": _per_network(_list_hosts),
    "network_size": _per_network(_count_addresses),
}
