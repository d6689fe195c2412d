"""The master's end of the request port: requests come in, each reply goes to who has asked.

A connection has one request under way. What it sends before the reply stays unread, in the end in
its own TCP buffers, and so does everything while it does not read its replies: however many
requests it sends, each gets one reply, in their order, and it keeps no more than one worker.
Source: docs/wire.md#the-masters-ports; docs/security.md#limits.
"""

from __future__ import annotations

import logging
import select
import struct
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Final

from saltlite.core.rare_lines import RareLine
from saltlite.transport.tcp import DEFAULT_TCP, TcpOptions, origin_of
from saltlite.transport.zmtp import CallerState, encode_message
from saltlite.transport.zmtp_port import HANDSHAKE_S, PAUSE_S, ZmtpPort

log = logging.getLogger(__name__)

HELD_LIMIT_BYTES: Final = 256 * 1024 * 1024
"""Of requests of all callers that have not come whole, or wait for their turn."""

HELD_AFTER_BYTES: Final = HELD_LIMIT_BYTES // 4 * 3
"""What is left when the limit was reached, so that it is not soon reached again."""

COME_LIMIT_BYTES: Final = 16 * 1024 * 1024
"""Of requests that nobody has taken; beyond it nothing more is read."""

_IDENTITY: Final = struct.Struct("<Q")


class _Caller(CallerState):
    """A caller with its connection, and what waits for it."""

    __slots__ = ("counted_bytes", "fd", "heard_s", "host", "identity", "is_read", "is_under_way",
                 "waiting", "waiting_bytes")  # fmt: skip

    def __init__(self, fd: int, host: str, now_s: float) -> None:
        super().__init__()
        self.fd = fd
        self.host = host
        self.heard_s = now_s
        self.identity = b""
        self.is_under_way = False
        """Whether a request of it has no reply yet."""
        self.is_read = True
        """Whether what it sends is read."""
        self.counted_bytes = 0
        self.waiting: deque[bytes | memoryview] | None = None
        self.waiting_bytes = 0


class RequestPort(ZmtpPort[_Caller]):
    """A port that answers: :meth:`take_requests` has what has come, each gets a :meth:`reply`.

    The identity of a connection is of this process alone, and no other connection ever has it.
    """

    kind = "caller"
    read_bytes = 65536

    def __init__(
        self,
        host: str,
        port: int,
        *,
        backlog: int = 1000,
        tcp: TcpOptions = DEFAULT_TCP,
        admit: Callable[[int, str], bool] = lambda _fd, _host: True,
        forget: Callable[[int], object] = lambda _fd: None,
    ) -> None:
        """Listen.

        Raises:
            OSError: the address cannot be bound.
        """
        super().__init__(host, port, _Caller, backlog=backlog, tcp=tcp, admit=admit, forget=forget)
        self._number = 0
        self._by_identity: dict[bytes, _Caller] = {}
        self._come: deque[tuple[bytes, list[bytes]]] = deque()
        self._come_bytes = 0
        self.is_paused = False
        """Whether nothing is read."""
        self._held_bytes = 0
        self._greedy_line = RareLine()

    @property
    def has_requests(self) -> bool:
        """Whether :meth:`take_requests` has something."""
        return bool(self._come)

    def take_requests(self, most: int) -> Iterator[tuple[bytes, list[bytes]]]:
        """What has come, the oldest first: the identity of its connection, and the frames."""
        # Who is replied to at once may have the next one there, and so on: not all in one turn.
        for _ in range(min(most, len(self._come))):
            identity, frames = self._come.popleft()
            self._come_bytes -= _count_bytes(frames)
            yield identity, frames

    def pause(self, is_paused: bool, now_s: float) -> None:
        """Read nothing, or read again; replies are sent all the same."""
        if is_paused == self.is_paused:
            return
        self.is_paused = is_paused
        if is_paused:
            self._both.unregister(self._reading.fileno())
        else:
            self._both.register(self._reading.fileno(), select.EPOLLIN)
            # Nobody could shake hands meanwhile.
            self._strangers = dict.fromkeys(self._strangers, now_s)

    def reply(self, identity: bytes, *frames: bytes) -> bool:
        """Send the reply to what has come of ``identity``; ``False`` if its caller is gone."""
        peer = self._by_identity.get(identity)
        if peer is None:
            return False
        peer.is_under_way = False
        self._send(peer, encode_message(*frames))
        self._hand_on(peer)
        return True

    def keep_time(self, now_s: float) -> float:
        """End who does not shake hands; how long until the next look."""
        if not self.is_paused:
            self.keep_strangers(now_s)
        return PAUSE_S if self._accept_s else HANDSHAKE_S

    def _read_some(self, now_s: float) -> None:
        # In number these are not more than there are connections.
        if self._come_bytes <= COME_LIMIT_BYTES:
            super()._read_some(now_s)

    def _note_read(self, peer: _Caller) -> None:
        self._hand_on(peer)

    def _note_drained(self, peer: _Caller) -> None:
        self._hand_on(peer)

    def _note_end(self, peer: _Caller) -> None:
        self._held_bytes -= peer.counted_bytes
        self._by_identity.pop(peer.identity, None)

    def _hand_on(self, peer: _Caller) -> None:
        """Hand on the next request if it is its turn, and read on if there is room for one."""
        if self._peers.get(peer.fd) is not peer:  # what was sent has ended it
            return
        if peer.has_message and not peer.is_under_way and peer.waiting is None:
            if not peer.identity:
                self._number += 1
                peer.identity = _IDENTITY.pack(self._number)
                self._by_identity[peer.identity] = peer
            peer.is_under_way = True
            message = peer.take_message()
            self._come.append((peer.identity, message))
            self._come_bytes += _count_bytes(message)
            if peer.held_bytes:
                self._go_on(peer, b"")  # and comes here again
                return
        self._count_held(peer)
        wanted = peer.waiting is None and not peer.has_message
        if peer.is_read != wanted and self._peers.get(peer.fd) is peer:
            peer.is_read = wanted
            if wanted:
                self._reading.register(peer.fd, select.EPOLLIN)
            else:
                self._reading.unregister(peer.fd)

    def _count_held(self, peer: _Caller) -> None:
        """What is held for a caller; if that is too much of all, who holds most goes."""
        self._held_bytes += peer.held_bytes - peer.counted_bytes
        peer.counted_bytes = peer.held_bytes
        if self._held_bytes > HELD_LIMIT_BYTES:
            self._end_greedy()

    def _end_greedy(self) -> None:
        """End the largest of the addresses that hold most, each counted with all its connections.

        So nobody can have the callers of other addresses sent away.
        """
        more = self._greedy_line.count(time.monotonic())
        if more is not None:
            log.warning(
                "%d bytes of requests wait of callers; who holds most goes, until %d are left%s",
                self._held_bytes,
                HELD_AFTER_BYTES,
                more,
            )
        by_origin: defaultdict[str, list[_Caller]] = defaultdict(list)
        for peer in self._peers.values():
            by_origin[origin_of(peer.host)].append(peer)
        for callers in sorted(by_origin.values(), key=_sum_counted, reverse=True):
            for peer in sorted(callers, key=lambda one: one.counted_bytes, reverse=True):
                if self._held_bytes <= HELD_AFTER_BYTES:
                    return
                self._end(peer, "holds most")


def _count_bytes(frames: list[bytes]) -> int:
    return sum(map(len, frames))


def _sum_counted(callers: list[_Caller]) -> int:
    return sum(one.counted_bytes for one in callers)
