"""The publish port: who is sent what, who loses what, and who goes."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import zmq

import zmtp
from saltlite.transport import publish_port
from saltlite.transport.pub import connect_subscriber
from saltlite.transport.publish_port import PublishPort
from saltlite.transport.tcp import TcpOptions
from saltlite.transport.zmtp import PING

DEADLINE_S = 10.0


@dataclass
class Clock:
    now_s: float = 100.0


@dataclass
class Place:
    """A port whose loop the test turns, and its clock."""

    make: Callable[..., PublishPort]
    clock: Clock = field(default_factory=Clock)

    def open(self, **options: Any) -> PublishPort:
        self.port = self.make("127.0.0.1", 0, **options)
        return self.port

    def turn(self) -> None:
        self.port.take_events(self.clock.now_s)
        self.port.keep_time(self.clock.now_s)

    def turn_until(self, condition: Callable[[], object]) -> None:
        until_s = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < until_s
            self.turn()
            time.sleep(0.001)

    def subscriber(self, *topics: bytes, count: int = 1) -> socket.socket:
        """A plain connection whose handshake is done; there are ``count`` then."""
        one = socket.create_connection(("127.0.0.1", self.port.port))
        one.settimeout(DEADLINE_S)
        asked = b"".join(zmtp.frame(b"\x01" + topic) for topic in topics)
        one.sendall(zmtp.greeting() + zmtp.ready(b"SUB") + asked)
        self.turn_until(lambda: len(self.port) == count)
        zmtp.exactly(one, 64 + 27)
        return one


@pytest.fixture
def place() -> Iterator[Place]:
    made = []

    def make(*args: Any, **options: Any) -> PublishPort:
        made.append(PublishPort(*args, **options))
        return made[-1]

    yield Place(make)
    for port in made:
        port.close()


def test_what_is_published_reaches_those_who_subscribed(place: Place) -> None:
    port = place.open()
    context = zmq.Context()
    subscriber = connect_subscriber(
        context, f"tcp://127.0.0.1:{port.port}", prefixes=(b"mine", b"all")
    )
    large = b"y" * 1_000_000

    def publish() -> bool:
        port.publish(b"other", b"x")
        port.publish(b"mine", large)
        return bool(subscriber.poll(20))

    place.turn_until(publish)
    assert subscriber.recv_multipart() == [b"mine", large]
    context.destroy(linger=0)
    place.turn_until(lambda: len(port) == 0)


def test_all_of_a_topic_and_nobody_else(place: Place) -> None:
    port = place.open()
    everything, one = place.subscriber(b""), place.subscriber(b"a", count=2)
    for part in (b"b", b"ab", b""):
        port.publish(part)
    for part in (b"b", b"ab", b""):
        assert zmtp.exactly(everything, 2 + len(part)) == zmtp.frame(part)
    port.publish(b"a", b"end")
    assert zmtp.exactly(one, 4 + 3 + 5) == zmtp.frame(b"ab") + zmtp.frame(
        b"a", flags=zmtp.MORE
    ) + zmtp.frame(b"end")
    for peer in (everything, one):
        peer.close()


def test_a_ping_is_answered(place: Place) -> None:
    place.open(heartbeat_ivl_s=0)
    one = place.subscriber(b"")
    one.sendall(zmtp.frame(b"\x04PING\0\0mine", flags=zmtp.COMMAND))
    place.turn_until(lambda: _has_data(one))
    assert zmtp.exactly(one, 11) == zmtp.frame(b"\x04PONGmine", flags=zmtp.COMMAND)
    one.close()


def _has_data(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        return bool(one.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False
    finally:
        one.settimeout(DEADLINE_S)


def test_who_is_silent_is_pinged_and_goes(place: Place) -> None:
    port = place.open(heartbeat_ivl_s=10, heartbeat_timeout_s=30)
    silent, alive = place.subscriber(b""), place.subscriber(b"", count=2)
    for _ in range(4 * publish_port.SWEEPS):
        alive.sendall(zmtp.frame(b"\x04PONG", flags=zmtp.COMMAND))
        place.clock.now_s += 10 / publish_port.SWEEPS
        # Only what has come is counted, so it is waited for.
        time.sleep(0.01)
        place.turn()
    assert len(port) == 2
    while len(port) == 2:
        alive.sendall(zmtp.frame(b"\x04PONG", flags=zmtp.COMMAND))
        time.sleep(0.01)
        place.clock.now_s += 10 / publish_port.SWEEPS
        place.turn()
    assert 140 < place.clock.now_s <= 155
    assert zmtp.exactly(silent, 4 * len(PING)) == 4 * PING
    assert zmtp.is_closed(silent)
    port.publish(b"still")
    data = b""
    while not data.endswith(zmtp.frame(b"still")):
        data += alive.recv(1000)
    for peer in (silent, alive):
        peer.close()


@pytest.mark.parametrize("said", [b"", b"\xff", zmtp.greeting()[:30], zmtp.greeting()])
def test_who_does_not_shake_hands_goes(place: Place, said: bytes) -> None:
    place.open()
    with zmtp.connection(place.port.port) as one:
        one.sendall(said)
        place.turn_until(lambda: _has_data(one))
        place.clock.now_s += publish_port.HANDSHAKE_S - 1
        place.turn()
        one.setblocking(False)
        assert one.recv(64)
        with contextlib.suppress(BlockingIOError):
            assert one.recv(64) != b""  # READY, and not the end
        place.clock.now_s += 2
        place.turn()
        assert zmtp.is_closed(one)
    assert len(place.port) == 0


def test_junk_ends_its_connection_alone(place: Place) -> None:
    port = place.open()
    honest = place.subscriber(b"")
    with zmtp.connection(port.port) as rude:
        rude.sendall(b"GET / HTTP/1.1\r\n\r\n")
        place.turn_until(lambda: _has_data(rude))
        place.turn()
        assert zmtp.is_closed(rude)
    port.publish(b"x")
    assert zmtp.exactly(honest, 3) == zmtp.frame(b"x")
    honest.close()


@pytest.mark.parametrize(
    ("size", "hwm", "most"), [(100_000, 1000, 170), (20_000, 200, 201), (3_000_000, 0, 7)]
)
def test_who_reads_too_slowly_loses_what_is_too_much(
    place: Place, caplog: pytest.LogCaptureFixture, size: int, hwm: int, most: int
) -> None:
    """Bounded in bytes and messages; what it gets is whole, and it is told of in one line."""
    caplog.set_level(logging.WARNING, logger="saltlite.transport.publish_port")
    port = place.open(hwm=hwm)
    slow, prompt = place.subscriber(b"0"), place.subscriber(b"end", count=2)
    sent = 4 * most
    for number in range(sent):
        port.publish(b"%06d" % number, b"x" * size)
    port.publish(b"end")
    assert zmtp.exactly(prompt, 5) == zmtp.frame(b"end")
    slow.setblocking(False)
    data = bytearray()
    until_s = time.monotonic() + DEADLINE_S
    while not any("reads again" in one.message for one in caplog.records):
        assert time.monotonic() < until_s
        place.turn()
        with contextlib.suppress(BlockingIOError):
            data += slow.recv(1 << 20)
    with contextlib.suppress(BlockingIOError):
        while True:
            data += slow.recv(1 << 20)
    one = len(zmtp.frame(b"000000", flags=zmtp.MORE) + zmtp.frame(b"x" * size))
    assert len(data) % one == 0
    kept = len(data) // one
    # The kernel's buffers hold some more.
    assert most / 2 < kept <= most + 8_000_000 / size + 2
    assert [int(data[at + 2 : at + 8]) for at in range(0, len(data), one)] == list(range(kept))
    lines = [record.message for record in caplog.records]
    assert len(lines) == 2
    assert "too slowly" in lines[0]
    assert lines[1].endswith(f"it has lost {sent - kept}")
    for peer in (slow, prompt):
        peer.close()


def test_what_was_published_last_is_sent_before_the_end(place: Place) -> None:
    port = place.open()
    slow = place.subscriber(b"")
    port.publish(b"x" * 20_000_000)
    received = bytearray()
    slow.setblocking(False)
    while len(received) < 20_000_009:
        port.flush(0.01)
        with contextlib.suppress(BlockingIOError):
            received += slow.recv(1 << 20)
    slow.close()


def test_who_is_not_admitted_is_closed(place: Place) -> None:
    ended: list[int] = []
    asked: list[int] = []

    def admit(fd: int, host: str) -> bool:
        assert host == "127.0.0.1"
        asked.append(fd)
        return len(asked) < 2

    place.open(admit=admit, forget=ended.append)
    one = place.subscriber(b"")
    with zmtp.connection(place.port.port) as other:
        place.turn_until(lambda: len(asked) == 2)
        assert zmtp.is_closed(other)
    one.close()
    place.turn_until(lambda: ended)
    assert ended == asked[:1]


def test_without_descriptors_it_waits_and_goes_on(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    port = place.open()

    class Full:
        def __init__(self, listener: socket.socket) -> None:
            self._listener = listener

        def accept(self) -> None:
            raise OSError(24, "Too many open files")

        def __getattr__(self, name: str) -> Any:
            return getattr(self._listener, name)

    whole = port._listener
    monkeypatch.setattr(port, "_listener", Full(whole))
    with zmtp.connection(whole.getsockname()[1]) as one:
        place.turn_until(lambda: "Too many open files" in caplog.text)
        monkeypatch.setattr(port, "_listener", whole)
        place.turn()
        assert not _has_data(one)
        place.clock.now_s += 1
        place.turn_until(lambda: _has_data(one))


def test_options_of_the_port(place: Place) -> None:
    port = place.open(tcp=TcpOptions(keepalive_idle_s=77))
    listener = port._listener
    assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 77
    with pytest.raises(OSError, match="in use"):
        PublishPort("127.0.0.1", port.port)


def test_both_families_of_addresses() -> None:
    port = PublishPort("::", 0)
    for host in ("::1", "127.0.0.1"):
        with contextlib.closing(socket.create_connection((host, port.port))):
            port.take_events(0.0)
    port.close()
