"""The connections of a port, counted by address, so that nobody can use up the descriptors.

ZeroMQ accepts whoever comes, and spins when there are no descriptors left. So its monitor tells of
each connection, and one that is too many is shut down at once; ZeroMQ then closes it as if its peer
had. An address may have as many connections as three times those that are still free: one alone
gets three quarters, several get more together, and something is always left for others.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import socket
import time
from collections import Counter
from collections.abc import Iterator
from typing import Final

import zmq

from saltlite import process
from saltlite.transport.monitor import recv_monitor_event

log = logging.getLogger(__name__)

SPARE_DESCRIPTORS: Final = 64
LEAST: Final = 16
FREE_TIMES: Final = 3
RELEASE_AFTER: Final = 200
RELEASE_S: Final = 10.0
"""After so many connections have ended memory is given back: each has held a good deal."""

BETWEEN_LINES_S: Final = 10.0
BATCH: Final = 256
"""Events taken before the process looks at anything else."""

Peer = tuple[str, int]
EVENTS: Final = zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED


def available_descriptors() -> int:
    """How many connections this process can have, beside what it has open now."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # RLIM_INFINITY is -1, and would count as no descriptors at all.
    if soft == resource.RLIM_INFINITY:
        return 1 << 30
    return max(LEAST, soft - len(os.listdir("/proc/self/fd")) - SPARE_DESCRIPTORS)


class Connections:
    """The connections of one socket. ``most`` is how many there may be."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._peers: dict[int, Peer] = {}
        self._by_origin: Counter[str] = Counter()
        self._refused = 0
        self._next_line_s = 0.0
        self._gone = 0
        self._release_s = 0.0
        self.admitted = 0
        """How many there have been so far."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self._peers)

    def take_events(self, monitor: zmq.Socket[bytes]) -> None:
        """Count what has come and gone, and refuse what is too much."""
        with contextlib.suppress(zmq.Again):
            for _ in range(BATCH):
                event, fd = recv_monitor_event(monitor)
                if event == zmq.EVENT_ACCEPTED:
                    self.admit(fd)
                else:
                    self.forget(fd)

    def release_memory(self, now_s: float) -> None:
        """Give back what connections held that have ended; not while more and more of them end."""
        if self._gone < RELEASE_AFTER:
            return
        if not self._release_s:
            self._release_s = now_s + RELEASE_S
        elif now_s >= self._release_s:
            self._gone, self._release_s = 0, 0.0
            process.release_memory()

    def admit(self, fd: int) -> bool:
        """Count a new connection; ``False`` if it has gone, or is too much and was shut down."""
        self._forget_connection(fd)  # one that ended without an event; its descriptor is used again
        peer = peer_of(fd)
        if peer is None:  # it has gone already
            return False
        if self._has_room_for(peer[0]):
            self._peers[fd] = peer
            self._by_origin[peer[0]] += 1
            self.admitted += 1
            return True
        # Not counted: its disconnect event will find nothing to subtract.
        if shut_down(fd, peer):
            self._warn_of_excess(peer[0])
        return False

    def forget(self, fd: int) -> None:
        """A connection has ended; nothing happens if it was not counted."""
        self._gone += self._forget_connection(fd)

    def _has_room_for(self, origin: str) -> bool:
        free = self._most - len(self._peers)
        return self._by_origin[origin] < FREE_TIMES * free

    def _forget_connection(self, fd: int) -> bool:
        peer = self._peers.pop(fd, None)
        if peer is None:
            return False
        self._by_origin[peer[0]] -= 1
        if not self._by_origin[peer[0]]:
            del self._by_origin[peer[0]]
        return True

    def _warn_of_excess(self, origin: str) -> None:
        """Say so, not too often; and look for connections that ended without an event."""
        self._refused += 1
        if time.monotonic() < self._next_line_s:
            return
        log.warning(
            "Refused %d connection(s), the last one from %s, which has %d of %d; %d are allowed",
            self._refused,
            origin,
            self._by_origin[origin],
            len(self._peers),
            self._most,
        )
        self._refused = 0
        self._next_line_s = time.monotonic() + BETWEEN_LINES_S
        # Only now and then, since it costs a system call for each connection.
        for fd, peer in list(self._peers.items()):
            if peer_of(fd) != peer:
                self._forget_connection(fd)


def peer_of(fd: int) -> Peer | None:
    """Who is at the other end of a TCP connection: origin and port; ``None`` if there is none.

    The origin is the address, of IPv6 the network of 64 bits: that is what one host may have.
    """
    with _borrow_socket(fd) as one:
        if one is None or one.family not in (socket.AF_INET, socket.AF_INET6):
            return None
        try:
            address = one.getpeername()
        except OSError:
            return None
    host, port = str(address[0]), int(address[1])
    # IPv4 peers of a socket that listens for both count by their whole address.
    if one.family == socket.AF_INET or host.startswith("::ffff:"):
        return host.removeprefix("::ffff:"), port
    # inet_pton does not take the zone of a link-local address (fe80::1%eth0).
    network = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])[:8]
    return socket.inet_ntop(socket.AF_INET6, network + bytes(8)) + "/64", port


def shut_down(fd: int, peer: Peer) -> bool:
    """End a connection that is ZeroMQ's; ``False`` if the descriptor is another one's by now."""
    # ZeroMQ may have closed it meanwhile, and the number be that of another connection.
    if peer_of(fd) != peer:
        return False
    with _borrow_socket(fd) as one, contextlib.suppress(OSError):
        if one is not None:
            one.shutdown(socket.SHUT_RDWR)
    return True


@contextlib.contextmanager
def _borrow_socket(fd: int) -> Iterator[socket.socket | None]:
    """Someone else's descriptor as a socket; it is not closed. ``None`` if it is no socket."""
    try:
        one = socket.socket(fileno=fd)
    except OSError:
        yield None
        return
    try:
        yield one
    finally:
        one.detach()
