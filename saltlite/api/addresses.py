"""Addresses of clients: whether a list means one, and who counts as the same client. Pure."""

from __future__ import annotations

import ipaddress
from typing import Final

CLIENT_PREFIX_V6: Final = 64
"""Of an IPv6 address: whoever has one address of such a network has all of them."""


def covers(allowed: str, peer: str) -> bool:
    """Whether an entry of an address list means an address: ``*``, the address, or its network."""
    if allowed in ("*", peer):
        return True
    try:
        return ipaddress.ip_address(peer) in ipaddress.ip_network(allowed, strict=False)
    except ValueError:
        return False


def client_key(peer: str) -> str:
    """What all addresses of one client have in common: the address, or the network of IPv6."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return peer
    if isinstance(address, ipaddress.IPv4Address):
        return peer
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address.packed, CLIENT_PREFIX_V6), strict=False))
