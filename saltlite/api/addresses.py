"""Addresses of clients: whether a list means one. Pure."""

from __future__ import annotations

import ipaddress


def covers(allowed: str, peer: str) -> bool:
    """Whether an entry of an address list means an address: ``*``, the address, or its network."""
    if allowed in ("*", peer):
        return True
    try:
        return ipaddress.ip_address(peer) in ipaddress.ip_network(allowed, strict=False)
    except ValueError:
        return False
