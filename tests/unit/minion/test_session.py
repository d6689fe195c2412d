"""The session: every order of luck and bad luck, without a socket or a clock."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from saltlite.minion.session import (
    Accepted,
    Authenticate,
    Connect,
    Event,
    Exit,
    Failed,
    GiveUp,
    Instruction,
    Lost,
    Pending,
    Reconnected,
    Rejected,
    Say,
    Session,
    SessionOptions,
    SessionStopped,
    Started,
    State,
    Undecryptable,
    Unresolved,
    Wait,
    WaitOver,
    WrongFinger,
)


def session(chance: float = 1.0, **options: Any) -> Session:
    return Session("m:4506", SessionOptions(**options), lambda: chance)


def acts(instructions: list[Instruction]) -> list[Instruction]:
    return [one for one in instructions if not isinstance(one, Say)]


def play(subject: Session, *events: Event, now_s: float = 0.0) -> list[Instruction]:
    """What the last event leads to."""
    got: list[Instruction] = []
    for event in events:
        got = subject.on(event, now_s)
    return acts(got)


UNRESOLVED_TWICE = [Unresolved("x"), WaitOver(), Unresolved("x")]
ANSWERED_BETWEEN = [Unresolved("x"), WaitOver(), Pending(), WaitOver(), Unresolved("x")]
LOST_ITS_NAME = [Accepted(), Lost(), WaitOver(), Unresolved("x")]
"""It has been there: a resolver that is away for a while must not end the minion."""

TABLE: list[tuple[dict[str, Any], list[Event], list[Instruction]]] = [
    ({}, [Started()], [Authenticate()]),
    ({}, [Started(), Started()], []),
    ({}, [Started(), Accepted()], [Connect()]),
    ({}, [Started(), Pending()], [Wait(1)]),
    ({}, [Started(), Pending(), WaitOver()], [Authenticate()]),
    ({}, [Started(), Pending(), WaitOver(), Accepted()], [Connect()]),
    ({"rejected_retry": True}, [Started(), Rejected()], [Wait(1)]),
    ({}, [Started(), Rejected()], [Wait(20)]),
    ({}, [Started(), Rejected(), WaitOver()], [Exit(77)]),
    ({}, [Started(), Rejected(), Accepted()], []),
    ({}, [Started(), WrongFinger("x")], [Exit(42)]),
    ({}, [Started(), Failed("x")], [Wait(1)]),
    ({}, [Started(), Failed("x"), WaitOver()], [Authenticate()]),
    ({}, [Started(), Accepted(), Undecryptable()], [Authenticate()]),
    ({}, [Started(), Accepted(), Reconnected()], [Authenticate()]),
    ({}, [Started(), Accepted(), Reconnected(), Undecryptable()], []),
    ({}, [Started(), Reconnected()], []),
    ({}, [Started(), Accepted(), Undecryptable(), Undecryptable()], []),
    ({}, [Started(), Accepted(), Undecryptable(), Accepted()], []),
    ({}, [Started(), Accepted(), Lost()], [Wait(10)]),
    ({}, [Started(), Accepted(), Lost(), Lost()], []),
    ({}, [Started(), Accepted(), Lost(), WaitOver(), Accepted()], [Connect()]),
    ({}, [SessionStopped()], [Exit(0)]),
    ({}, [Started(), SessionStopped()], [Exit(0)]),
    ({}, [Started(), Pending(), SessionStopped()], [Exit(0)]),
    ({}, [Started(), Accepted(), SessionStopped()], [Exit(0)]),
    ({}, [Started(), Rejected(), SessionStopped()], [Exit(0)]),
    ({}, [Started(), SessionStopped(), SessionStopped()], []),
    ({}, [Started(), SessionStopped(), Accepted()], []),
    ({"failover": True}, [Started(), Failed("x")], [GiveUp("x")]),
    ({"failover": True}, [Started(), Pending()], [Wait(1)]),
    ({"failover": True, "retry_dns_s": 0}, [Started(), Unresolved("x")], [GiveUp("x")]),
    ({}, [Started(), Unresolved("x")], [Wait(1)]),
    ({"retry_dns_s": 0.6}, [Started(), Unresolved("x")], [Wait(0.6)]),
    ({"retry_dns_s": 0}, [Started(), Unresolved("x")], [Exit(68)]),
    ({"retry_dns_s": 0}, [Started(), Unresolved("x"), WaitOver()], []),
    ({"retry_dns_s": 0}, [Started(), Failed("x")], [Wait(1)]),
    ({"retry_dns_count": 0}, [Started(), Unresolved("x")], [Exit(68)]),
    ({"retry_dns_count": 1}, [Started(), Unresolved("x")], [Wait(30)]),
    ({"retry_dns_count": 1}, [Started(), *UNRESOLVED_TWICE], [Exit(68)]),
    ({"retry_dns_count": 1}, [Started(), *ANSWERED_BETWEEN], [Wait(30)]),
    ({"retry_dns_count": 0}, [Started(), *LOST_ITS_NAME], [Wait(1)]),
    ({"failover": True}, [Started(), Accepted(), Lost()], [GiveUp("connection lost")]),
    ({"failover": True}, [Started(), Accepted(), Undecryptable(), Failed("x")], [Wait(1)]),
]


@pytest.mark.parametrize(("options", "events", "expected"), TABLE)
def test_what_follows(
    options: dict[str, Any], events: list[Event], expected: list[Instruction]
) -> None:
    assert play(session(**options), *events) == expected


def waits(subject: Session, event: Event, times: int, now_s: float = 0.0) -> list[float]:
    subject.on(Started(), now_s)
    found = []
    for _ in range(times):
        (wait,) = acts(subject.on(event, now_s))
        assert isinstance(wait, Wait)
        found.append(wait.seconds)
        assert acts(subject.on(WaitOver(), now_s)) == [Authenticate()]
    return found


def test_a_key_that_is_new_is_asked_for_often() -> None:
    assert waits(session(), Pending(), 3) == [1, 1, 1]


@pytest.mark.parametrize(("pending_s", "wait_s"), [(10, 1), (30, 3), (60, 6), (99, 9.9), (500, 10)])
def test_who_accepts_a_key_waits_a_tenth_of_what_it_was_pending(
    pending_s: float, wait_s: float
) -> None:
    subject = session()
    waits(subject, Pending(), 1)
    assert waits(subject, Pending(), 2, now_s=pending_s) == pytest.approx([wait_s, wait_s])


def test_never_longer_than_was_asked_for() -> None:
    subject = session(acceptance_wait_time_s=2.0)
    waits(subject, Pending(), 1)
    assert waits(subject, Pending(), 2, now_s=100) == [2, 2]


def test_or_longer_and_longer_up_to_the_maximum() -> None:
    subject = session(acceptance_wait_time_s=10.0, acceptance_wait_time_max_s=35.0)
    waits(subject, Pending(), 1)
    assert waits(subject, Pending(), 4, now_s=100) == [10, 20, 35, 35]


def test_after_it_was_let_in_it_is_eager_again() -> None:
    subject = session()
    waits(subject, Pending(), 1)
    subject.on(Accepted(), 100)
    subject.on(Undecryptable(), 200)
    assert waits(subject, Pending(), 1, now_s=200) == [1]


def test_failures_back_off_and_stay_short_while_the_master_may_be_booting() -> None:
    assert waits(session(), Failed("x"), 6) == [1, 2, 4, 8, 10, 10]


def test_after_ten_minutes_waits_grow_to_a_minute() -> None:
    subject = session()
    waits(subject, Failed("x"), 6)
    (wait,) = acts(subject.on(Failed("x"), 601))
    assert wait == Wait(60)


def test_jitter_is_full_but_never_a_busy_loop() -> None:
    assert waits(session(chance=0.0), Failed("x"), 5) == [0.5] * 5
    assert waits(session(chance=0.5), Failed("x"), 5) == [0.5, 1, 2, 4, 5]


def test_junk_on_the_publish_port_makes_asking_rarer() -> None:
    subject = session()
    play(subject, Started(), Accepted())
    assert play(subject, Undecryptable()) == [Authenticate()]
    play(subject, Accepted(new_keys=False))
    assert play(subject, Undecryptable(), now_s=0.5) == []
    assert play(subject, Undecryptable(), now_s=1.5) == [Authenticate()]
    play(subject, Accepted(new_keys=False), now_s=1.5)
    assert play(subject, Undecryptable(), now_s=3) == []


def test_junk_without_end_leaves_a_minute_between_two_questions() -> None:
    subject = session()
    play(subject, Started(), Accepted())
    for minute in range(1, 1100):
        assert play(subject, Undecryptable(), now_s=minute * 60) == [Authenticate()]
        play(subject, Accepted(new_keys=False), now_s=minute * 60)
    assert play(subject, Undecryptable(), now_s=minute * 60 + 59) == []


def test_a_real_rotation_makes_it_prompt_again() -> None:
    subject = session()
    play(subject, Started(), Accepted(), Undecryptable(), Accepted(new_keys=False))
    play(subject, Undecryptable(), now_s=2)
    play(subject, Accepted(new_keys=True), now_s=2)
    assert play(subject, Undecryptable(), now_s=2) == [Authenticate()]


def test_the_same_complaint_is_one_line_and_then_one_an_hour() -> None:
    subject = session()
    subject.on(Started(), 0)
    levels = []
    for now_s in (0, 10, 20, 3601):
        levels += [one.level for one in subject.on(Failed("x"), now_s) if isinstance(one, Say)]
        subject.on(WaitOver(), now_s)
    assert levels == [logging.WARNING, logging.DEBUG, logging.DEBUG, logging.WARNING]


class AnySession(RuleBasedStateMachine):
    """Whatever happens, there is always exactly one thing under way."""

    @initialize(
        failover=st.booleans(),
        retry=st.booleans(),
        longest=st.sampled_from([0.0, 60.0]),
        chance=st.floats(0, 1),
    )
    def begin(self, failover: bool, retry: bool, longest: float, chance: float) -> None:
        options = SessionOptions(
            failover=failover, rejected_retry=retry, acceptance_wait_time_max_s=longest
        )
        self.subject = Session("m", options, lambda: chance)
        self.now_s = 0.0
        self.asking = False
        self.waiting = False
        self.over = 0
        self.connected = False
        self.feed(Started())

    def feed(self, event: Event) -> None:
        for one in self.subject.on(event, self.now_s):
            if isinstance(one, Authenticate):
                assert not self.asking
                assert not self.waiting
                self.asking = True
            elif isinstance(one, Wait):
                assert not self.asking
                assert not self.waiting
                assert 0.5 <= one.seconds <= 60
                self.waiting = True
            elif isinstance(one, Connect):
                self.connected = True
            elif isinstance(one, (Exit, GiveUp)):
                self.over += 1

    @precondition(lambda self: self.asking)
    @rule(
        answer=st.sampled_from(
            [
                Accepted(),
                Accepted(new_keys=False),
                Pending(),
                Rejected(),
                Failed("x"),
                WrongFinger("x"),
            ]
        )
    )
    def answer(self, answer: Event) -> None:
        self.asking = False
        self.feed(answer)

    @precondition(lambda self: self.waiting)
    @rule()
    def wait(self) -> None:
        self.waiting = False
        self.feed(WaitOver())

    @rule(event=st.sampled_from([Undecryptable(), Lost(), Started()]), later=st.floats(0, 5000))
    def something(self, event: Event, later: float) -> None:
        self.now_s += later
        self.feed(event)

    @rule()
    def stray_answer(self) -> None:
        if not self.asking:
            self.feed(Accepted())

    @precondition(lambda self: not self.asking)
    @rule()
    def stop(self) -> None:
        self.feed(SessionStopped())
        assert self.over == 1

    @invariant()
    def never_stuck(self) -> None:
        if not hasattr(self, "subject"):
            return
        assert self.over <= 1
        idle_for_good = self.subject.state in (State.UP, State.OVER)
        assert self.asking or self.waiting or idle_for_good
        if self.subject.state is State.UP:
            assert self.connected


TestAnySession = AnySession.TestCase
TestAnySession.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
