"""A port that speaks ZMTP without libzmq: one loop over plain sockets for all who connect.

What a connection says is in ``zmtp.py``, what a port is for in ``publish_port.py`` and
``request_port.py``; here are bytes, bounds and timers. Source: docs/wire.md#the-masters-ports.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from saltlite.core.readable import wait_readable
from saltlite.errors import WireError
from saltlite.transport.tcp import TcpOptions
from saltlite.transport.zmtp import GREETING

log = logging.getLogger(__name__)

HANDSHAKE_S: Final = 30.0
"""Who has not shaken hands by then goes."""

BATCH: Final = 256
"""Connections that are looked at before the process looks at anything else."""

READ_AT_ONCE: Final = 8
"""Of these so many; those that have not had their turn come first the next time."""

READ_S: Final = 0.01
"""Nor longer than this: what one connection sends may take a while to be looked through."""

PAUSE_S: Final = 0.1
"""So long nothing is accepted after there was no descriptor for it."""


class PortPeer(Protocol):
    """A connection: its protocol, its descriptor, and what waits to be sent to it."""

    fd: int
    host: str
    heard_s: float
    waiting: deque[bytes | memoryview] | None
    waiting_bytes: int
    is_ready: bool

    def take(self, data: bytes) -> bytes:
        """Go on with what has come in; what is to be sent in answer. May raise ``WireError``."""


P = TypeVar("P", bound=PortPeer)


class ZmtpPort(Generic[P]):
    """Listens, shakes hands, reads and writes; nothing here waits.

    :meth:`fileno` says when to call :meth:`take_events`. ``admit`` is asked whether a new
    descriptor, of a peer at this address, may stay; ``forget`` hears of each admitted one that has
    ended.
    """

    kind = "peer"
    read_bytes = 8192

    def __init__(
        self,
        host: str,
        port: int,
        make_peer: Callable[[int, str, float], P],
        *,
        backlog: int,
        tcp: TcpOptions,
        admit: Callable[[int, str], bool],
        forget: Callable[[int], object],
    ) -> None:
        """Listen.

        Raises:
            OSError: the address cannot be bound.
        """
        self._make_peer = make_peer
        self._admit = admit
        self._forget = forget
        self._peers: dict[int, P] = {}
        self._strangers: dict[int, float] = {}
        self._accept_s = 0.0
        self._listener = listen(host, port, backlog, tcp)
        self._listener_fd = self._listener.fileno()
        # Two, so that nothing need be read while there is no room, and is written all the same.
        self._reading, self._writing, self._both = select.epoll(), select.epoll(), select.epoll()
        self._reading.register(self._listener_fd, select.EPOLLIN)
        for one in (self._reading, self._writing):
            self._both.register(one.fileno(), select.EPOLLIN)

    def __len__(self) -> int:
        """How many have shaken hands."""
        return len(self._peers) - len(self._strangers)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._listener.getsockname()[1])

    def fileno(self) -> int:
        """A descriptor that is readable when there is something to take."""
        return self._both.fileno()

    def take_events(self, now_s: float) -> None:
        """Accept, read and write what can be without waiting. ``now_s`` is of a steady clock."""
        for which, _events in self._both.poll(0):
            if which == self._writing.fileno():
                self._write_some()
            else:
                self._read_some(now_s)

    def _write_some(self) -> None:
        for fd, _events in self._writing.poll(0, BATCH):
            peer = self._peers.get(fd)
            if peer is not None:
                self._send_waiting(peer)

    def _read_some(self, now_s: float) -> None:
        until_s = time.monotonic() + READ_S
        for _ in range(BATCH // READ_AT_ONCE):
            ready = self._reading.poll(0, READ_AT_ONCE)
            for fd, _events in ready:
                if fd == self._listener_fd:
                    self._accept_all(now_s)
                elif (peer := self._peers.get(fd)) is not None:
                    self._read(peer, now_s)
            if len(ready) < READ_AT_ONCE or time.monotonic() > until_s:
                return

    def keep_strangers(self, now_s: float) -> None:
        """End who does not shake hands; accept again after a pause."""
        for fd, since_s in list(self._strangers.items()):
            if now_s - since_s < HANDSHAKE_S:
                break  # the others came later
            self._end(self._peers[fd], "has not shaken hands")
        if self._accept_s and now_s >= self._accept_s:
            self._accept_s = 0.0
            self._reading.register(self._listener_fd, select.EPOLLIN)

    def flush(self, timeout_s: float) -> None:
        """Wait until everybody has what was sent, no longer than ``timeout_s``."""
        until_s = time.monotonic() + timeout_s
        while any(peer.waiting for peer in self._peers.values()):
            now_s = time.monotonic()
            if now_s >= until_s:
                return
            wait_readable(self._writing, until_s - now_s)
            self._write_some()

    def close(self) -> None:
        """End all connections and the port."""
        for peer in list(self._peers.values()):
            self._end(peer, "")
        for one in (self._both, self._reading, self._writing):
            one.close()
        self._listener.close()

    # --- what a port adds ----------------------------------------------------------------

    def _note_read(self, peer: P) -> None:
        """Something has come in from a peer."""

    def _may_wait(self, peer: P, size_bytes: int) -> bool:
        """Whether so much more may wait for a peer; else it is lost."""
        return True

    def _note_drained(self, peer: P) -> None:
        """All that waited for a peer is sent."""

    def _note_end(self, peer: P) -> None:
        """A connection has ended."""

    # --- one connection ------------------------------------------------------------------

    def _accept_all(self, now_s: float) -> None:
        for _ in range(BATCH):
            try:
                connection, address = self._listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:  # it has gone before it was taken
                continue
            except OSError as error:
                # No descriptors or memory: the port would be readable all the time.
                log.warning("No connection is accepted for a moment: %s", error.strerror)
                self._reading.unregister(self._listener_fd)
                self._accept_s = now_s + PAUSE_S
                return
            connection.setblocking(False)
            self._take_connection(connection.detach(), str(address[0]), now_s)

    def _take_connection(self, fd: int, host: str, now_s: float) -> None:
        if not self._admit(fd, host):
            os.close(fd)
            return
        peer = self._peers[fd] = self._make_peer(fd, host, now_s)
        self._strangers[fd] = now_s
        self._reading.register(fd, select.EPOLLIN)
        self._send(peer, GREETING)

    def _read(self, peer: P, now_s: float) -> None:
        try:
            data = os.read(peer.fd, self.read_bytes)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(peer, str(error))
            return
        if not data:
            self._end(peer, "has gone")
            return
        peer.heard_s = now_s
        self._go_on(peer, data)

    def _go_on(self, peer: P, data: bytes) -> None:
        """What a peer says: ``data`` is what has come in, and may be nothing."""
        try:
            answer = peer.take(data)
        except WireError as error:
            self._end(peer, str(error))
            return
        if peer.is_ready:
            self._strangers.pop(peer.fd, None)
        if answer:
            self._send(peer, answer)
        self._note_read(peer)

    def _send(self, peer: P, data: bytes) -> None:
        """Send, or let wait what cannot be sent now."""
        if peer.waiting is None:
            sent = self._write(peer, data)
            if 0 <= sent < len(data):
                self._writing.register(peer.fd, select.EPOLLOUT)
                # However large it is: a message that has begun cannot be left out any more.
                peer.waiting = deque([memoryview(data)[sent:]])
                peer.waiting_bytes = len(data) - sent
        elif self._may_wait(peer, len(data)):
            peer.waiting.append(data)
            peer.waiting_bytes += len(data)

    def _send_waiting(self, peer: P) -> None:
        while peer.waiting:
            data = peer.waiting[0]
            sent = self._write(peer, data)
            if sent < 0:
                return
            peer.waiting_bytes -= sent
            if sent < len(data):
                peer.waiting[0] = memoryview(data)[sent:]
                return
            peer.waiting.popleft()
        peer.waiting = None
        self._writing.unregister(peer.fd)
        self._note_drained(peer)

    def _write(self, peer: P, data: bytes | memoryview) -> int:
        """How many bytes were taken; -1 if the connection has ended, and is no more."""
        try:
            return os.write(peer.fd, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            self._end(peer, str(error))
            return -1

    def _end(self, peer: P, why: str) -> None:
        if why:
            log.debug("A %s at %s ends: %s", self.kind, peer.host, why)
        del self._peers[peer.fd]
        self._strangers.pop(peer.fd, None)
        self._note_end(peer)
        # Closed first: the descriptor may be another connection's as soon as it is forgotten.
        os.close(peer.fd)
        self._forget(peer.fd)


def listen(host: str, port: int, backlog: int, tcp: TcpOptions) -> socket.socket:
    """A socket that listens; what it accepts has its options."""
    kind = socket.SOCK_STREAM | socket.SOCK_NONBLOCK
    # As bytes: for a text Python would load all that it has for international names.
    found = socket.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)
    family, *_, address = found[0]
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        tcp.apply_to_plain(listener)
        listener.bind(address)
        # After a restart of the master all minions come back at once.
        listener.listen(backlog)
    except BaseException:
        listener.close()
        raise
    return listener
