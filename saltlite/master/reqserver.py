"""ReqServer: port 4506, and a DEALER of its own for every worker. It looks into no frame.

Requests wait in one bounded line and go only to a worker that is free: one at a time as long as
none has to wait, else several together, so that a thousand returns cost little. What is handed over
carries a number that the worker's REP socket hands back, so that replies always find their callers.
The worker that was free last is the next one: its data is at hand still, and those who are never
needed stay small. No more of them are woken than can run at once.
A worker hands back what it will only do alone, and what takes long when it may not: such requests
have a line of their own, and one worker is always kept from them. When a worker's connection ends
with requests in hand, their callers are told at once. While the line is full nothing more is read:
TCP then slows the callers down. One request of a connection is under way at a time
(``transport/request_port.py``), and no address can use up the descriptors (``connections.py``).
Source: docs/wire.md#sockets; docs/reliability.md#processes-die, #somebody-is-slow; zguide, "Load
Balancing Pattern".
"""

from __future__ import annotations

import contextlib
import logging
import os
import struct
import time
from collections import deque
from collections.abc import Sequence
from typing import Final

import zmq

from saltlite import disk
from saltlite.config.master import NetworkOptions
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.rare_lines import RareLine
from saltlite.errors import StoreError
from saltlite.master.child import EXIT_CANNOT_START, Life
from saltlite.master.connections import Connections, available_descriptors
from saltlite.master.deferred_replies import AGAIN, LATE, Owed
from saltlite.master.lanes import ANY, ASK_ALONE, ASK_SLOW, QUICK, pack_turn, slow_at_once
from saltlite.transport.addresses import MasterSockets, ipc
from saltlite.transport.codec import pack
from saltlite.transport.monitor import recv_monitor_event
from saltlite.transport.request_port import RequestPort
from saltlite.transport.tcp import SERVER_TCP

log = logging.getLogger(__name__)

LINE_LIMIT: Final = 2000
LINE_LIMIT_BYTES: Final = 128 * 1024 * 1024
"""Requests that wait for a worker; beyond either bound the port is not read."""

SLOW_LIMIT: Final = 10_000
SLOW_LIMIT_BYTES: Final = 256 * 1024 * 1024
"""Slow requests that wait; beyond either bound their callers are told at once, and ask again."""

JOINED_MOST: Final = 4
"""Callers that hear the reply to one slow request: a minion that grew tired sends it again."""

TOGETHER: Final = 64
TOGETHER_LIMIT_BYTES: Final = 64 * 1024
"""Requests that a worker is handed at once while more wait than there are workers."""

AT_WORK_S: Final = 0.02
"""So long after a worker was handed requests it is taken to need a processor; later it waits for
something else, and another worker may have the processor.
"""

LINGER_S: Final = 1.0
"""Replies of just before the end have a second to leave."""

LINGER_MS: Final = round(LINGER_S * 1000)
DRAIN_S: Final = 10.0
BATCH: Final = 64
"""Messages taken from one socket before the others are looked at."""

PORT_DESCRIPTORS: Final = 8
"""What the way to one worker costs: its sockets, their monitors and connections."""

WORKER_LOST: Final = pack("Some exception handling minion payload")
BAD_LOAD: Final = pack("bad load")

_NUMBER = struct.Struct("<Q")


@dataclass(slots=True)
class RequestFrame:
    """A request frame, and whom the reply goes to. ``alone``: not together with others.

    ``slow``: a worker said that it takes long. ``joined`` have sent the same frame since then.
    ``came_s`` is when it was read, by the monotonic clock.
    """

    identity: bytes
    body: bytes
    alone: bool = False
    slow: bool = False
    joined: list[bytes] = field(default_factory=list)
    came_s: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Port:
    """The way to one worker. ``in_hand`` are the requests it was given, under one ``number``.

    ``may_be_slow`` says whether it has leave to take long over them, ``handed_s`` since when it has
    them.
    ``peers`` are the connections to its socket: the worker's, and perhaps one of somebody who has
    no business here. ``connected`` is true once one of them is a peer that takes requests.
    """

    name: str
    socket: zmq.Socket[bytes]
    monitor: zmq.Socket[bytes]
    peers: set[int] = field(default_factory=set)
    connected: bool = False
    in_hand: Sequence[RequestFrame] = ()
    number: int = 0
    may_be_slow: bool = False
    handed_s: float = 0.0


class ReqServer:
    """The process behind port 4506. ``run`` is its whole life.

    ``processors`` is how many there are for the workers, in number ``workers``, to run on.
    """

    def __init__(
        self, network: NetworkOptions, sockets: MasterSockets, workers: int, *, processors: int
    ) -> None:
        self._network = network
        self._sockets = sockets
        self._workers = workers
        self._waiting: deque[RequestFrame] = deque()
        self._waiting_bytes = 0
        self._slow: deque[RequestFrame] = deque()
        self._slow_bytes = 0
        self._free: list[Port] = []
        self._at_once = min(workers, max(2, processors))
        self._waits_for_processor = False
        self._full_line = RareLine()
        self._last_number = 0
        self._owed = Owed()

    def run(self, life: Life) -> None:
        """Open the sockets, serve until told to stop, then finish what is in hand."""
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._poller = zmq.Poller()
        try:
            self._connections = Connections(
                available_descriptors() - PORT_DESCRIPTORS * self._workers
            )
            self._port = self._open_request_port()
            self._ports = [self._open_port(context, number) for number in range(self._workers)]
            self._late = self._bind_late(context)
            self._link_to_workers()
        except (OSError, zmq.ZMQError, StoreError) as error:
            log.error("ReqServer cannot listen: %s", error)
            raise SystemExit(EXIT_CANNOT_START) from error
        self._by_socket = {port.socket: port for port in self._ports}
        self._by_monitor = {port.monitor: port for port in self._ports}
        self._poller.register(self._port.fileno(), zmq.POLLIN)
        life.register(self._poller)
        life.ready()
        try:
            while not life.stopping:
                self._read_if_room()
                self._turn(life, 5.0)
            self._drain(life)
            self._port.flush(LINGER_S)
        finally:
            self._port.close()
            context.destroy(linger=LINGER_MS)

    # --- sockets -------------------------------------------------------------------------

    def _open_request_port(self) -> RequestPort:
        return RequestPort(
            self._network.interface.strip("[]"),
            self._network.ret_port,
            # After a restart all minions knock within a second; others come later.
            backlog=self._network.zmq_backlog,
            tcp=SERVER_TCP,
            # An address may have so many connections only, and all of them are counted.
            admit=self._connections.admit,
            forget=self._connections.forget,
        )

    def _bind_late(self, context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
        """Where replies come that a worker has only promised."""
        late = context.socket(zmq.PULL)
        late.setsockopt(zmq.LINGER, 0)
        late.bind(ipc(self._sockets.late))
        os.chmod(self._sockets.late, 0o600)
        self._poller.register(late, zmq.POLLIN)
        return late

    def _open_port(self, context: zmq.Context[zmq.Socket[bytes]], number: int) -> Port:
        dealer = context.socket(zmq.DEALER)
        dealer.setsockopt(zmq.LINGER, LINGER_MS)
        # ACCEPTED alone shows no worker: who connects and says nothing is handed no request.
        monitor = dealer.get_monitor_socket(
            zmq.EVENT_ACCEPTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
        )
        path = self._sockets.workers(number)
        dealer.bind(ipc(path))
        os.chmod(path, 0o600)
        self._poller.register(dealer, zmq.POLLIN)
        self._poller.register(monitor, zmq.POLLIN)
        return Port(f"MWorker-{number}", dealer, monitor)

    def _link_to_workers(self) -> None:
        """Show real salt-api that a master runs: it looks for this file, and never connects to it.

        Raises:
            StoreError: the link cannot be made.
        """
        link = self._sockets.workers_link
        disk.remove(link)
        try:
            link.symlink_to(self._sockets.workers(0).name)
        except OSError as error:
            raise StoreError(f"cannot make {link}: {error.strerror}") from error

    # --- the loop ------------------------------------------------------------------------

    def _turn(self, life: Life, timeout_s: float) -> None:
        if self._waits_for_processor:
            timeout_s = min(timeout_s, AT_WORK_S)
        timeout_s = min(timeout_s, self._port.keep_time(time.monotonic()))
        if self._port.has_requests:
            timeout_s = 0.0
        for socket, _events in life.poll(self._poller, timeout_s):
            if socket == self._port.fileno():
                self._port.take_events(time.monotonic())
            elif socket in self._by_socket:
                self._take_reply(self._by_socket[socket])
            elif socket in self._by_monitor:
                self._note_connection(self._by_monitor[socket])
            elif socket is self._late:
                self._take_late_replies()
        for identity in self._owed.take_given_up(time.monotonic()):
            self._answer(identity, WORKER_LOST)
        # Also what replies of this turn have made room for.
        for identity, frames in self._port.take_requests(BATCH):
            self._take_request(identity, frames)
        self._hand_out()
        self._connections.release_memory(time.monotonic())

    def _read_if_room(self) -> None:
        """Listen to the port only while there is room in the line."""
        # Unread bytes stay with TCP, whose bounds slow the callers down.
        room = len(self._waiting) < LINE_LIMIT and self._waiting_bytes < LINE_LIMIT_BYTES
        if room != self._port.is_paused:
            return
        now_s = time.monotonic()
        self._port.pause(not room, now_s)
        if room:
            return
        # Under load the line is full again after each turn of a worker.
        more = self._full_line.count(now_s)
        if more is not None:
            waiting = len(self._waiting)
            log.warning("%d requests wait for a worker; reading no more%s", waiting, more)

    def _take_request(self, identity: bytes, frames: Sequence[bytes]) -> None:
        if len(frames) == 2 and not frames[0]:
            self._queue(RequestFrame(identity, frames[1]))
        else:  # not ``[empty][body]``, and no worker could say more
            self._answer(identity, BAD_LOAD)

    def _queue(self, request: RequestFrame) -> None:
        self._waiting.append(request)
        self._waiting_bytes += len(request.body)

    def _hand_out(self) -> None:
        """Give what waits to the workers that are free, no more of them than can run at once."""
        self._waits_for_processor = False
        while self._free and (self._waiting or self._slow):
            # More would take turns: each would do less at a time, and push the others' data out of
            # the processor's memory.
            if self._count_at_work() >= self._at_once:
                self._waits_for_processor = True
                return
            at_it = sum(bool(port.in_hand) and port.may_be_slow for port in self._ports)
            leave = at_it < slow_at_once(self._workers)
            # First, and the others still get through: one worker of several has no leave.
            if self._slow and leave:
                requests = [self._slow.popleft()]
                self._slow_bytes -= len(requests[0].body)
            elif self._waiting:
                requests = self._next_requests()
            else:
                return
            # One that is slow would keep the others of its group waiting.
            leave = leave and len(requests) == 1
            # Who worked last has what it needs at hand still.
            self._hand_over(self._free.pop(), requests, may_be_slow=leave)

    def _count_at_work(self) -> int:
        """How many workers have requests and are likely to need a processor for them now."""
        since_s = time.monotonic() - AT_WORK_S
        return sum(bool(port.in_hand) and port.handed_s > since_s for port in self._ports)

    def _next_requests(self) -> list[RequestFrame]:
        """The next request, and with it what may go together and is one worker's share."""
        requests = [self._waiting.popleft()]
        # An even share, so that other workers are not idle while one has all.
        share = min(TOGETHER, 1 + len(self._waiting) // self._at_once)
        size = len(requests[0].body)
        while len(requests) < share and not requests[0].alone:
            size += len(self._waiting[0].body)
            if self._waiting[0].alone or size > TOGETHER_LIMIT_BYTES:
                break
            requests.append(self._waiting.popleft())
        self._waiting_bytes -= sum(len(one.body) for one in requests)
        return requests

    def _hand_over(
        self, port: Port, requests: Sequence[RequestFrame], *, may_be_slow: bool
    ) -> None:
        self._last_number += 1
        # A REP socket hands back, in front of its reply, what came before the empty frame.
        turn = pack_turn(ANY if may_be_slow else QUICK, [one.came_s for one in requests])
        head = (_NUMBER.pack(self._last_number), b"", turn)
        try:
            port.socket.send_multipart((*head, *(one.body for one in requests)), zmq.NOBLOCK)
        except zmq.Again:  # its connection has just ended; the monitor will say so
            port.connected = False
            self._put_back(requests)
            return
        port.in_hand, port.number, port.may_be_slow = requests, self._last_number, may_be_slow
        port.handed_s = time.monotonic()

    def _put_back(self, requests: Sequence[RequestFrame]) -> None:
        """To the front of their line, in their order."""
        for request in reversed(requests):
            if request.slow:
                self._slow.appendleft(request)
                self._slow_bytes += len(request.body)
            else:
                self._waiting.appendleft(request)
                self._waiting_bytes += len(request.body)

    def _let_wait(self, request: RequestFrame) -> None:
        """Into the line of slow ones, or together with the same request of before."""
        at_it = (one for port in self._ports if port.may_be_slow for one in port.in_hand)
        # The same bytes have the same nonce, so the one reply opens for all who sent them.
        for other in (*self._slow, *at_it):
            if other.body == request.body and len(other.joined) < JOINED_MOST - 1:
                other.joined.append(request.identity)
                return
        if len(self._slow) >= SLOW_LIMIT or self._slow_bytes >= SLOW_LIMIT_BYTES:
            self._answer(request.identity, WORKER_LOST)
            return
        self._slow.append(
            RequestFrame(request.identity, request.body, slow=True, came_s=request.came_s)
        )
        self._slow_bytes += len(request.body)

    def _take_reply(self, port: Port) -> None:
        try:
            frames = port.socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:  # half a message was there, and its sender has gone
            return
        requests, replies = port.in_hand, frames[2:]
        if not requests or len(replies) != len(requests) or frames[0] != _NUMBER.pack(port.number):
            return  # an answer to requests whose callers were told already
        port.in_hand = ()
        if port.connected:
            self._free.append(port)
        handed_back: list[RequestFrame] = []
        for request, reply in zip(requests, replies, strict=True):
            # From one that has it alone, or has leave, it would go round without end.
            if reply == ASK_ALONE and not request.alone:
                again = RequestFrame(
                    request.identity, request.body, alone=True, came_s=request.came_s
                )
                handed_back.append(again)
            elif reply == ASK_SLOW and not port.may_be_slow:
                self._let_wait(request)
            elif reply.startswith(LATE):
                self._promise(request.identity, reply)
            else:
                self._reply(request, reply)
        self._put_back(handed_back)
        self._hand_out()

    def _promise(self, identity: bytes, frame: bytes) -> None:
        reply = self._owed.promise(frame, identity, time.monotonic())
        if reply is not None:
            self._settle(identity, reply)

    def _take_late_replies(self) -> None:
        with contextlib.suppress(zmq.Again):
            for _ in range(BATCH):
                frames = self._late.recv_multipart(zmq.NOBLOCK)
                identity = self._owed.take_waiter(*frames) if len(frames) == 2 else None
                if identity is not None:
                    self._settle(identity, frames[1])

    def _settle(self, identity: bytes, reply: bytes) -> None:
        """Send a late reply, or ask again for its caller what has taken another form meanwhile."""
        if reply.startswith(AGAIN):
            self._queue(RequestFrame(identity, reply.removeprefix(AGAIN)))
        else:
            self._answer(identity, reply)

    def _note_connection(self, port: Port) -> None:
        """A peer came or went. When one of two goes, the other is handed work again."""
        event, peer = recv_monitor_event(port.monitor)
        if event == zmq.EVENT_ACCEPTED:
            port.peers.add(peer)
        elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            port.connected = True
        else:
            port.peers.discard(peer)
            port.connected = port.connected and bool(port.peers)
            self._give_up_request(port)
        # With requests in hand it is free when the reply has come.
        if port.connected and not port.in_hand and port not in self._free:
            self._free.append(port)
        self._hand_out()

    def _give_up_request(self, port: Port) -> None:
        """Whoever had requests in hand may be gone: the callers are told, and may ask again."""
        if port in self._free:
            self._free.remove(port)
        requests, port.in_hand = port.in_hand, ()
        if requests:
            log.warning(
                "%s ended with %d request(s) in hand; their callers are told",
                port.name,
                len(requests),
            )
        for request in requests:
            self._reply(request, WORKER_LOST)

    def _reply(self, request: RequestFrame, body: bytes) -> None:
        for identity in (request.identity, *request.joined):
            self._answer(identity, body)

    def _answer(self, identity: bytes, body: bytes) -> None:
        """Send the one reply to a request; a caller that is gone loses it, and nobody waits."""
        if not self._port.reply(identity, b"", body):
            log.debug("A reply of %d bytes is lost: its caller is gone", len(body))

    def _drain(self, life: Life) -> None:
        """Take nothing new; wait for the replies to what is with the workers or in the line."""
        self._port.pause(True, time.monotonic())
        until_s = time.monotonic() + DRAIN_S
        while self._has_work() and time.monotonic() < until_s:
            self._turn(life, 0.5)

    def _has_work(self) -> bool:
        """Whether there is anything left that somebody does, or will do."""
        # A line without any worker is not waited for.
        line = (self._waiting or self._slow) and any(port.connected for port in self._ports)
        return bool(line) or any(port.in_hand for port in self._ports)
