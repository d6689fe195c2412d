"""``salt.utils.validate.net``."""

from __future__ import annotations

import ipaddress
import re


def mac(addr: str) -> bool:
    """Whether it is the address of a network card."""
    return re.fullmatch(r"(?i)[0-9a-f]{2}([-:])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}", addr) is not None


def ipv4_addr(addr: str) -> bool:
    """Whether it is an IPv4 address, perhaps with ``/24``."""
    return _is_kind(ipaddress.IPv4Interface, addr)


def ipv6_addr(addr: str) -> bool:
    """Whether it is an IPv6 address, perhaps with ``/64``."""
    return _is_kind(ipaddress.IPv6Interface, addr)


def ip_addr(addr: str) -> bool:
    """Whether it is an IP address, perhaps with ``/24``."""
    return ipv4_addr(addr) or ipv6_addr(addr)


def netmask(mask: object) -> bool:
    """Whether it is the mask of an IPv4 network: ``255.255.255.0``."""
    if not isinstance(mask, str) or not re.fullmatch(r"\d+\.\d+\.\d+\.\d+", mask):
        return False
    return _is_kind(ipaddress.IPv4Network, f"0.0.0.0/{mask}")


def _is_kind(kind: type, text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True
