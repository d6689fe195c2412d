"""A network that misbehaves: a TCP proxy whose links can be cut, stalled, delayed and torn.

It listens on another loopback address under the same port as the server behind it, since a master
tells its minions the port, not the address. One thread serves all links. A link that was stalled or
half open stays so until :meth:`Proxy.behave`, which ends it as a router does that has forgotten it.
"""

from __future__ import annotations

import contextlib
import fcntl
import selectors
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

CHUNK = 65536
HELD_MOST = 1 << 20
"""So much of one direction is held back; then the sender is no longer read."""

SET_FLAGS = 0x8914
"""``SIOCSIFFLAGS`` of Linux."""
UP_AND_RUNNING = 0x1 | 0x40


def bring_loopback_up() -> None:
    """In a new network namespace; a bare machine has no program for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH14x", b"lo", UP_AND_RUNNING))


@dataclass
class Way:
    """One direction of a link: what came in and is not sent yet, and when it may go."""

    source: socket.socket
    sink: socket.socket
    held: list[tuple[float, bytes]] = field(default_factory=list)
    size: int = 0


class Proxy:
    """Links to one server, of one client or several."""

    def __init__(self, listen: tuple[str, int], server: tuple[str, int]) -> None:
        self._server = server
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(listen)
        self._listener.listen(64)
        self._listener.setblocking(False)
        self._ways: dict[socket.socket, Way] = {}
        self._mode, self._delay_s = "", 0.0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def misbehave(self, how: str, delay_s: float = 0.5) -> None:
        """From now on ``stall``, ``delay``, ``trickle``, ``half-open``, ``cut`` or ``reset``.

        ``cut`` and ``reset`` end all links in their way and take no new ones; ``stall`` reads
        nothing more; ``half-open`` reads everything and passes nothing on.
        """
        with self._lock:
            self._mode, self._delay_s = how, delay_s
            if how in ("cut", "reset"):
                self._end_links(how == "reset")

    def behave(self) -> None:
        """A good network again; links whose bytes were swallowed are gone."""
        with self._lock:
            if self._mode in ("stall", "half-open"):
                self._end_links(True)
            self._mode = ""

    def close(self) -> None:
        self._ended.set()
        self._thread.join(10)
        with self._lock:
            self._end_links(False)
        self._listener.close()

    # --- the thread --------------------------------------------------------------------------

    def _serve(self) -> None:
        while not self._ended.is_set():
            with self._lock, selectors.DefaultSelector() as selector:
                selector.register(self._listener, selectors.EVENT_READ)
                for one in list(self._ways.values()):
                    if self._mode != "stall" and one.size < HELD_MOST:
                        selector.register(one.source, selectors.EVENT_READ)
                ready = [key.fileobj for key, _ in selector.select(0)]
                for source in ready:
                    self._take(source)  # type: ignore[arg-type]
                for way in list(self._ways.values()):
                    self._pass_on(way)
            if not ready:
                time.sleep(0.002)

    def _take(self, source: socket.socket) -> None:
        if source is self._listener:
            self._accept()
            return
        way = self._ways.get(source)
        if way is None:
            return
        try:
            data = source.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end_link(source, False)
        elif self._mode != "half-open":
            late_s = self._delay_s if self._mode == "delay" else 0.0
            way.held.append((time.monotonic() + late_s, data))
            way.size += len(data)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            client, _ = self._listener.accept()
            if self._mode in ("cut", "reset"):
                client.close()
                return
            server = socket.socket()
            try:
                server.connect(self._server)
            except OSError:
                client.close()
                server.close()
                return
            for one, other in ((client, server), (server, client)):
                one.setblocking(False)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._ways[one] = Way(one, other)

    def _pass_on(self, way: Way) -> None:
        now_s = time.monotonic()
        budget = 200 if self._mode == "trickle" else 1 << 30  # single bytes, so many at a time
        while way.held and way.held[0][0] <= now_s and budget > 0:
            due_s, data = way.held[0]
            part = data[:1] if self._mode == "trickle" else data
            try:
                sent = way.sink.send(part)
            except BlockingIOError:
                return
            except OSError:
                self._end_link(way.source, False)
                return
            way.size -= sent
            budget -= 1
            if sent == len(data):
                way.held.pop(0)
            else:
                way.held[0] = (due_s, data[sent:])

    def _end_links(self, reset: bool) -> None:
        for source in list(self._ways):
            self._end_link(source, reset)

    def _end_link(self, source: socket.socket, reset: bool) -> None:
        way = self._ways.pop(source, None)
        if way is None:
            return
        self._ways.pop(way.sink, None)
        for one in (way.source, way.sink):
            if reset:
                linger = struct.pack("ii", 1, 0)
                with contextlib.suppress(OSError):
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            one.close()
