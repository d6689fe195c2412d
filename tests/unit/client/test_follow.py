"""FollowedJobs against a master that is a function: what is asked when, and what is made of it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from saltlite.client.follow import JOBS_AT_ONCE, JOBS_MOST, LONGEST_S, FollowedJobs
from saltlite.errors import MasterRefused, RequestTimeout

JID = "20260102030405000001"


class Clock:
    """Time goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Master:
    """Has returns by ticket; pages of ``page``."""

    def __init__(self, page: int = 1000) -> None:
        self.returns: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[float, Any]] = []
        self.page = page
        self.clock = Clock()
        self.fails: list[Exception] = []

    def send(self, load: Mapping[str, Any]) -> Any:
        assert load["cmd"] == "follow"
        assert len(load["jobs"]) <= JOBS_AT_ONCE
        self.asked.append((self.clock.now, load["jobs"]))
        if self.fails:
            raise self.fails.pop()
        return {"jobs": [self.state(**one) for one in load["jobs"]]}

    def state(self, ticket: str, count: int, had: list[str] | None = None) -> dict[str, Any]:
        if ticket not in self.returns:
            return {"refused": True}
        every = self.returns[ticket]
        if len(every) == count:
            return {"count": count, "returns": {}, "more": False}
        if had is None and count:
            return {"count": len(every), "returns": {}, "more": True}
        new = [one for one in sorted(every) if one not in (had or ())]
        found = {one: {"return": every[one]} for one in new[: self.page]}
        more = len(had or ()) + len(found) < len(every)
        return {"count": len(every), "returns": found, "more": more}

    def follow(self) -> FollowedJobs:
        return FollowedJobs(self.send, clock=self.clock, sleep=self.clock.sleep)


@pytest.fixture
def master() -> Master:
    return Master()


def test_returns_come_as_events(master: Master) -> None:
    master.returns["t"] = {"a": 1, "b": None}
    followed = master.follow()
    followed.add(JID, "t", 3)
    events = [followed.get(5), followed.get(5)]
    assert [one.tag for one in events if one] == [f"salt/job/{JID}/ret/{m}" for m in "ab"]
    assert [one.data for one in events if one] == [{"return": 1}, {"return": None}]
    assert followed.get(0.5) is None
    master.returns["t"]["0"] = 0
    event = followed.get(5)
    assert event is not None
    assert event.tag.endswith("/ret/0")


def test_one_that_is_complete_is_not_asked_for_any_more(master: Master) -> None:
    master.returns["t"] = {"a": 1}
    followed = master.follow()
    followed.add(JID, "t", 1)
    assert followed.get(5) is not None
    assert followed.get(100) is None
    assert len(master.asked) == 1


def test_the_pause_grows_to_a_second_and_a_new_job_ends_it(master: Master) -> None:
    master.returns = {"t": {}, "u": {}}
    followed = master.follow()
    followed.add(JID, "t", 1)
    assert followed.get(30) is None
    times = [at for at, _jobs in master.asked]
    pauses = [round(after - before, 6) for before, after in itertools.pairwise(times)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(LONGEST_S)
    assert len(pauses) < 40
    followed.add("20260102030405000002", "u", 1)
    followed.get(0.0)
    assert master.asked[-1][0] == master.clock.now


def test_the_names_are_told_only_where_there_are_more(master: Master) -> None:
    master.returns["t"] = {"a": 1}
    followed = master.follow()
    followed.add(JID, "t", 2)
    assert followed.get(1) is not None
    assert followed.get(1) is None
    assert all("had" not in one for _at, jobs in master.asked for one in jobs)
    master.returns["t"]["b"] = 2
    assert followed.get(2) is not None
    assert master.asked[-1][1] == [{"ticket": "t", "count": 1, "had": ["a"]}]


def test_pages_follow_at_once() -> None:
    master = Master(page=2)
    master.returns["t"] = {str(number): number for number in range(7)}
    followed = master.follow()
    followed.add(JID, "t", 7)
    found = [followed.get(1) for _ in range(7)]
    assert [one.data["return"] for one in found if one] == list(range(7))
    assert master.clock.now == 100.0


def test_a_master_that_is_away_comes_back(master: Master) -> None:
    master.returns["t"] = {"a": 1}
    master.fails = [RequestTimeout("x", 1), MasterRefused("", "x")]
    followed = master.follow()
    followed.add(JID, "t", 1)
    assert followed.get(5) is not None


@pytest.mark.parametrize("reply", [None, {}, {"jobs": None}, "x", {"jobs": [None]}, [1]])
def test_an_answer_that_makes_no_sense_is_none(reply: Any) -> None:
    clock = Clock()
    followed = FollowedJobs(lambda _load: reply, clock=clock, sleep=clock.sleep)
    followed.add(JID, "t", 1)
    assert followed.get(3) is None
    assert clock.now == pytest.approx(103.0)


def test_a_refused_job_is_dropped_and_the_others_go_on(master: Master, caplog: Any) -> None:
    master.returns["t"] = {"a": 1}
    followed = master.follow()
    followed.add(JID, "old", 1)
    followed.add("20260102030405000002", "t", 1)
    assert followed.get(5) is not None
    assert followed.get(5) is None
    assert len(master.asked) == 1
    assert JID in caplog.text


def test_jobs_are_bounded_and_asked_for_in_parts(master: Master) -> None:
    followed = master.follow()
    for number in range(JOBS_MOST + 5):
        master.returns[str(number)] = {}
        followed.add(str(number), str(number), 1)
    assert followed.get(0.0) is None
    tickets = [one["ticket"] for _at, jobs in master.asked for one in jobs]
    assert tickets == [str(number) for number in range(5, JOBS_MOST + 5)]


def test_nothing_is_asked_for_nobody(master: Master) -> None:
    followed = master.follow()
    assert followed.get(5) is None
    followed.add(JID, "t", 1)
    followed.close()
    assert followed.get(5) is None
    assert master.asked == []
