"""Events of beacons on their way: kept, in order, bounded, and sent until a master takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from saltlite.errors import RequestTimeout, WireError
from saltlite.minion import beacon_events
from saltlite.minion.beacon_events import BATCH, EventQueue, send_events


def events(*numbers: int) -> list[dict[str, Any]]:
    return [{"tag": str(number), "data": {}} for number in numbers]


def tags(found: list[dict[str, Any]]) -> list[int]:
    return [int(event["tag"]) for event in found]


def test_the_oldest_go_when_there_are_too_many() -> None:
    queue = EventQueue(limit=3)
    queue.add(events(1, 2))
    queue.add(events(3, 4, 5))
    assert queue.dropped == 2
    assert tags(queue.batch()) == [3, 4, 5]
    queue.add(events(*range(10)))
    assert queue.dropped == 9
    assert tags(queue.batch()) == [7, 8, 9]


def test_what_is_put_back_comes_first_as_far_as_there_is_room() -> None:
    queue = EventQueue(limit=3)
    queue.add(events(1, 2, 3))
    taken = queue.batch()
    queue.add(events(4))
    queue.put_back(taken)
    assert queue.dropped == 1
    assert tags(queue.batch()) == [2, 3, 4]


def test_a_batch_is_bounded() -> None:
    queue = EventQueue()
    queue.add(events(*range(BATCH + 1)))
    assert len(queue.batch()) == BATCH
    assert tags(queue.batch()) == [BATCH]
    assert queue.batch() == []


class Master:
    """Answers requests one after the other; the last answer is for all that follow."""

    name = "master"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.got: list[list[int]] = []

    async def request(
        self, load: dict[str, Any], *, timeout_s: float, tries: int, lane: str
    ) -> Any:
        assert {key: load[key] for key in ("cmd", "pretag")} == {
            "cmd": "_minion_event",
            "pretag": None,
        }
        self.got.append(tags(load["events"]))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def send(queue: EventQueue, master: Master, is_wanted: Callable[[], bool] = lambda: True) -> None:
    asyncio.run(send_events(queue, master, "main", is_wanted))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beacon_events, "RETRY_S", 0.0)


TOO_MANY = {"refused": "more than 100 events a second"}


@pytest.mark.parametrize(
    ("answers", "got"),
    [
        ([None], [[1, 2]]),
        ([RequestTimeout("m", 5.0), None], [[1, 2], [1, 2]]),
        ([TOO_MANY, TOO_MANY, None], [[1, 2], [1, 2], [1, 2]]),
        ([{"refused": "a minion may not use the tag 'x'"}], [[1, 2]]),
        ([WireError("too long")], [[1, 2]]),
    ],
)
def test_events_are_sent_until_the_master_has_them_or_never_will(answers: Any, got: Any) -> None:
    queue, master = EventQueue(), Master(*answers)
    queue.add(events(1, 2))
    send(queue, master)
    assert master.got == got
    assert len(queue) == 0


def test_a_line_that_is_not_wanted_any_more_leaves_the_rest() -> None:
    queue, master = EventQueue(), Master(RequestTimeout("m", 5.0))
    queue.add(events(1))
    send(queue, master, lambda: len(master.got) < 2)
    assert master.got == [[1], [1]]
    assert tags(queue.batch()) == [1]


def test_what_is_lost_is_said(caplog: pytest.LogCaptureFixture) -> None:
    queue = EventQueue(limit=1)
    queue.add(events(1, 2, 3))
    send(queue, Master(None))
    assert "2 events of beacons for master master are lost" in caplog.text
    assert queue.dropped == 0


def test_a_cancelled_sending_loses_nothing() -> None:
    class Silent(Master):
        async def request(self, load: dict[str, Any], **options: Any) -> Any:
            self.got.append(tags(load["events"]))
            await asyncio.sleep(100)

    async def cancel() -> None:
        task = asyncio.create_task(send_events(queue, master, "main", lambda: True))
        while not master.got:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    queue, master = EventQueue(), Silent(None)
    queue.add(events(1, 2))
    asyncio.run(cancel())
    assert tags(queue.batch()) == [1, 2]
