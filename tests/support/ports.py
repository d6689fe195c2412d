"""Ports for servers of tests that nobody else takes before the server is there."""

from __future__ import annotations

import contextlib
import random
import socket
from pathlib import Path

LOWEST = 10_000
RANGE_OF_CONNECTIONS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now; all different.

    None is of those that the kernel gives to connections: such a port may be gone before the server
    starts, and who connects to it meanwhile may be connected to himself.
    """
    first = int(RANGE_OF_CONNECTIONS.read_text().split()[0])
    ports = random.SystemRandom().sample(range(LOWEST, first), first - LOWEST)
    with contextlib.ExitStack() as stack:
        found: list[int] = []
        for port in ports:
            if len(found) == count:
                return found
            one = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))
                found.append(port)
    raise AssertionError("there are no free ports")


def free_port() -> int:
    """One such port."""
    return free_ports(1)[0]
