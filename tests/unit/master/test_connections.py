"""How many connections an address may have, and what waits behind a request of its connection."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest
import zmq

from saltlite.master import connections, pipelines
from saltlite.master.connections import EVENTS, Connections, peer_of, shut_down
from saltlite.master.pipelines import BEHIND_MOST, Pipelines
from saltlite.master.repeats import MOST, WINDOW_S, Repeats
from saltlite.transport.monitor import open_monitor

Watched = tuple[zmq.Socket[bytes], zmq.Socket[bytes]]


@pytest.fixture
def watched() -> Iterator[Watched]:
    """A ROUTER and its monitor."""
    context = zmq.Context()
    router = context.socket(zmq.ROUTER)
    monitor = open_monitor(router, EVENTS)
    yield router, monitor
    router.disable_monitor()
    context.destroy(linger=0)


def connect(stack: contextlib.ExitStack, port: int, origin: str) -> socket.socket:
    one = stack.enter_context(socket.socket())
    one.bind((origin, 0))
    one.connect(("127.0.0.1", port))
    one.settimeout(5)
    return one


def is_refused(one: socket.socket) -> bool:
    """ZeroMQ greets first; what is refused is closed at once, greeted or not."""
    try:
        while one.recv(64):
            one.settimeout(0.3)
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def count(counted: Connections, monitor: zmq.Socket[bytes], wanted: int) -> None:
    until_s = time.monotonic() + 5
    while len(counted) != wanted and time.monotonic() < until_s:
        monitor.poll(50)
        counted.take_events(monitor)
    assert len(counted) == wanted


def test_one_address_never_gets_everything(watched: Watched) -> None:
    """Of 16 places one address gets 12, another 3 of the 4 that are left; who goes makes room."""
    router, monitor = watched
    counted = Connections(16)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    with contextlib.ExitStack() as stack:
        greedy = [connect(stack, port, "127.0.0.2") for _ in range(20)]
        count(counted, monitor, 12)
        time.sleep(0.1)  # in which one more would come
        counted.take_events(monitor)
        assert [is_refused(one) for one in greedy] == [False] * 12 + [True] * 8
        honest = [connect(stack, port, "127.0.0.1") for _ in range(3)]
        count(counted, monitor, 15)
        assert not any(is_refused(one) for one in honest)
        for one in greedy:
            one.close()
        count(counted, monitor, 3)
        later = connect(stack, port, "127.0.0.2")
        count(counted, monitor, 4)
        assert not is_refused(later)


def test_only_the_connection_that_was_meant_is_shut_down() -> None:
    """Its descriptor may be another one's by then."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            accepted, address = server.accept()
            with accepted:
                assert peer_of(accepted.fileno()) == ("127.0.0.1", address[1])
                assert not shut_down(accepted.fileno(), ("127.0.0.1", address[1] + 1))
                client.send(b"x")
                assert accepted.recv(1) == b"x"
                assert shut_down(accepted.fileno(), ("127.0.0.1", address[1]))
                assert client.recv(1) == b""
        assert peer_of(server.fileno()) is None


def test_a_network_of_ipv6_is_one_origin() -> None:
    try:
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    with server, socket.create_connection(server.getsockname()[:2]):
        accepted, address = server.accept()
        with accepted:
            assert peer_of(accepted.fileno()) == ("::/64", address[1])


def test_memory_is_given_back_once_after_many_have_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[float] = []
    monkeypatch.setattr(connections.process, "release_memory", lambda: released.append(0.0))
    counted = Connections(100)
    counted.release_memory(0.0)
    counted._gone = connections.RELEASE_AFTER
    for now_s in (0.0, 5.0, 10.0, 11.0, 30.0):
        counted.release_memory(now_s)
    assert len(released) == 1


# --- pipelines -----------------------------------------------------------------------------------


def test_requests_of_one_connection_follow_one_another() -> None:
    lines = Pipelines()
    assert lines.admit(b"a", b"1")
    assert lines.admit(b"b", b"1")
    assert not lines.admit(b"a", b"2")
    assert not lines.admit(b"a", b"3")
    assert lines.go_on(b"a") == (b"2", 0)
    assert lines.go_on(b"b") == (None, 0)
    assert lines.admit(b"b", b"2")
    assert lines.go_on(b"a") == (b"3", 0)
    assert lines.go_on(b"a") == (None, 0)
    assert not lines.is_open(b"a")


def test_what_is_too_much_is_refused_in_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Pipelines()
    for number in range(BEHIND_MOST + 8):
        lines.admit(b"a", bytes([number]))
    for number in range(1, BEHIND_MOST + 1):
        assert lines.go_on(b"a") == (bytes([number]), 0)
        assert not lines.admit(b"a", b"later")  # its turn is after those that are refused
    assert lines.go_on(b"a") == (None, 7 + BEHIND_MOST)
    monkeypatch.setattr(pipelines, "MOST", 3)
    for identity in (b"x", b"y"):
        for _ in range(4):
            lines.admit(identity, b"")
    assert [lines.go_on(b"y") for _ in range(1)] == [(None, 3)]


# --- what is published again ---------------------------------------------------------------------


def test_jobs_are_published_again_for_those_who_came_since() -> None:
    repeats = Repeats(100.0)
    repeats.keep({"jid": "1"}, None)
    assert repeats.due(100.1) == []
    repeats.note_arrival(100.15)
    assert [kept.job["jid"] for kept in repeats.due(100.3)] == ["1"]
    assert repeats.due(150.0) == []  # nobody has come since
    repeats.note_arrival(151.0)
    repeats.keep({"jid": "2"}, None)
    assert [kept.job["jid"] for kept in repeats.due(160.0)] == ["1", "2"]
    assert repeats.is_over(100.1 + WINDOW_S)


def test_repeating_is_bounded() -> None:
    repeats = Repeats(0.0)
    for number in range(MOST + 5):
        repeats.keep({"jid": str(number)}, None)
    rounds = 0
    for tick in range(int(WINDOW_S * 100)):
        repeats.note_arrival(tick / 100)
        again = repeats.due(tick / 100)
        rounds += bool(again)
        assert len(again) <= MOST
    assert rounds <= 14
