"""Queues of what goes up, with a master above that is not there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from saltlite.errors import RequestTimeout
from saltlite.master.forwardqueue import Waiting
from saltlite.syndic import up
from saltlite.syndic.sources import Returned
from saltlite.syndic.up import Pace, Uplinks, UpperQueue

JID = "20260102030405000006"
TIMEOUT = RequestTimeout("x", 1)


class Store:
    """The lower master's, with every return there is asked for."""

    def __init__(self) -> None:
        self.dropped: list[Waiting] = []
        self.gone: set[str] = set()

    def read_new(self) -> list[Waiting]:
        return []

    def read_returns(self, waiting: Sequence[Waiting], most_bytes: int) -> list[Returned]:
        fitting = waiting if most_bytes > 1 else waiting[:1]
        return [
            (one, None if one.id in self.gone else {"return": one.id, "retcode": 0})
            for one in fitting
        ]

    def read_job(self, jid: str) -> Mapping[str, Any]:
        return {"fun": "test.ping", "tgt": "*", "jid": jid}

    def drop(self, gone: Sequence[Waiting]) -> None:
        self.dropped += gone

    def hear(self, tag: str, data: Mapping[str, Any]) -> None:
        pass


class Upper:
    """A master above that answers what it is told to, then ``None``."""

    is_up = True

    def __init__(self, name: str = "up", answers: Sequence[object] = ()) -> None:
        self.name = name
        self.answers = list(answers)
        self.asked: list[Mapping[str, Any]] = []

    async def request(self, load: Mapping[str, object], **_options: object) -> Any:
        self.asked.append(load)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


def minions(load: Mapping[str, Any]) -> list[str]:
    return [one for part in load["load"] for one in part["return"]]


def make_queue(link: Upper, store: Store) -> UpperQueue:
    return UpperQueue(link, "syn", store, Pace(0.0, 1.0, 2))


async def run_until(queue: UpperQueue, is_done: Any) -> None:
    task = asyncio.create_task(queue.run())

    async def wait() -> None:
        while not is_done():
            await asyncio.sleep(0)

    try:
        await asyncio.wait_for(wait(), 20)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def send(link: Upper, store: Store, names: Sequence[str], monkeypatch: Any = None) -> UpperQueue:
    async def course() -> UpperQueue:
        queue = make_queue(link, store)
        for number, name in enumerate(names):
            queue.put_return(Waiting(number, JID, name))
        await run_until(queue, lambda: len(store.dropped) == len(names))
        return queue

    return asyncio.run(course())


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "FIRST_RETRY_S", 0.0)


def test_returns_go_together_and_are_dropped_when_they_are_above() -> None:
    link, store = Upper(), Store()
    send(link, store, ["a", "b"])
    (load,) = link.asked
    assert load["cmd"] == "_syndic_return"
    assert minions(load) == ["a", "b"]
    assert load["load"][0]["load"]["fun"] == "test.ping"


@pytest.mark.parametrize("answer", [TIMEOUT, "", {}, False])
def test_what_is_not_taken_is_sent_again(answer: object) -> None:
    link, store = Upper(answers=[answer]), Store()
    send(link, store, ["a", "b"])
    assert [minions(load) for load in link.asked] == [["a", "b"], ["a", "b"]]
    # Nothing says that the first one arrived, so the job is told once more.
    assert [bool(load["load"][0]["load"]) for load in link.asked] == [True, True]


def test_a_return_whose_job_is_forgotten_is_dropped() -> None:
    link, store = Upper(), Store()
    store.gone = {"b"}
    send(link, store, ["a", "b", "c"])
    assert minions(link.asked[0]) == ["a", "c"]


def test_so_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "RETURNS_AT_ONCE", 2)
    link, store = Upper(), Store()
    send(link, store, ["a", "b", "c"])
    assert [minions(load) for load in link.asked] == [["a", "b"], ["c"]]
    assert link.asked[1]["load"][0]["load"] == {}


def test_so_many_bytes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "BYTES_AT_ONCE", 1)
    link, store = Upper(), Store()
    send(link, store, ["a", "b"])
    assert [minions(load) for load in link.asked] == [["a"], ["b"]]


def test_events_go_before_returns_and_outlast_a_timeout() -> None:
    async def course() -> list[str]:
        link, store = Upper(answers=[TIMEOUT]), Store()
        queue = make_queue(link, store)
        queue.put_return(Waiting(1, JID, "a"))
        queue.put_event({"tag": JID, "data": {"minions": ["a"]}})
        await run_until(queue, lambda: store.dropped)
        assert link.asked[1]["events"] == [{"tag": JID, "data": {"minions": ["a"]}}]
        assert link.asked[1]["pretag"] == "syndic/syn"
        return [str(load["cmd"]) for load in link.asked]

    assert asyncio.run(course()) == ["_minion_event", "_minion_event", "_syndic_return"]


def test_of_too_many_events_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def course() -> list[str]:
        monkeypatch.setattr(up, "EVENTS_MOST", 2)
        link = Upper()
        queue = make_queue(link, Store())
        for tag in ("a", "b", "c"):
            queue.put_event({"tag": tag, "data": {}})
        await run_until(queue, lambda: link.asked)
        return [one["tag"] for one in link.asked[0]["events"]]

    assert asyncio.run(course()) == ["b", "c"]


def test_returns_go_to_who_asked_or_to_one_that_takes_something() -> None:
    async def course() -> None:
        uplinks = Uplinks(lambda: 0.0, at_random=False)
        for name in ("left", "right"):
            uplinks.queues[name] = make_queue(Upper(name), Store())
        left, right = uplinks.queues["left"], uplinks.queues["right"]
        uplinks.route(Waiting(1, JID, "a"), "right")
        assert (left.has_returns, right.has_returns) == (False, True)
        uplinks.route(Waiting(2, JID, "b"), None)
        assert left.has_returns
        left.take_over()
        right.failing_since_s = None
        uplinks.route(Waiting(3, JID, "c"), "gone")
        assert not left.has_returns

    asyncio.run(course())


def test_returns_for_a_master_that_is_away_go_to_another_after_a_while() -> None:
    async def course() -> None:
        uplinks = Uplinks(lambda: 0.0, at_random=True)
        for name in ("left", "right"):
            uplinks.queues[name] = make_queue(Upper(name), Store())
        left, right = uplinks.queues["left"], uplinks.queues["right"]
        left.failing_since_s, right.failing_since_s = 100.0, 100.0
        uplinks.route(Waiting(1, JID, "a"), "left")
        uplinks.give_over(1000.0)
        assert left.has_returns, "the other one is away, too"
        right.failing_since_s = None
        uplinks.give_over(100.0 + up.GIVEN_OVER_S - 1)
        assert left.has_returns
        uplinks.give_over(100.0 + up.GIVEN_OVER_S)
        assert (left.has_returns, right.has_returns) == (False, True)

    asyncio.run(course())
