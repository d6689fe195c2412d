"""When a broken subscription is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from saltlite.minion import rejoin
from saltlite.minion.rejoin import Rejoin, is_wanted


class Clock:
    """Stands in for a loop: time goes forward from one timer to the next."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.timers: list[tuple[float, Callable[[], None], list[bool]]] = []

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Any:
        cancelled: list[bool] = []
        self.timers.append((self.now_s + delay_s, call, cancelled))

        class Handle:
            def cancel(self) -> None:
                cancelled.append(True)

        return Handle()

    def run(self) -> None:
        while self.timers:
            self.timers.sort(key=lambda timer: timer[0])
            self.now_s, call, cancelled = self.timers.pop(0)
            if not cancelled:
                call()


def make(clock: Clock, chance: float, found: list[float]) -> Rejoin:
    loop: asyncio.AbstractEventLoop = clock  # type: ignore[assignment]
    return Rejoin(loop, lambda: found.append(round(clock.now_s, 3)), lambda: chance)


@pytest.mark.parametrize(
    ("chance", "at_s"), [(0.0, [0.2, 1.2, 3.2, 7.2]), (1.0, [1.2, 3.2, 6.2, 11.2])]
)
def test_soon_then_more_seldom_and_not_for_ever(chance: float, at_s: list[float]) -> None:
    clock, found = Clock(), []
    subject = make(clock, chance, found)
    subject.note_up()
    subject.note_loss()
    clock.run()
    assert found == pytest.approx(at_s)


def test_once_it_is_there_nothing_more_is_tried() -> None:
    clock, found = Clock(), []
    subject = make(clock, 0.0, found)
    subject.note_up()
    subject.note_loss()
    clock.call_later(0.5, subject.note_up)
    clock.run()
    assert found == [0.2]


def test_what_takes_connections_and_ends_them_is_not_asked_without_end() -> None:
    clock, found = Clock(), []
    subject = make(clock, 0.0, found)
    subject.note_loss()  # it was never up
    subject.note_up()
    for number in range(50):
        clock.call_later(number / 10, subject.note_loss)
    clock.run()
    assert len(found) == rejoin.TRIES


def test_who_says_how_long_to_wait_waits_so_long() -> None:
    assert is_wanted({"master", "id"})
    assert not is_wanted({"master", "recon_max"})
    assert not is_wanted({"recon_randomize"})
