"""The request port: each request gets one reply, in its turn, and nobody holds too much."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
import zmq

import zmtp
from saltlite.transport import request_port
from saltlite.transport.request_port import RequestPort
from saltlite.transport.zmtp import GREETING_BYTES, READY_TO_ANSWER, encode_message
from saltlite.transport.zmtp_port import HANDSHAKE_S

DEADLINE_S = 10.0
PING = zmtp.frame(b"\x04PING\0\0mine", flags=zmtp.COMMAND)
PONG = zmtp.frame(b"\x04PONGmine", flags=zmtp.COMMAND)


@dataclass
class Place:
    """A port whose loop the test turns, and what has come to it."""

    port: RequestPort
    now_s: float = 100.0
    come: list[tuple[bytes, list[bytes]]] = field(default_factory=list)

    def turn(self) -> None:
        self.port.take_events(self.now_s)
        self.port.keep_time(self.now_s)
        self.come += self.port.take_requests(100)

    def turn_until(self, condition: Callable[[], object]) -> None:
        until_s = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < until_s
            self.turn()
            time.sleep(0.001)

    def wait_for(self, count: int) -> None:
        self.turn_until(lambda: len(self.come) >= count)

    def connect(self, host: str = "127.0.0.1", kind: bytes = b"DEALER") -> socket.socket:
        """A plain connection whose handshake is done."""
        before = len(self.port)
        one = socket.socket()
        one.bind((host, 0))
        one.connect(("127.0.0.1", self.port.port))
        one.settimeout(DEADLINE_S)
        one.sendall(zmtp.greeting() + zmtp.ready(kind))
        self.turn_until(lambda: len(self.port) == before + 1)
        zmtp.exactly(one, GREETING_BYTES + len(READY_TO_ANSWER))
        return one


@pytest.fixture
def place() -> Iterator[Place]:
    port = RequestPort("127.0.0.1", 0)
    yield Place(port)
    port.close()


@pytest.fixture
def caller(place: Place) -> Iterator[socket.socket]:
    with contextlib.closing(place.connect()) as one:
        yield one


def test_a_requester_of_libzmq_is_answered(place: Place) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    requester = context.socket(zmq.REQ)
    requester.connect(f"tcp://127.0.0.1:{place.port.port}")
    for number in range(1, 4):
        body = b"%d" % number * 300_000
        requester.send(body)
        place.wait_for(number)
        identity, frames = place.come[-1]
        assert frames == [b"", body]
        assert place.port.reply(identity, b"", body.swapcase())
        place.turn_until(lambda: requester.poll(0))
        assert requester.recv() == body.swapcase()
    assert len({identity for identity, _frames in place.come}) == 1
    context.destroy(linger=0)
    place.turn_until(lambda: len(place.port) == 0)
    assert not place.port.reply(identity, b"", b"late")


def test_what_is_sent_at_once_is_answered_in_its_order(place: Place, caller: socket.socket) -> None:
    """One request at a time is handed on, however many there are."""
    bodies = [b"%d" % number for number in range(2000)]
    caller.sendall(b"".join(encode_message(b"", body) for body in bodies))
    for number, body in enumerate(bodies, 1):
        place.wait_for(number)
        place.turn()
        identity, frames = place.come[-1]
        assert (len(place.come), frames) == (number, [b"", body])
        place.port.reply(identity, b"", b"re " + body)
    wanted = b"".join(encode_message(b"", b"re " + body) for body in bodies)
    assert zmtp.exactly(caller, len(wanted)) == wanted


def test_pings_are_answered_while_a_request_is_under_way(
    place: Place, caller: socket.socket
) -> None:
    caller.sendall(encode_message(b"", b"slow"))
    place.wait_for(1)
    caller.sendall(PING)
    place.turn_until(lambda: _has_data(caller))
    assert zmtp.exactly(caller, len(PONG)) == PONG


def test_nothing_is_read_of_who_does_not_read(place: Place, caller: socket.socket) -> None:
    """However much it sends while a reply waits for it."""
    caller.sendall(encode_message(b"", b"first"))
    place.wait_for(1)
    reply = b"x" * 20_000_000
    place.port.reply(place.come[0][0], b"", reply)
    caller.setblocking(False)
    more = encode_message(b"", b"more") * 1000
    sent = 0
    quiet_s = time.monotonic() + 0.3
    while time.monotonic() < quiet_s:
        place.turn()
        with contextlib.suppress(BlockingIOError):
            sent += caller.send(more)
            quiet_s = time.monotonic() + 0.3
    assert sent > RequestPort.read_bytes
    assert len(place.come) == 1
    assert place.port._held_bytes == 0
    wanted = encode_message(b"", reply)
    received = bytearray()
    while len(received) < len(wanted):
        place.turn()
        with contextlib.suppress(BlockingIOError):
            received += caller.recv(1 << 20)
    assert received == wanted
    place.wait_for(2)
    assert place.come[1][1] == [b"", b"more"]


def test_of_what_is_replied_to_at_once_one_turn_takes_no_more(
    place: Place, caller: socket.socket
) -> None:
    """Else somebody who sends what needs no worker would keep all others waiting."""
    caller.sendall(encode_message(b"") * 1000)
    place.wait_for(1)
    place.port.reply(place.come[0][0], b"")
    taken = [place.port.reply(identity, b"") for identity, _ in place.port.take_requests(10)]
    assert taken == [True]
    assert place.port.has_requests


def test_beyond_a_limit_what_has_come_is_to_be_taken_first(
    place: Place, caller: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_port, "COME_LIMIT_BYTES", 2)
    caller.sendall(encode_message(b"", b"one"))
    place.turn_until(lambda: _is_readable(place.port))
    place.port.take_events(place.now_s)
    assert place.port.has_requests
    with contextlib.closing(socket.create_connection(("127.0.0.1", place.port.port))) as other:
        assert _is_readable(place.port)
        for _ in range(10):
            place.port.take_events(place.now_s)
        assert not _has_data(other)
        place.wait_for(1)
        place.turn_until(lambda: _has_data(other))
    assert place.port._come_bytes == 0


def test_a_pause_reads_nothing_and_replies(place: Place, caller: socket.socket) -> None:
    caller.sendall(encode_message(b"", b"one"))
    place.wait_for(1)
    with zmtp.connection(place.port.port) as accepted, zmtp.connection(place.port.port) as other:
        place.turn_until(lambda: _has_data(accepted))
        place.port.pause(True, place.now_s)
        place.port.pause(True, place.now_s)
        for one in (accepted, other):
            one.sendall(zmtp.greeting())
        caller.sendall(encode_message(b"", b"two"))
        place.port.reply(place.come[0][0], b"", b"re one")
        assert zmtp.exactly(caller, 10) == encode_message(b"", b"re one")
        place.now_s += 2 * HANDSHAKE_S  # in which nobody could shake hands
        for _ in range(20):
            place.turn()
        assert len(place.come) == 1
        place.port.pause(False, place.now_s)
        place.turn()
        place.wait_for(2)
        whole = GREETING_BYTES + len(READY_TO_ANSWER)
        for one in (accepted, other):
            place.turn_until(lambda one=one: _has_data(one, whole))
            answer = zmtp.exactly(one, whole)
            assert answer.endswith(READY_TO_ANSWER)


def test_replies_of_just_before_the_end_leave(place: Place, caller: socket.socket) -> None:
    caller.sendall(encode_message(b"", b"one"))
    place.wait_for(1)
    place.port.reply(place.come[0][0], b"", b"x" * 20_000_000)
    received = bytearray()
    caller.setblocking(False)
    while len(received) < 20_000_011:
        place.port.flush(0.01)
        with contextlib.suppress(BlockingIOError):
            received += caller.recv(1 << 20)
    assert bytes(received) == encode_message(b"", b"x" * 20_000_000)


def test_who_does_not_shake_hands_goes(place: Place) -> None:
    with zmtp.connection(place.port.port) as one:
        one.sendall(zmtp.greeting())
        place.turn_until(lambda: _has_data(one))
        place.now_s += HANDSHAKE_S + 1
        place.turn()
        assert zmtp.is_closed(one)


@pytest.mark.parametrize("size", [100, 1_000_000])
def test_who_holds_most_goes_when_too_much_is_held(
    place: Place, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Halves of requests from one address, however many they are, send nobody else's away."""
    limit = 20 * size
    monkeypatch.setattr(request_port, "HELD_LIMIT_BYTES", limit)
    monkeypatch.setattr(request_port, "HELD_AFTER_BYTES", limit // 4 * 3)
    with contextlib.ExitStack() as stack:
        honest = stack.enter_context(contextlib.closing(place.connect("127.0.0.1")))
        part = encode_message(b"", b"h" * 3 * size)
        honest.sendall(part[:-1])
        for _ in range(30):
            greedy = stack.enter_context(contextlib.closing(place.connect("127.0.0.2")))
            greedy.sendall(zmtp.frame(b"", flags=zmtp.MORE))
            greedy.sendall(zmtp.frame(b"g" * size, announced=2 * size))
            place.turn_until(lambda: not _is_readable(place.port))
            assert place.port._held_bytes <= limit
        honest.sendall(part[-1:])
        place.wait_for(1)
        assert place.come[0][1] == [b"", b"h" * 3 * size]
        assert len(place.port) < 30
        assert caplog.text.count("who holds most goes") == 1  # of many times
        for one in list(place.port._peers.values()):
            place.port._end(one, "")
        assert place.port._held_bytes == 0


def test_single_bytes_count_for_what_they_take(place: Place, caller: socket.socket) -> None:
    caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    caller.sendall(zmtp.frame(b"", announced=1_000_000))
    for sent in range(1, 101):
        least = 40 * sent
        place.turn_until(lambda least=least: place.port._held_bytes > least)
        caller.sendall(b"x")


def _is_readable(port: RequestPort) -> bool:
    return bool(port._both.poll(0.02))


def _has_data(one: socket.socket, least: int = 1) -> bool:
    timeout_s = one.gettimeout()
    one.setblocking(False)
    try:
        return len(one.recv(least, socket.MSG_PEEK)) == least
    except BlockingIOError:
        return False
    finally:
        one.settimeout(timeout_s)
