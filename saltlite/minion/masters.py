"""Which masters a minion has, and where. Pure but for :func:`resolve`, which asks the resolver."""

from __future__ import annotations

import contextlib
import socket
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from saltlite.config.minion import NetworkOptions
from saltlite.core.dataclasses import dataclass
from saltlite.core.numbers import is_digits
from saltlite.errors import ConfigError
from saltlite.transport.tcp import TcpOptions

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop  # salt-call has none, and must not load it


@dataclass(frozen=True, slots=True)
class MasterAddress:
    """A master as the user wrote it. ``host`` is a name or an address without brackets."""

    host: str
    port: int

    @property
    def name(self) -> str:
        """How this master is called in logs and in the spool."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def tcp_options(network: NetworkOptions) -> TcpOptions:
    """How sockets to a master are kept alive."""
    return TcpOptions(
        ipv6=bool(network.ipv6),
        keepalive=network.tcp_keepalive,
        keepalive_idle_s=network.tcp_keepalive_idle,
        keepalive_cnt=network.tcp_keepalive_cnt,
        keepalive_intvl_s=network.tcp_keepalive_intvl,
    )


def masters_of(network: NetworkOptions) -> list[MasterAddress]:
    """The configured masters, in the user's order.

    Raises:
        ConfigError: there is none, or one is not a name, address or ``host:port``.
    """
    written = [network.master] if isinstance(network.master, str) else list(network.master)
    found = [parse_master(text, network) for text in written]
    if not found:
        raise ConfigError("names no master", option="master")
    # A master that is written twice has one link.
    return list(dict.fromkeys(found))


def parse_master(text: str, network: NetworkOptions) -> MasterAddress:
    """One entry of ``master``: ``host``, ``host:port``, ``[v6]``, ``[v6]:port`` or a bare v6.

    Raises:
        ConfigError: it is none of them.
    """
    host, port = _split_port(str(text).strip())
    if not host or any(character.isspace() for character in host):
        raise ConfigError(f"{text!r} is not a name, an address or host:port", option="master")
    if not port or network.master_uri_format == "ip_only":
        return MasterAddress(host, network.master_port)
    if not is_digits(port) or not 0 < int(port) < 65536:
        raise ConfigError(f"{text!r} has no port number after the colon", option="master")
    return MasterAddress(host, int(port))


def _split_port(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, rest.removeprefix(":")
    # IPv6 without brackets: its colons begin no port.
    if text.count(":") > 1:
        return text, ""
    host, _, port = text.partition(":")
    return host, port


FAILING_OVER: Final = ("failover", "distributed")
"""Types with one master at a time."""


def in_turn(
    masters: Sequence[MasterAddress],
    network: NetworkOptions,
    chance: Callable[[], float],
    minion_id: str = "",
) -> list[MasterAddress]:
    """The order in which a failing-over minion tries them: as written, or shuffled.

    ``distributed`` begins with the one that the minion's id chooses. What is begun with is not
    shuffled, nor is it with ``master_failback``: it is where to go back to. Source: Salt 3006
    ``minion.py``, ``eval_master``.
    """
    order = list(masters)
    is_distributed = network.master_type == "distributed"
    if is_distributed:
        chosen = order.pop(zlib.crc32(minion_id.encode()) % len(order))
        order.insert(0, chosen)
    if network.master_shuffle or network.random_master:
        kept = 1 if is_distributed or network.master_failback else 0
        order[kept:] = sorted(order[kept:], key=lambda _master: chance())
    return order


async def resolve(
    master: MasterAddress, loop: AbstractEventLoop, *, ipv6_first: bool = False
) -> list[str]:
    """All addresses of a master, the preferred family first.

    Raises:
        OSError: the name does not resolve.
    """
    if is_address(master.host):
        return [master.host]
    try:
        answers = await loop.getaddrinfo(master.host, master.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # more than 63 characters between two dots
        raise OSError(f"not a name that can be looked up: {error}") from error
    addresses = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
    return sorted(addresses, key=lambda address: (":" in address) is not ipv6_first)


def is_address(host: str) -> bool:
    """Whether a text is an IPv4 or IPv6 address."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):
            return bool(socket.inet_pton(family, host))
    return False
