"""ReqServer: ROUTER on 4506, and a DEALER of its own for every worker. It looks into no frame.

Requests wait in one bounded line and go only to a worker that is free. Each carries a number that
the worker's REP socket hands back, so that a reply always finds its caller. When a worker's
connection ends with a request in hand, its caller is told at once. While the line is full nothing
more is read: ZeroMQ's own bounds and TCP then slow the callers down. Source: protocol.md 3.1;
reliability.md 2.1, 2.2; zguide, "Load Balancing Pattern".
"""

from __future__ import annotations

import logging
import os
import struct
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final

import zmq
from zmq.utils.monitor import recv_monitor_message

from saltlite.config.master import NetworkOptions
from saltlite.errors import StoreError
from saltlite.master.child import EXIT_CANNOT_START, Life
from saltlite.transport.addresses import MasterSockets, ipc, tcp
from saltlite.transport.codec import pack

log = logging.getLogger(__name__)

LINE_LIMIT: Final = 2000
LINE_LIMIT_BYTES: Final = 128 * 1024 * 1024
"""Requests that wait for a worker; beyond either bound the port is not read."""

REQUEST_LIMIT_BYTES: Final = 100 * 1024 * 1024
"""A larger message costs its sender the connection. Source: security.md 3.2."""

LINGER_MS: Final = 1000
DRAIN_S: Final = 10.0
BATCH: Final = 64
"""Messages taken from one socket before the others are looked at."""

WORKER_LOST: Final = pack("Some exception handling minion payload")

_NUMBER = struct.Struct("<Q")


@dataclass(slots=True)
class Caller:
    """Whom a reply goes to, and the number of the request."""

    identity: bytes
    number: int


@dataclass(slots=True)
class Port:
    """The way to one worker. ``caller`` is whose request it has in hand.

    ``peers`` are the connections to its socket: the worker's, and perhaps one of somebody who has
    no business here. ``connected`` is true once one of them is a peer that takes requests.
    """

    name: str
    socket: zmq.Socket[bytes]
    monitor: zmq.Socket[bytes]
    peers: set[int] = field(default_factory=set)
    connected: bool = False
    caller: Caller | None = None


class ReqServer:
    """The process behind port 4506. ``run`` is its whole life."""

    def __init__(self, network: NetworkOptions, sockets: MasterSockets, workers: int) -> None:
        self._network = network
        self._sockets = sockets
        self._workers = workers
        self._waiting: deque[tuple[bytes, bytes]] = deque()
        self._waiting_bytes = 0
        self._free: deque[Port] = deque()
        self._last_number = 0

    def run(self, life: Life) -> None:
        """Open the sockets, serve until told to stop, then finish what is in hand."""
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._poller = zmq.Poller()
        try:
            self._router = self._bind_router(context)
            self._ports = [self._open_port(context, number) for number in range(self._workers)]
        except (zmq.ZMQError, StoreError) as error:
            log.error("ReqServer cannot listen: %s", error)
            raise SystemExit(EXIT_CANNOT_START) from error
        self._by_socket = {port.socket: port for port in self._ports}
        self._by_monitor = {port.monitor: port for port in self._ports}
        self._reading = False
        life.register(self._poller)
        life.ready()
        try:
            while not life.stopping:
                self._read_if_room()
                self._turn(life, 5.0)
            self._drain(life)
        finally:
            context.destroy(linger=LINGER_MS)

    # --- sockets -------------------------------------------------------------------------

    def _bind_router(self, context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
        router = context.socket(zmq.ROUTER)
        router.setsockopt(zmq.ROUTER_HANDOVER, 1)
        router.setsockopt(zmq.LINGER, LINGER_MS)
        router.setsockopt(zmq.BACKLOG, self._network.zmq_backlog)
        router.setsockopt(zmq.MAXMSGSIZE, REQUEST_LIMIT_BYTES)
        # A dead peer is noticed by the kernel: 60 s of silence, then three probes 15 s apart.
        router.setsockopt(zmq.TCP_KEEPALIVE, 1)
        router.setsockopt(zmq.TCP_KEEPALIVE_IDLE, 60)
        router.setsockopt(zmq.TCP_KEEPALIVE_CNT, 3)
        router.setsockopt(zmq.TCP_KEEPALIVE_INTVL, 15)
        if self._network.ipv6 or ":" in self._network.interface:
            router.setsockopt(zmq.IPV6, 1)
        router.bind(tcp(self._network.interface, self._network.ret_port))
        return router

    def _open_port(self, context: zmq.Context[zmq.Socket[bytes]], number: int) -> Port:
        dealer = context.socket(zmq.DEALER)
        dealer.setsockopt(zmq.LINGER, LINGER_MS)
        monitor = dealer.get_monitor_socket(
            zmq.EVENT_ACCEPTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
        )
        path = self._sockets.workers(number)
        dealer.bind(ipc(path))
        os.chmod(path, 0o600)
        self._poller.register(dealer, zmq.POLLIN)
        self._poller.register(monitor, zmq.POLLIN)
        return Port(f"MWorker-{number}", dealer, monitor)

    # --- the loop ------------------------------------------------------------------------

    def _turn(self, life: Life, timeout_s: float) -> None:
        for socket, _events in life.poll(self._poller, timeout_s):
            if socket is self._router:
                self._take_requests()
            elif socket in self._by_socket:
                self._take_reply(self._by_socket[socket])
            elif socket in self._by_monitor:
                self._note_connection(self._by_monitor[socket])

    def _read_if_room(self) -> None:
        """Listen to the port only while there is room in the line."""
        room = len(self._waiting) < LINE_LIMIT and self._waiting_bytes < LINE_LIMIT_BYTES
        if room == self._reading:
            return
        self._reading = room
        if room:
            self._poller.register(self._router, zmq.POLLIN)
        else:
            log.warning("%d requests wait for a worker; reading no more", len(self._waiting))
            self._poller.unregister(self._router)

    def _take_requests(self) -> None:
        for _ in range(BATCH):
            try:
                frames = self._router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            if len(frames) != 3 or frames[1]:
                self._reply_to_odd(frames)
                continue
            if self._free:
                self._hand_over(frames[0], frames[2])
            else:
                self._waiting.append((frames[0], frames[2]))
                self._waiting_bytes += len(frames[2])

    def _reply_to_odd(self, frames: list[bytes]) -> None:
        """Not ``[identity][empty][body]``: one reply if it can be addressed."""
        if len(frames) >= 2 and not frames[1]:
            self._send(frames[0], pack("bad load"))

    def _hand_over(self, identity: bytes, body: bytes) -> None:
        """Give a request to a free worker; there is one."""
        port = self._free.popleft()
        self._last_number += 1
        try:
            port.socket.send_multipart((_NUMBER.pack(self._last_number), b"", body), zmq.NOBLOCK)
        except zmq.Again:  # its connection has just ended; the monitor will say so
            port.connected = False
            self._waiting.appendleft((identity, body))
            self._waiting_bytes += len(body)
            return
        port.caller = Caller(identity, self._last_number)

    def _take_reply(self, port: Port) -> None:
        frames = port.socket.recv_multipart(zmq.NOBLOCK)
        caller = port.caller
        if len(frames) != 3 or caller is None or frames[0] != _NUMBER.pack(caller.number):
            return  # an answer to a request whose caller was told already
        port.caller = None
        if port.connected:
            self._set_free(port)
        self._send(caller.identity, frames[2])

    def _note_connection(self, port: Port) -> None:
        """A peer came or went. When one of two goes, the other is handed work again."""
        message = recv_monitor_message(port.monitor, zmq.NOBLOCK)
        event, peer = message["event"], int(message["value"])
        if event == zmq.EVENT_ACCEPTED:
            port.peers.add(peer)
        elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            port.connected = True
        else:
            port.peers.discard(peer)
            port.connected = port.connected and bool(port.peers)
            self._give_up_request(port)
        if port.connected and port.caller is None and port not in self._free:
            self._set_free(port)

    def _give_up_request(self, port: Port) -> None:
        """Whoever had the request in hand may be gone: its caller is told, and may ask again."""
        if port in self._free:
            self._free.remove(port)
        caller, port.caller = port.caller, None
        if caller is not None:
            log.warning("%s ended with a request in hand; its caller is told", port.name)
            self._send(caller.identity, WORKER_LOST)

    def _set_free(self, port: Port) -> None:
        self._free.append(port)
        while self._waiting and self._free:
            identity, body = self._waiting.popleft()
            self._waiting_bytes -= len(body)
            self._hand_over(identity, body)

    def _send(self, identity: bytes, body: bytes) -> None:
        """A caller that is gone, or that does not read, loses its reply; nobody else waits."""
        try:
            self._router.send_multipart((identity, b"", body), zmq.NOBLOCK)
        except zmq.ZMQError as error:
            log.debug("A reply of %d bytes was not taken: %s", len(body), error)

    def _drain(self, life: Life) -> None:
        """Take nothing new; wait for the replies to what is with the workers or in the line."""
        if self._reading:
            self._poller.unregister(self._router)
        until_s = time.monotonic() + DRAIN_S
        while (self._waiting or any(p.caller for p in self._ports)) and time.monotonic() < until_s:
            self._turn(life, 0.5)
