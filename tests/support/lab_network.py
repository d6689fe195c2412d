"""The network of the fault lab's cluster: addresses of loopback, a packet filter, HAProxy.

Each way that may be cut has an address of its own, at which the same server listens: what goes to
an address or comes from it is dropped by the kernel, as on a way that has gone. Nobody is told, no
connection ends. It works in a network namespace of its own only.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

BALANCER: Final = "127.0.9.1"
PUBLISH_PORT: Final = 4505
RET_PORT: Final = 4506

_HAPROXY: Final = """
global
    maxconn 9000
defaults
    mode tcp
    timeout connect 2s
    timeout client 1h
    timeout server 1h
    balance leastconn
    default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
"""


def node_address(number: int) -> str:
    """Where minions and the load balancer find a node."""
    return f"127.0.3.{number}"


def engine_address(number: int, *, of_standby: bool = False) -> str:
    """Where node ``number`` finds PostgreSQL, or its standby."""
    return f"127.0.{4 if of_standby else 2}.{number}"


def has_packet_filter() -> bool:
    """Whether packets can be dropped here."""
    with contextlib.suppress(OSError):
        probe = ["iptables", "-w", "-S", "INPUT"]
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return False


def cut(*addresses: str) -> None:
    """From now on nothing goes to these addresses, or comes from them."""
    _change_filter("-A", addresses)


def mend(*addresses: str) -> None:
    """As it was before :func:`cut`."""
    _change_filter("-D", addresses)


def _change_filter(change: str, addresses: tuple[str, ...]) -> None:
    for address in addresses:
        for way in ("-s", "-d"):
            command = ["iptables", "-w", change, "INPUT", way, address, "-j", "DROP"]
            subprocess.run(command, check=True, capture_output=True)


@contextlib.contextmanager
def balance(path: Path, ports: Mapping[str, tuple[int, int]]) -> Iterator[None]:
    """HAProxy before nodes, whose addresses and ports are given; its file is ``path``."""
    parts = [_HAPROXY]
    for name, listen, which in (("publish", PUBLISH_PORT, 0), ("requests", RET_PORT, 1)):
        parts.append(f"listen {name}\n    bind {BALANCER}:{listen}")
        parts += [
            f"    server {address} {address}:{one[which]} check" for address, one in ports.items()
        ]
    path.write_text("\n".join(parts) + "\n")
    process = subprocess.Popen(["haproxy", "-db", "-q", "-f", str(path)])
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)
