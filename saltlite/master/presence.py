"""Which minions are connected: from the kernel's list of connections to the publish port.

A connection has an address, not an id; the grains that are cached say which minions have the
address. Several minions behind one address all count, as with Salt. Source: docs/wire.md#events;
docs/command-line.md.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from saltlite.master.minioncache import GRAINS

if TYPE_CHECKING:
    from saltlite.master.stores import FactReader

_ESTABLISHED: Final = "01"
_LISTENING: Final = "0A"


class LocalPresence:
    """Who is connected to ``port`` of this machine."""

    def __init__(self, port: int, facts: FactReader) -> None:
        self._port = port
        self._facts = facts

    def find_connected(self, minion_ids: Iterable[str]) -> dict[str, str]:
        """Those of ``minion_ids`` that seem to be, each with an address it is connected from.

        A minion that has never sent its grains is never among them.
        """
        peers = list_peers(self._port)
        if not peers:
            return {}
        shared = ((one, peers & _addresses_of(one, self._facts)) for one in minion_ids)
        # Any would do; this is the same one each time.
        return {one: min(addresses) for one, addresses in shared if addresses}


def list_peers(port: int) -> set[str]:
    """The addresses that are connected to ``port``; a loopback one stands for all loopback ones.

    Empty where ``/proc`` does not tell.
    """
    found = {
        _read_address(remote.rpartition(":")[0], family)
        for family, remote, state in _read_connections(port)
        if state == _ESTABLISHED
    }
    if any(ipaddress.ip_address(one).is_loopback for one in found):
        found |= {"127.0.0.1", "::1"}
    return found


def connections_to(port: int) -> frozenset[str] | None:
    """The far ends of all connections to ``port``, each with its own port, as the kernel has them.

    ``None`` where nobody listens on ``port`` here, or ``/proc`` does not tell.
    """
    found: set[str] = set()
    is_heard = False
    for _family, remote, state in _read_connections(port):
        is_heard |= state == _LISTENING
        if state == _ESTABLISHED:
            found.add(remote)
    return frozenset(found) if is_heard else None


def _read_connections(port: int) -> Iterator[tuple[socket.AddressFamily, str, str]]:
    """Family, far end and state of each connection to ``port``, also those that have ended lately.

    Line by line: a busy machine has fifty thousand, which as texts are ten megabytes. Source:
    proc(5).
    """
    ending = f":{port:04X}"
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        with contextlib.suppress(OSError), open(f"/proc/net/{name}", encoding="ascii") as lines:
            for line in lines:
                if ending not in line:  # most are about something else
                    continue
                _number, local, remote, state = line.split(None, 4)[:4]
                if local.endswith(ending):
                    yield family, remote, state


def _read_address(text: str, family: socket.AddressFamily) -> str:
    """An address as the kernel prints it: words of four bytes, each in the machine's order."""
    words = bytes.fromhex(text)
    in_order = b"".join(words[i : i + 4][::-1] for i in range(0, len(words), 4))
    address = ipaddress.ip_address(socket.inet_ntop(family, in_order))
    # An IPv4 peer of an IPv6 socket; among the grains it is a plain address.
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _addresses_of(minion_id: str, facts: FactReader) -> set[str]:
    grains = facts.read(GRAINS, minion_id) or {}
    found: set[str] = set()
    for name in ("ipv4", "ipv6"):
        listed = grains.get(name)
        if isinstance(listed, (list, tuple)):
            found |= {str(one) for one in listed}
    return found
