"""When a broken subscription is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

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


def tries(chance: float, stop_after: int = 0) -> list[float]:
    clock, found = Clock(), []

    def connect() -> None:
        found.append(round(clock.now_s, 3))
        if len(found) == stop_after:
            subject.stop()

    loop: asyncio.AbstractEventLoop = clock  # type: ignore[assignment]
    subject = Rejoin(loop, connect, lambda: chance)
    subject.begin()
    clock.run()
    return found


def test_soon_then_every_second_or_two_and_not_for_ever() -> None:
    assert tries(0.0) == [0.2 + number for number in range(rejoin.TRIES)]
    assert tries(1.0)[:3] == [1.2, 3.2, 5.2]


def test_once_it_is_there_nothing_more_is_tried() -> None:
    assert tries(0.0, stop_after=2) == [0.2, 1.2]


def test_who_says_how_long_to_wait_waits_so_long() -> None:
    assert is_wanted({"master", "id"})
    assert not is_wanted({"master", "recon_max"})
    assert not is_wanted({"recon_randomize"})
