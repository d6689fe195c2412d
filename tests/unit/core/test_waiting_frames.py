"""What waits is bounded in number and in bytes, and the oldest give way."""

from __future__ import annotations

from saltlite.core.waiting_frames import WaitingFrames


def test_the_oldest_go_beyond_so_many_of_them() -> None:
    waiting = WaitingFrames(3, 1000)
    assert [waiting.add(b"%d" % number) for number in range(5)] == [0, 0, 0, 1, 1]
    assert list(waiting) == [b"2", b"3", b"4"]
    waiting.drop(2)
    assert (list(waiting), len(waiting), waiting[0]) == ([b"4"], 1, b"4")


def test_the_oldest_go_beyond_so_many_bytes() -> None:
    waiting = WaitingFrames(10, 100)
    assert [waiting.add(b"x" * size) for size in (40, 60, 1, 99, 101, 100)] == [0, 0, 1, 1, 3, 0]
    assert list(map(len, waiting)) == [100]
    waiting.drop(1)
    assert not waiting
    assert [waiting.add(b"x" * 50) for _ in range(3)] == [0, 0, 1]  # what has gone is not counted
