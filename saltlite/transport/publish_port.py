"""The master's end of the publish port: one loop over plain sockets for all who subscribe.

The protocol of a connection is in ``zmtp.py``; here are its bytes, its bounds and its timers. What
is published while a minion is away is lost; nothing here repeats it. Source:
docs/wire.md#the-publish-port.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from saltlite.core.readable import wait_readable
from saltlite.errors import WireError
from saltlite.transport.tcp import DEFAULT_TCP, TcpOptions
from saltlite.transport.zmtp import GREETING, PING, SubscriberState, encode_message

log = logging.getLogger(__name__)

PEER_LIMIT_BYTES: Final = 16 * 1024 * 1024
"""Of publications that wait for one subscriber; ``pub_hwm`` bounds their number.

Source: docs/reliability.md#somebody-is-slow.
"""

HANDSHAKE_S: Final = 30.0
"""Who has not shaken hands by then goes."""

BATCH: Final = 256
"""Connections that are looked at before the process looks at anything else."""

SWEEPS: Final = 4
"""Into so many parts the subscribers are divided, so that not all are pinged at once."""

_READ_BYTES = 8192
_PAUSE_S = 0.1


class _Peer(SubscriberState):
    """A subscriber with its connection, and what waits for it."""

    __slots__ = ("fd", "heard_s", "lost", "waiting", "waiting_bytes")

    def __init__(self, fd: int, now_s: float) -> None:
        super().__init__()
        self.fd = fd
        self.heard_s = now_s
        self.lost = 0
        self.waiting: deque[bytes | memoryview] | None = None
        self.waiting_bytes = 0


class PublishPort:
    """A publisher's port: listens, and sends every message to all who have subscribed to it.

    One loop over plain sockets, for :meth:`fileno` says when to call :meth:`take_events`; nothing
    here waits. A subscriber that is ``hwm`` messages or :data:`PEER_LIMIT_BYTES` behind loses the
    further ones, as with a PUB of libzmq, and the log says so once. ``admit`` is asked whether a
    new descriptor may stay, and ``forget`` hears of each admitted one that has ended.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        hwm: int = 1000,
        backlog: int = 1000,
        heartbeat_ivl_s: float = 10.0,
        heartbeat_timeout_s: float = 30.0,
        tcp: TcpOptions = DEFAULT_TCP,
        admit: Callable[[int], bool] = lambda _fd: True,
        forget: Callable[[int], object] = lambda _fd: None,
    ) -> None:
        """Listen.

        Raises:
            OSError: the address cannot be bound.
        """
        self._hwm = hwm
        self._heartbeat_ivl_s = heartbeat_ivl_s
        self._silence_s = heartbeat_ivl_s + heartbeat_timeout_s
        self._admit = admit
        self._forget = forget
        self._peers: dict[int, _Peer] = {}
        self._strangers: dict[int, float] = {}
        self._sweep = 0
        self._sweep_s = 0.0
        self._accept_s = 0.0
        self._listener = _listen(host, port, backlog, tcp)
        self._listener_fd = self._listener.fileno()
        self._epoll = select.epoll()
        self._epoll.register(self._listener_fd, select.EPOLLIN)

    def __len__(self) -> int:
        """How many have shaken hands."""
        return len(self._peers) - len(self._strangers)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._listener.getsockname()[1])

    def fileno(self) -> int:
        """A descriptor that is readable when there is something to take."""
        return self._epoll.fileno()

    def take_events(self, now_s: float) -> None:
        """Accept, read and write what can be without waiting. ``now_s`` is of a steady clock."""
        for fd, events in self._epoll.poll(0, BATCH):
            if fd == self._listener_fd:
                self._accept_all(now_s)
                continue
            peer = self._peers.get(fd)
            if peer is not None and events & select.EPOLLOUT:
                self._send_waiting(peer)
            # Sending may have ended it, and its number may be that of another one by now.
            if events & ~select.EPOLLOUT and self._peers.get(fd) is peer is not None:
                self._read(peer, now_s)

    def keep_time(self, now_s: float) -> float:
        """Ping, and end what is silent or does not shake hands; how long until the next look."""
        for fd, since_s in list(self._strangers.items()):
            if now_s - since_s < HANDSHAKE_S:
                break  # the others came later
            self._end(self._peers[fd], "has not shaken hands")
        if self._accept_s and now_s >= self._accept_s:
            self._accept_s = 0.0
            self._epoll.register(self._listener_fd, select.EPOLLIN)
        if self._heartbeat_ivl_s and now_s >= self._sweep_s:
            self._sweep_s = now_s + self._heartbeat_ivl_s / SWEEPS
            self._sweep = (self._sweep + 1) % SWEEPS
            self._ping_some(now_s)
        return _PAUSE_S if self._accept_s else self._heartbeat_ivl_s / SWEEPS or HANDSHAKE_S

    def publish(self, *parts: bytes) -> None:
        """Send a message to all who have subscribed to what its first part begins with."""
        frames = encode_message(*parts)
        first = parts[0]
        for peer in list(self._peers.values()):
            if first.startswith(peer.topics):
                self._send(peer, frames)

    def flush(self, timeout_s: float) -> None:
        """Wait until everybody has what was published, no longer than ``timeout_s``."""
        until_s = time.monotonic() + timeout_s
        while any(peer.waiting for peer in self._peers.values()):
            now_s = time.monotonic()
            if now_s >= until_s:
                return
            wait_readable(self._epoll, until_s - now_s)
            self.take_events(now_s)

    def close(self) -> None:
        """End all connections and the port."""
        for peer in list(self._peers.values()):
            self._end(peer, "")
        self._epoll.close()
        self._listener.close()

    # --- one connection ------------------------------------------------------------------

    def _accept_all(self, now_s: float) -> None:
        for _ in range(BATCH):
            try:
                connection, _address = self._listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:  # it has gone before it was taken
                continue
            except OSError as error:
                # No descriptors or memory: the port would be readable all the time.
                log.warning("No connection is accepted for a moment: %s", error.strerror)
                self._epoll.unregister(self._listener_fd)
                self._accept_s = now_s + _PAUSE_S
                return
            connection.setblocking(False)
            self._take_connection(connection.detach(), now_s)

    def _take_connection(self, fd: int, now_s: float) -> None:
        if not self._admit(fd):
            os.close(fd)
            return
        peer = self._peers[fd] = _Peer(fd, now_s)
        self._strangers[fd] = now_s
        self._epoll.register(fd, select.EPOLLIN)
        self._send(peer, GREETING)

    def _read(self, peer: _Peer, now_s: float) -> None:
        try:
            data = os.read(peer.fd, _READ_BYTES)
            if not data:
                self._end(peer, "has gone")
                return
            answer = peer.take(data)
        except BlockingIOError:
            return
        except (OSError, WireError) as error:
            self._end(peer, str(error))
            return
        peer.heard_s = now_s
        if peer.is_ready:
            self._strangers.pop(peer.fd, None)
        if answer:
            self._send(peer, answer)

    def _send(self, peer: _Peer, data: bytes) -> None:
        """Send, or let wait what cannot be sent now; beyond the bounds it is lost."""
        if peer.waiting is None:
            sent = self._write(peer, data)
            if 0 <= sent < len(data):
                self._epoll.modify(peer.fd, select.EPOLLIN | select.EPOLLOUT)
                # However large it is: a message that has begun cannot be left out any more.
                peer.waiting = deque([memoryview(data)[sent:]])
                peer.waiting_bytes = len(data) - sent
        elif self._is_full(len(peer.waiting), peer.waiting_bytes + len(data)):
            self._lose(peer)
        else:
            peer.waiting.append(data)
            peer.waiting_bytes += len(data)

    def _is_full(self, count: int, size_bytes: int) -> bool:
        return size_bytes > PEER_LIMIT_BYTES or 0 < self._hwm < count

    def _lose(self, peer: _Peer) -> None:
        peer.lost += 1
        # Once, however much it loses: the log must not grow with what is published.
        if peer.lost == 1:
            log.warning(
                "A subscriber at %s reads too slowly: %d bytes wait, what is published now is lost "
                "to it",
                _address_of(peer.fd),
                peer.waiting_bytes,
            )

    def _send_waiting(self, peer: _Peer) -> None:
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
        if peer.lost:
            log.warning(
                "The subscriber at %s reads again; it has lost %d", _address_of(peer.fd), peer.lost
            )
            peer.lost = 0
        self._epoll.modify(peer.fd, select.EPOLLIN)

    def _write(self, peer: _Peer, data: bytes | memoryview) -> int:
        """How many bytes were taken; -1 if the connection has ended, and is no more."""
        try:
            return os.write(peer.fd, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            self._end(peer, str(error))
            return -1

    def _ping_some(self, now_s: float) -> None:
        for peer in list(self._peers.values()):
            if peer.fd % SWEEPS != self._sweep or not peer.is_ready:
                continue
            if now_s - peer.heard_s > self._silence_s:
                self._end(peer, "is silent")
            # Who has a message waiting would not see it sooner.
            elif peer.waiting is None:
                self._send(peer, PING)

    def _end(self, peer: _Peer, why: str) -> None:
        if why:
            log.debug("A subscriber at %s ends: %s", _address_of(peer.fd), why)
        del self._peers[peer.fd]
        self._strangers.pop(peer.fd, None)
        # Closed first: the descriptor may be another connection's as soon as it is forgotten.
        os.close(peer.fd)
        self._forget(peer.fd)


def _listen(host: str, port: int, backlog: int, tcp: TcpOptions) -> socket.socket:
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


def _address_of(fd: int) -> str:
    """For the log."""
    one = socket.socket(fileno=fd)
    try:
        return str(one.getpeername()[0])
    except OSError:
        return "an address that has gone"
    finally:
        one.detach()
