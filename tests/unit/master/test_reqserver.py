"""ReqServer with workers that the test plays: who gets what, when, and what the callers hear."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import zmq
from ports import free_port

from saltlite.config.master import NetworkOptions
from saltlite.master import reqserver
from saltlite.master.lanes import (
    ANY,
    ASK_ALONE,
    ASK_SLOW,
    QUICK,
    pack_turn,
    slow_at_once,
    unpack_turn,
)
from saltlite.master.reqserver import (
    BAD_LOAD,
    JOINED_MOST,
    TOGETHER,
    WORKER_LOST,
    ReqServer,
    RequestFrame,
)
from saltlite.transport.addresses import MasterSockets, ipc

WAIT_MS = 10_000


class Life:
    """What ReqServer needs of its parent."""

    def __init__(self) -> None:
        self.stopping = False
        self.is_ready = threading.Event()

    def register(self, _poller: zmq.Poller) -> None:
        pass

    def ready(self) -> None:
        self.is_ready.set()

    def poll(self, poller: zmq.Poller, _timeout_s: float) -> list[tuple[Any, int]]:
        return poller.poll(20)


@dataclass
class Place:
    """A ReqServer in a thread, its workers' sockets and its callers'."""

    sockets: MasterSockets
    port: int
    context: zmq.Context[zmq.Socket[bytes]] = field(default_factory=zmq.Context)

    def worker(self, number: int) -> zmq.Socket[bytes]:
        worker = self.context.socket(zmq.REP)
        worker.setsockopt(zmq.RCVTIMEO, WAIT_MS)
        worker.connect(ipc(self.sockets.workers(number)))
        return worker

    def caller(self) -> zmq.Socket[bytes]:
        caller = self.context.socket(zmq.REQ)
        caller.setsockopt(zmq.RCVTIMEO, WAIT_MS)
        caller.connect(f"tcp://127.0.0.1:{self.port}")
        return caller

    def ask(self, *bodies: bytes) -> list[zmq.Socket[bytes]]:
        """A caller for each body; they arrive in this order."""
        callers = [self.caller() for _ in bodies]
        for caller, body in zip(callers, bodies, strict=True):
            caller.send(body)
        return callers


@pytest.fixture
def place() -> Iterator[Place]:
    yield from served(workers=1)


@pytest.fixture
def three() -> Iterator[Place]:
    yield from served(workers=3, processors=3)


@pytest.fixture
def three_on_two() -> Iterator[Place]:
    """Three workers and two processors."""
    yield from served(workers=3, processors=2)


def served(workers: int, processors: int = 1) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="slr-", dir="/tmp") as short:
        here = Place(MasterSockets(Path(short)), free_port())
        network = NetworkOptions(interface="127.0.0.1", ret_port=here.port)
        life = Life()
        thread = threading.Thread(
            target=ReqServer(network, here.sockets, workers, processors=processors).run,
            args=(life,),
        )
        thread.start()
        assert life.is_ready.wait(10)
        yield here
        here.context.destroy(linger=0)
        life.stopping = True
        thread.join(15)
        assert not thread.is_alive()


def taken(worker: zmq.Socket[bytes], count: int) -> list[list[bytes]]:
    """What a worker is handed until it was ``count`` requests; each answered by its echo."""
    turns: list[list[bytes]] = []
    while sum(map(len, turns)) < count:
        turns.append(worker.recv_multipart()[1:])
        worker.send_multipart([b"re " + one for one in turns[-1]])
    return turns


def hear(callers: list[zmq.Socket[bytes]], count: int) -> None:
    """Wait until ``count`` of them have an answer. A worker's successor comes after that."""
    poller = zmq.Poller()
    for caller in callers:
        poller.register(caller, zmq.POLLIN)
    for _ in range(count):
        found = poller.poll(WAIT_MS)
        assert found, "nobody was told"
        poller.unregister(found[0][0])


def test_a_request_that_does_not_wait_goes_alone(place: Place) -> None:
    worker = place.worker(0)
    for body in (b"one", b"two"):
        (caller,) = place.ask(body)
        assert taken(worker, 1) == [[body]]
        assert caller.recv() == b"re " + body


@pytest.mark.parametrize("frames", [[b"x"], [b"", b"x", b"y"], [b"y", b"x"], [b""]])
def test_what_no_worker_could_read_has_a_reply_in_its_turn(
    place: Place, frames: list[bytes]
) -> None:
    worker = place.worker(0)
    dealer = place.context.socket(zmq.DEALER)
    dealer.setsockopt(zmq.RCVTIMEO, WAIT_MS)
    dealer.connect(f"tcp://127.0.0.1:{place.port}")
    for message in ([b"", b"1"], frames, [b"", b"2"]):
        dealer.send_multipart(message)
    taken(worker, 2)
    replies = [dealer.recv_multipart() for _ in range(3)]
    assert replies == [[b"", b"re 1"], [b"", BAD_LOAD], [b"", b"re 2"]]


def test_requests_that_wait_go_together_and_every_caller_gets_its_own_reply(place: Place) -> None:
    bodies = [b"%d" % number for number in range(3 * TOGETHER)]
    callers = place.ask(*bodies)
    worker = place.worker(0)
    turns = taken(worker, len(bodies))
    assert sorted(body for turn in turns for body in turn) == sorted(bodies)
    assert 1 < max(map(len, turns)) <= TOGETHER
    assert [caller.recv() for caller in callers] == [b"re " + body for body in bodies]


class PausedPort:
    """What ``ReqServer`` needs of its port to leave requests where they are."""

    is_paused = False

    def pause(self, is_paused: bool, _now_s: float) -> None:
        self.is_paused = is_paused


def test_a_line_that_is_full_again_and_again_is_told_of_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reqserver, "LINE_LIMIT", 4)
    server: Any = ReqServer(NetworkOptions(), MasterSockets(tmp_path), 1, processors=1)
    server._port = PausedPort()
    for _ in range(3):
        server._waiting.extend(RequestFrame(b"caller", b"request") for _ in range(4))
        server._read_if_room()
        assert server._port.is_paused
        server._waiting.clear()
        server._read_if_room()
        assert not server._port.is_paused
    assert caplog.text.count("wait for a worker; reading no more") == 1


def test_large_requests_go_alone(place: Place) -> None:
    large = bytes(100_000)
    place.ask(large, large, large)
    turns = taken(place.worker(0), 3)
    assert [len(turn) for turn in turns] == [1, 1, 1]


def test_what_is_handed_back_is_handed_out_alone(place: Place) -> None:
    callers = place.ask(*[b"x%d" % number for number in range(TOGETHER)])
    worker = place.worker(0)
    asked: list[bytes] = []
    while True:
        turn = worker.recv_multipart()[1:]
        if len(turn) > 1:
            break
        asked += turn
        worker.send(b"re " + turn[0])
    worker.send_multipart([ASK_ALONE, *(b"re " + one for one in turn[1:])])
    lane, *bodies = worker.recv_multipart()
    assert (lane[:1], bodies) == (ANY, turn[:1])
    worker.send(b"at last")
    asked += turn
    taken(worker, TOGETHER - len(asked))
    replies = sorted(caller.recv() for caller in callers)
    assert replies.count(b"at last") == 1
    assert len(set(replies)) == TOGETHER


def test_callers_hear_of_a_worker_that_ends_with_their_requests(place: Place) -> None:
    callers = place.ask(*[b"x%d" % number for number in range(TOGETHER)])
    worker = place.worker(0)
    in_hand = len(worker.recv_multipart()[1:])
    worker.close(linger=0)
    hear(callers, in_hand)
    taken(place.worker(0), TOGETHER - in_hand)
    replies = [caller.recv() for caller in callers]
    assert replies.count(WORKER_LOST) == in_hand


def test_too_few_replies_are_none(place: Place) -> None:
    """A worker that errs is not believed; its callers hear when its connection ends."""
    callers = place.ask(*[b"x%d" % number for number in range(TOGETHER)])
    worker = place.worker(0)
    turn = worker.recv_multipart()[1:]
    worker.send_multipart([b"re"] * (len(turn) + 1))
    worker.close(linger=1000)
    hear(callers, len(turn))
    taken(place.worker(0), TOGETHER - len(turn))
    replies = [caller.recv() for caller in callers]
    assert replies.count(WORKER_LOST) == len(turn)


# --- who is woken ------------------------------------------------------------------------------


def test_who_was_free_last_is_asked_next(three: Place) -> None:
    pool = Pool([three.worker(number) for number in range(3)])
    asked = []
    for _ in range(5):
        (caller,) = three.ask(b"one more")
        worker, _turn = pool.next()
        asked.append(worker)
        worker.send(b"done")
        assert caller.recv() == b"done"
    assert len(set(asked)) == 1


def test_a_worker_that_waits_for_something_keeps_no_processor(three_on_two: Place) -> None:
    pool = Pool([three_on_two.worker(number) for number in range(3)])
    three_on_two.ask(b"1", b"2", b"3")
    handed = [pool.next()[1][1:] for _ in range(2)]
    if sum(map(len, handed)) < 3:  # the third one came later, and two have said nothing yet
        handed.append(pool.next()[1][1:])
    assert sorted(body for turn in handed for body in turn) == [b"1", b"2", b"3"]
    three_on_two.ask(b"4")
    if len(handed) < 3:
        assert pool.next()[1][1:] == [b"4"]


def test_no_more_workers_are_woken_than_can_run(
    monkeypatch: pytest.MonkeyPatch, three_on_two: Place
) -> None:
    monkeypatch.setattr(reqserver, "AT_WORK_S", 60.0)
    pool = Pool([three_on_two.worker(number) for number in range(3)])
    three_on_two.ask(b"1", b"2")
    (first, _), _second = pool.next(), pool.next()
    three_on_two.ask(b"3", b"4")
    assert pool.is_idle()
    first.send(b"done")
    again, turn = pool.next()
    assert again is first
    assert turn[1] in (b"3", b"4")


# --- what takes long ---------------------------------------------------------------------------


@dataclass
class Pool:
    """Workers that are handed a request each, in turn."""

    workers: list[zmq.Socket[bytes]]

    def next(self) -> tuple[zmq.Socket[bytes], list[bytes]]:
        """The next worker that is handed something, and what; each of them answers once."""
        poller = zmq.Poller()
        for worker in self.workers:
            poller.register(worker, zmq.POLLIN)
        worker = poller.poll(WAIT_MS)[0][0]
        return worker, worker.recv_multipart()

    def is_idle(self) -> bool:
        return not any(worker.poll(100) for worker in self.workers)


@pytest.fixture
def busy(three: Place) -> tuple[Place, Pool, list[zmq.Socket[bytes]]]:
    """Two of three workers are at something slow; the third one has handed back what it may not."""
    pool = Pool([three.worker(number) for number in range(3)])
    three.ask(b"slow 1", b"slow 2", b"slow 3")
    at_it = []
    for _ in range(3):
        worker, (leave, body) = pool.next()
        if leave[:1] == ANY:
            at_it.append(worker)
        else:
            assert body.startswith(b"slow")
            worker.send(ASK_SLOW)
    assert len(at_it) == 2
    return three, pool, at_it


def test_one_worker_is_kept_from_what_is_slow(
    busy: tuple[Place, Pool, list[zmq.Socket[bytes]]],
) -> None:
    three, pool, _at_it = busy
    for _ in range(5):
        (caller,) = three.ask(b"quick")
        worker, turn = pool.next()
        assert (turn[0][:1], turn[1:]) == (QUICK, [b"quick"])
        worker.send(b"done")
        assert caller.recv() == b"done"
    assert pool.is_idle()


def test_what_waits_is_done_as_soon_as_there_is_leave(
    busy: tuple[Place, Pool, list[zmq.Socket[bytes]]],
) -> None:
    _three, pool, at_it = busy
    at_it[0].send(b"done")
    _worker, (leave, body) = pool.next()
    assert leave[:1] == ANY
    assert body.startswith(b"slow")


def test_a_worker_that_ends_gives_its_leave_back(
    busy: tuple[Place, Pool, list[zmq.Socket[bytes]]],
) -> None:
    _three, pool, at_it = busy
    pool.workers.remove(at_it[0])
    at_it[0].close(linger=0)
    _worker, (leave, body) = pool.next()
    assert leave[:1] == ANY
    assert body.startswith(b"slow")


def test_the_same_request_once_more_joins_the_first(
    busy: tuple[Place, Pool, list[zmq.Socket[bytes]]],
) -> None:
    three, pool, at_it = busy
    callers = []
    for _ in range(JOINED_MOST):
        callers += three.ask(b"slow 4")
        worker, turn = pool.next()
        assert (turn[0][:1], turn[1:]) == (QUICK, [b"slow 4"])
        worker.send(ASK_SLOW)
    for worker in at_it:
        worker.send(b"done")
    bodies = []
    for _ in range(2):
        worker, (_leave, body) = pool.next()
        worker.send(b"re " + body)
        bodies.append(body)
    assert bodies.count(b"slow 4") == 1
    assert [caller.recv() for caller in callers] == [b"re slow 4"] * JOINED_MOST
    assert pool.is_idle()


def test_a_single_worker_does_all() -> None:
    assert [slow_at_once(workers) for workers in (1, 2, 5)] == [1, 1, 4]


def test_a_worker_is_told_when_each_request_came(place: Place) -> None:
    worker, began_s = place.worker(0), time.monotonic()
    place.ask(b"one")
    turn, *bodies = worker.recv_multipart()
    lane, (came_s,) = unpack_turn(turn, len(bodies))
    assert lane == ANY
    assert began_s <= came_s <= time.monotonic()


def test_a_turn_without_times() -> None:
    assert unpack_turn(pack_turn(QUICK, [1.5, 2.5]), 2) == (QUICK, (1.5, 2.5))
    assert unpack_turn(QUICK, 2) == (QUICK, (0.0, 0.0))
    assert unpack_turn(b"", 1) == (b"", (0.0,))
