"""A child that waits gives memory back, once after it has worked and not often."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import zmq

from saltlite.master import child
from saltlite.master.child import BEAT_S, Life
from saltlite.master.shared import HeartBeats
from saltlite.process import REST_AFTER_S, REST_EVERY_S


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Poller:
    """Waits on the clock: ``found`` are the answers to come, then nothing happens for ever."""

    clock: Clock
    found: list[list[tuple[object, int]]] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)

    def poll(self, timeout_ms: int) -> list[tuple[object, int]]:
        if self.found:
            return self.found.pop(0)
        self.waits_s.append(timeout_ms / 1000)
        self.clock.now_s += timeout_ms / 1000
        return []


@dataclass
class Waiting:
    life: Life
    clock: Clock
    rests_s: list[float]
    poller: Poller

    def wait(self, seconds: float) -> None:
        """Poll as a child's loop does, for so long."""
        until_s = self.clock.now_s + seconds
        while self.clock.now_s < until_s:
            self.life.poll(self.poller)  # type: ignore[arg-type]  # all that is asked of it

    def work(self) -> None:
        self.poller.found.append([("socket", zmq.POLLIN)])
        assert self.life.poll(self.poller) == [("socket", zmq.POLLIN)]  # type: ignore[arg-type]


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waiting]:
    clock, rests_s = Clock(), []
    monkeypatch.setattr(child.time, "monotonic", clock)
    monkeypatch.setattr(child.process, "rest", lambda: rests_s.append(clock.now_s))
    beats = HeartBeats(1)
    parent_fd, parents_fd = os.pipe()
    life = Life(beats, 0, ready_fd=-1, parent_fd=parent_fd, restarts=0, reload=lambda: None)
    yield Waiting(life, clock, rests_s, Poller(clock))
    for fd in (parent_fd, parents_fd, life._wake_fd, life._signal_fd):
        os.close(fd)
    beats.close()


def test_one_that_waits_rests_once(waiting: Waiting) -> None:
    waiting.wait(1000)
    assert waiting.rests_s == [1002.0]
    assert set(waiting.poller.waits_s[1:]) == {BEAT_S}


def test_it_rests_again_after_work_but_not_often(waiting: Waiting) -> None:
    waiting.wait(4)
    waiting.work()
    waiting.wait(1000)
    assert len(waiting.rests_s) == 2
    between_s = waiting.rests_s[1] - waiting.rests_s[0]
    assert REST_EVERY_S <= between_s <= REST_EVERY_S + BEAT_S
    waiting.work()
    waiting.wait(REST_AFTER_S + BEAT_S)
    assert len(waiting.rests_s) == 3


def test_one_that_is_at_work_does_not_rest(waiting: Waiting) -> None:
    for _ in range(100):
        waiting.work()
        waiting.clock.now_s += 1
    assert waiting.rests_s == []
