"""Options every TCP socket of saltlite gets, named as in Salt's configuration."""

from __future__ import annotations

import socket
from typing import Any, Final

import zmq

from saltlite.core.dataclasses import dataclass

MAX_MESSAGE_BYTES: Final = 100 * 1024 * 1024
"""A larger message makes the transport drop the connection. Source: docs/security.md#limits."""


def origin_of(host: str) -> str:
    """By whom an address is counted: itself, of IPv6 its network of 64 bits, as one host may have.

    An IPv4 peer of a socket that listens for both counts by its whole address, and what is no
    address as it is.
    """
    if ":" not in host:
        return host
    if host.startswith("::ffff:") and "." in host:
        return host.removeprefix("::ffff:")
    # inet_pton does not take the zone of a link-local address (fe80::1%eth0).
    try:
        network = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])[:8]
    except (OSError, ValueError):
        return host
    return socket.inet_ntop(socket.AF_INET6, network + bytes(8)) + "/64"


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpOptions:
    """Keepalive and address family. ``-1`` leaves a value to the operating system.

    Source: docs/wire.md#sockets.
    """

    ipv6: bool = False
    keepalive: bool = True
    keepalive_idle_s: int = 300
    keepalive_cnt: int = -1
    keepalive_intvl_s: int = -1

    def apply(self, peer: zmq.Socket[Any], address: str = "") -> None:
        """Set the options; must happen before ``bind`` or ``connect``.

        IPv6 is switched on also where ``address`` has the brackets of an IPv6 address.
        """
        if self.ipv6 or "[" in address:
            peer.setsockopt(zmq.IPV6, 1)
        peer.setsockopt(zmq.TCP_KEEPALIVE, int(self.keepalive))
        peer.setsockopt(zmq.TCP_KEEPALIVE_IDLE, self.keepalive_idle_s)
        peer.setsockopt(zmq.TCP_KEEPALIVE_CNT, self.keepalive_cnt)
        peer.setsockopt(zmq.TCP_KEEPALIVE_INTVL, self.keepalive_intvl_s)

    def apply_to_plain(self, one: socket.socket) -> None:
        """Set the options of a socket that is not ZeroMQ's."""
        one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, int(self.keepalive))
        for option, value in (
            (socket.TCP_KEEPIDLE, self.keepalive_idle_s),
            (socket.TCP_KEEPCNT, self.keepalive_cnt),
            (socket.TCP_KEEPINTVL, self.keepalive_intvl_s),
        ):
            # ZeroMQ takes 0 for the system's own value as well.
            if value > 0:
                one.setsockopt(socket.IPPROTO_TCP, option, value)


DEFAULT_TCP: Final = TcpOptions()

SERVER_TCP: Final = TcpOptions(keepalive_idle_s=60, keepalive_intvl_s=15, keepalive_cnt=3)
"""What a master's request port uses, whatever is configured. Source: docs/wire.md#sockets.

A dead peer is noticed by the kernel: 60 s of silence, then three probes 15 s apart.
"""
