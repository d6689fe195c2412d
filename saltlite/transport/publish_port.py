"""The master's end of the publish port: every message goes to all who have subscribed to it.

What is published while a minion is away is lost; nothing here repeats it. Source:
docs/wire.md#the-masters-ports.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from saltlite.transport.tcp import DEFAULT_TCP, TcpOptions
from saltlite.transport.zmtp import PING, SubscriberState, encode_message
from saltlite.transport.zmtp_port import HANDSHAKE_S, PAUSE_S, ZmtpPort

log = logging.getLogger(__name__)

PEER_LIMIT_BYTES: Final = 16 * 1024 * 1024
"""Of publications that wait for one subscriber; ``pub_hwm`` bounds their number.

Source: docs/reliability.md#somebody-is-slow.
"""

SWEEPS: Final = 4
"""Into so many parts the subscribers are divided, so that not all are pinged at once."""


class _Subscriber(SubscriberState):
    """A subscriber with its connection, and what waits for it."""

    __slots__ = ("fd", "heard_s", "host", "lost", "waiting", "waiting_bytes")

    def __init__(self, fd: int, host: str, now_s: float) -> None:
        super().__init__()
        self.fd = fd
        self.host = host
        self.heard_s = now_s
        self.lost = 0
        self.waiting: deque[bytes | memoryview] | None = None
        self.waiting_bytes = 0


class PublishPort(ZmtpPort[_Subscriber]):
    """A publisher's port: listens, and sends every message to all who have subscribed to it.

    A subscriber that is ``hwm`` messages or :data:`PEER_LIMIT_BYTES` behind loses the further ones,
    as with a PUB of libzmq, and the log says so once.
    """

    kind = "subscriber"

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
        admit: Callable[[int, str], bool] = lambda _fd, _host: True,
        forget: Callable[[int], object] = lambda _fd: None,
    ) -> None:
        """Listen.

        Raises:
            OSError: the address cannot be bound.
        """
        super().__init__(
            host, port, _Subscriber, backlog=backlog, tcp=tcp, admit=admit, forget=forget
        )
        self._hwm = hwm
        self._heartbeat_ivl_s = heartbeat_ivl_s
        self._silence_s = heartbeat_ivl_s + heartbeat_timeout_s
        self._sweep = 0
        self._sweep_s = 0.0

    def keep_time(self, now_s: float) -> float:
        """Ping, and end what is silent or does not shake hands; how long until the next look."""
        self.keep_strangers(now_s)
        if self._heartbeat_ivl_s and now_s >= self._sweep_s:
            self._sweep_s = now_s + self._heartbeat_ivl_s / SWEEPS
            self._sweep = (self._sweep + 1) % SWEEPS
            self._ping_some(now_s)
        return PAUSE_S if self._accept_s else self._heartbeat_ivl_s / SWEEPS or HANDSHAKE_S

    def publish(self, *parts: bytes) -> None:
        """Send a message to all who have subscribed to what its first part begins with."""
        frames = encode_message(*parts)
        first = parts[0]
        for peer in list(self._peers.values()):
            if first.startswith(peer.topics):
                self._send(peer, frames)

    def _may_wait(self, peer: _Subscriber, size_bytes: int) -> bool:
        count = len(peer.waiting or ())
        if peer.waiting_bytes + size_bytes <= PEER_LIMIT_BYTES and not 0 < self._hwm < count:
            return True
        peer.lost += 1
        # Once, however much it loses: the log must not grow with what is published.
        if peer.lost == 1:
            log.warning(
                "A subscriber at %s reads too slowly: %d bytes wait, what is published now is lost "
                "to it",
                peer.host,
                peer.waiting_bytes,
            )
        return False

    def _note_drained(self, peer: _Subscriber) -> None:
        if peer.lost:
            log.warning("The subscriber at %s reads again; it has lost %d", peer.host, peer.lost)
            peer.lost = 0

    def _ping_some(self, now_s: float) -> None:
        for peer in list(self._peers.values()):
            if peer.fd % SWEEPS != self._sweep or not peer.is_ready:
                continue
            if now_s - peer.heard_s > self._silence_s:
                self._end(peer, "is silent")
            # Who has a message waiting would not see it sooner.
            elif peer.waiting is None:
                self._send(peer, PING)
