"""A worker makes what answers requests with its first one, and keeps it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import zmq

from saltlite.master.child import Life
from saltlite.master.lanes import ANY, pack_turn
from saltlite.master.mworker import MWorker
from saltlite.master.shared import HeartBeats
from saltlite.transport.addresses import MasterSockets, ipc

PATIENCE_MS = 10_000


class Echo:
    def __init__(self) -> None:
        self.rests = 0

    def begin(self, frame: bytes, *, alone: bool, slow: bool, came_s: float = 0.0) -> bytes:
        return b"re: " + frame

    def finish(self, begun: Sequence[Any]) -> list[bytes]:
        assert not begun
        return []

    def rest(self) -> None:
        self.rests += 1


@dataclass
class Worker:
    """A worker in a thread, and ReqServer's end of its socket."""

    server: zmq.Socket[bytes]
    stop: Callable[[], None]
    made: list[Echo] = field(default_factory=list)

    def ask(self, *frames: bytes) -> list[bytes]:
        self.server.send_multipart((b"1", b"", pack_turn(ANY, [0.0] * len(frames)), *frames))
        assert self.server.poll(PATIENCE_MS)
        return self.server.recv_multipart()[2:]


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    beats, context = HeartBeats(1), zmq.Context[zmq.Socket[bytes]]()
    sockets = MasterSockets(tmp_path)
    server = context.socket(zmq.DEALER)
    server.bind(ipc(sockets.workers(0)))
    parent_fd, parents_fd = os.pipe()
    ready_fd, report_fd = os.pipe()
    life = Life(beats, 0, ready_fd=report_fd, parent_fd=parent_fd, restarts=0, reload=lambda: None)

    def stop() -> None:
        # As a signal does: a flag, and a byte that ends the wait.
        life.stopping = True
        os.write(life._signal_fd, b"\0")
        thread.join(PATIENCE_MS / 1000)
        assert not thread.is_alive()

    one = Worker(server, stop)

    def make(_life: Life, _context: zmq.Context[zmq.Socket[bytes]]) -> Echo:
        one.made.append(Echo())
        return one.made[-1]

    thread = threading.Thread(target=MWorker(0, sockets, make).run, args=(life,))
    thread.start()
    assert os.read(ready_fd, 1) == b"R"
    yield one
    stop()
    context.destroy(linger=0)
    for fd in (parent_fd, parents_fd, ready_fd, life._wake_fd, life._signal_fd):
        os.close(fd)
    beats.close()


def test_nothing_is_made_before_the_first_request(worker: Worker) -> None:
    worker.stop()
    assert worker.made == []


def test_it_is_made_once(worker: Worker) -> None:
    assert worker.ask(b"one") == [b"re: one"]
    assert worker.ask(b"two", b"three") == [b"re: two", b"re: three"]
    worker.stop()
    assert len(worker.made) == 1
    assert worker.made[0].rests >= 2
