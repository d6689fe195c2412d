"""Who can have heard a job, for who waits by blocking; the rest is in unit/api/test_hearers.py."""

from __future__ import annotations

from saltlite.client.hearers import LOOK_EVERY_S, SETTLE_S, BlockingHearers


class Kernel:
    """What the kernel shows, and a clock."""

    def __init__(self, *connections: str) -> None:
        self.there: frozenset[str] | None = frozenset(connections)
        self.now = 100.0
        self.hearers = BlockingHearers(lambda: self.there, clock=lambda: self.now)

    def wait(self) -> None:
        self.now += self.hearers.patience()


def test_all_who_were_connected_have_returned() -> None:
    kernel = Kernel("a", "b")
    assert not kernel.hearers.are_all(2), "not before it has settled"
    kernel.wait()
    assert kernel.now == 100 + SETTLE_S
    assert kernel.hearers.are_all(2)


def test_nobody_was_connected() -> None:
    kernel = Kernel()
    kernel.wait()
    assert kernel.hearers.are_all(0)


def test_who_is_silent_or_came_back_is_waited_for() -> None:
    kernel = Kernel("a", "b")
    kernel.there = frozenset(("b", "c"))
    for returned, is_all in ((1, False), (2, False), (3, True)):
        kernel.wait()
        assert kernel.hearers.are_all(returned) is is_all
        assert kernel.hearers.patience() == LOOK_EVERY_S


def test_what_cannot_be_known_tells_nothing() -> None:
    kernel = Kernel("a")
    kernel.there = None
    kernel.wait()
    assert not kernel.hearers.are_all(1)
    kernel.there = frozenset("a")
    kernel.wait()
    assert not kernel.hearers.are_all(1), "a look was missed"
