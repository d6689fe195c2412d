"""The line of events before EventReturn: order, bounds, and an other end that comes and goes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from saltlite.master import eventqueue
from saltlite.master.eventqueue import EventIntake, EventQueue
from saltlite.transport.bus import bind_private

Context = zmq.Context[zmq.Socket[bytes]]
DEADLINE_MS = 10_000


@pytest.fixture
def context() -> Iterator[Context]:
    one = Context()
    yield one
    one.destroy(linger=0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.ipc"


class Receiver:
    """EventReturn: what it takes, and says that it has given."""

    def __init__(self, path: Path, token: bytes) -> None:
        self._context = Context()
        self.socket = self._context.socket(zmq.DEALER)
        bind_private(self.socket, path)
        self._intake = EventIntake(self.socket, token)

    def join(self, queue: EventQueue) -> None:
        """Say that it is there until the queue has heard it."""
        while not queue.socket.poll(20):
            self._intake.acknowledge()
        queue.send()

    def take(self, count: int, *, gives: bool = True) -> list[bytes]:
        found: list[bytes] = []
        while len(found) < count and self.socket.poll(DEADLINE_MS):
            found += self._intake.take(count - len(found))
        if gives:
            self._intake.acknowledge()
        return found

    def end(self) -> None:
        self._context.destroy(linger=0)


def frames(start: int, end: int) -> list[bytes]:
    return [b"event %d" % number for number in range(start, end)]


def make_queue(context: Context, path: Path, sent: list[bytes], window: int = 100) -> EventQueue:
    queue = EventQueue(context, path, window=window)
    for frame in sent:
        queue.add(frame)
    queue.send()
    return queue


def heed(queue: EventQueue) -> None:
    assert queue.socket.poll(DEADLINE_MS)
    queue.send()


def test_more_than_the_window_arrives_in_order(context: Context, path: Path) -> None:
    sent = frames(0, 350)
    queue, found = make_queue(context, path, sent), list[bytes]()
    receiver = Receiver(path, b"1")
    receiver.join(queue)
    while len(queue):
        found += receiver.take(min(100, len(sent) - len(found)))
        heed(queue)
    assert found == sent
    assert not receiver.socket.poll(50)
    receiver.end()


def test_no_more_than_the_window_is_in_hand(context: Context, path: Path) -> None:
    queue = make_queue(context, path, frames(0, 350))
    receiver = Receiver(path, b"1")
    receiver.join(queue)
    assert receiver.take(100, gives=False) == frames(0, 100)
    assert not receiver.socket.poll(50)
    receiver.end()


def test_what_a_receiver_had_in_hand_when_it_died_goes_to_the_next_one(
    context: Context, path: Path
) -> None:
    queue = make_queue(context, path, frames(0, 30))
    first = Receiver(path, b"1")
    first.join(queue)
    assert first.take(10) == frames(0, 10)
    heed(queue)
    assert first.take(15, gives=False) == frames(10, 25)
    first.end()
    second = Receiver(path, b"2")
    second.join(queue)
    assert second.take(20) == frames(10, 30)
    heed(queue)
    assert len(queue) == 0
    second.end()


def test_a_new_bus_does_not_heed_what_was_said_to_the_one_before(
    context: Context, path: Path
) -> None:
    receiver = Receiver(path, b"1")
    before = Context()
    queue = make_queue(before, path, frames(0, 5))
    receiver.join(queue)
    assert receiver.take(5) == frames(0, 5)
    before.destroy(linger=0)
    queue = make_queue(context, path, frames(5, 9))
    receiver.join(queue)
    assert len(queue) == 4
    assert receiver.take(4) == frames(5, 9)
    receiver.end()


def test_beyond_the_bounds_the_oldest_give_way_and_are_counted(
    context: Context, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now_s = 0.0
    monkeypatch.setattr(eventqueue, "EVENTS_LIMIT", 3)
    monkeypatch.setattr(eventqueue, "BYTES_LIMIT", 100)
    queue = EventQueue(context, path, clock=lambda: now_s)
    for frame in frames(0, 5):
        queue.add(frame)
    now_s = 61.0
    queue.add(b"x" * 95)
    assert caplog.messages == [
        "event_return: 1 events came too fast and are lost",
        "event_return: 4 events came too fast and are lost",
    ]
    receiver = Receiver(path, b"1")
    receiver.join(queue)
    assert receiver.take(1) == [b"x" * 95]
    receiver.end()


def test_what_nobody_takes_at_the_end_is_told(
    context: Context, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_queue(context, path, frames(0, 7)).send_all(0.1)
    assert caplog.messages == ["event_return: 7 events at the end are lost"]


@pytest.mark.parametrize("message", [[b"x"], [b"1", b"2", b"3", b"4"], [b"", b"", b""], [b"", b""]])
def test_what_is_no_message_of_the_two_is_passed_over(
    context: Context, path: Path, message: list[bytes]
) -> None:
    receiver = Receiver(path, b"1")
    queue = make_queue(context, path, frames(0, 1))
    receiver.join(queue)
    receiver.socket.send_multipart(message)
    queue.socket.send_multipart(message)
    heed(queue)
    assert receiver.take(1) == frames(0, 1)
    receiver.end()
