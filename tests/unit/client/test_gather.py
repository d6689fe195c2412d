"""Gather: tables in virtual time, and laws that hold for any course of events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltlite.client.gather import Answered, Asked, Expected, Gather, Returned, Tick


def gather(*minions, timeout=5.0, wait=10.0):
    return Gather(minions, timeout_s=timeout, gather_job_timeout_s=wait, now_s=0.0)


def run(subject, *steps):
    """Feed ``(time, event)`` pairs; the last status."""
    status = None
    for now_s, event in steps:
        status = subject.on(event, now_s)
    return status


def test_everybody_returns_and_nobody_is_asked():
    subject = gather("a", "b")
    status = run(subject, (0.1, Returned("a")))
    assert (status.done, status.ask, status.deadline_s) == (False, (), 5.0)
    assert run(subject, (0.2, Returned("b"))).done
    assert (subject.returned, subject.missing, subject.given_up) == ({"a", "b"}, set(), set())


def test_nobody_expected_is_done_at_once():
    assert run(gather(), (0.0, Tick())).done


def test_after_the_timeout_the_missing_are_asked_until_it_was_done():
    subject = gather("a", "b", "c")
    run(subject, (1.0, Returned("b")))
    status = run(subject, (5.0, Tick()))
    assert (status.ask, status.deadline_s, status.done) == (("a", "c"), 15.0, False)
    assert run(subject, (5.5, Tick())).ask == ("a", "c")
    assert run(subject, (6.0, Asked())).ask == ()


def test_silence_is_given_up_after_gather_job_timeout():
    subject = gather("ghost", timeout=2.0)
    run(subject, (2.0, Tick()), (2.0, Asked()))
    assert not run(subject, (11.9, Tick())).done
    assert run(subject, (12.0, Tick())).done
    assert subject.given_up == {"ghost"} == subject.missing


def test_a_master_that_cannot_be_asked_does_not_hold_up_the_end():
    subject = gather("ghost", timeout=2.0)
    status = run(subject, (2.0, Tick()), (7.0, Tick()))
    assert status.ask == ("ghost",)
    assert run(subject, (12.0, Tick())).done


def test_who_says_no_is_given_up_and_may_still_return_until_then():
    subject = gather("a", "b")
    run(subject, (5.0, Tick()), (5.0, Asked()))
    run(subject, (5.1, Answered("a", running=False)), (5.1, Answered("b", running=False)))
    assert not run(subject, (5.2, Returned("a"))).done
    assert run(subject, (15.0, Tick())).done
    assert (subject.returned, subject.given_up) == ({"a"}, {"b"})


def test_who_runs_is_waited_for_and_asked_again():
    subject = gather("a")
    run(subject, (5.0, Tick()), (5.0, Asked()))
    status = run(subject, (5.2, Answered("a", running=True)))
    assert (status.done, status.ask, status.deadline_s) == (False, (), 10.2)
    assert run(subject, (10.2, Tick())).ask == ("a",)
    run(subject, (10.3, Asked()))
    assert run(subject, (20.2, Tick())).done
    assert subject.given_up == {"a"}


def test_a_ghost_is_given_up_while_another_runs_on():
    subject = gather("ghost", "busy")
    run(subject, (5.0, Tick()), (5.0, Asked()), (5.1, Answered("busy", running=True)))
    status = run(subject, (15.0, Tick()))
    assert (status.done, subject.given_up) == (False, {"ghost"})
    assert run(subject, (20.0, Tick())).ask == ("busy",)
    assert run(subject, (21.0, Returned("busy"))).done


def test_one_given_up_may_come_back_late():
    subject = gather("late", "busy")
    run(subject, (5.0, Tick()), (5.0, Asked()), (5.1, Answered("busy", running=True)))
    run(subject, (15.0, Tick()), (16.0, Returned("late")))
    assert (subject.given_up, subject.missing) == (set(), {"busy"})


def test_an_answer_nobody_asked_for_changes_nothing():
    subject = gather("a")
    status = run(subject, (1.0, Answered("a", running=True)))
    assert status.deadline_s == 5.0
    assert run(subject, (5.0, Tick())).ask == ("a",)


def test_a_syndic_names_more_minions():
    subject = gather("a")
    run(subject, (0.1, Expected(frozenset({"b"}))))
    assert not run(subject, (0.2, Returned("a"))).done
    assert run(subject, (0.3, Returned("b"))).done


def test_a_return_of_somebody_unexpected_counts():
    subject = gather("a")
    run(subject, (0.1, Returned("x")))
    assert subject.returned == {"x"}
    assert subject.missing == {"a"}


def test_done_stays_done():
    subject = gather("a")
    run(subject, (1.0, Returned("a")))
    assert run(subject, (99.0, Answered("a", running=True))).done


@pytest.mark.parametrize(("timeout", "wait"), [(0.0, 0.0), (-1.0, -1.0)])
def test_no_time_at_all_still_ends(timeout, wait):
    subject = gather("a", timeout=timeout, wait=wait)
    assert run(subject, (0.0, Tick()), (0.0, Tick()), (0.0, Tick())).done


names = st.sampled_from(["a", "b", "c", "d"])
events = st.one_of(
    st.builds(Returned, names),
    st.just(Asked()),
    st.just(Tick()),
    st.builds(Answered, names, st.just(False)),
    st.builds(Expected, st.frozensets(names, max_size=2)),
)
steps = st.lists(st.tuples(st.floats(0.0, 4.0), events), max_size=30)


@given(st.sets(names), steps, st.floats(0.0, 20.0), st.floats(0.0, 20.0))
def test_without_a_live_answer_it_ends_in_time(minions, course, timeout, wait):
    """Driven as the client drives it: a tick at each deadline, events in between."""
    subject = Gather(minions, timeout_s=timeout, gather_job_timeout_s=wait, now_s=0.0)
    now = 0.0
    status = subject.on(Tick(), now)
    for pause, event in course:
        if isinstance(event, Expected) and status.done:
            continue
        while not status.done and status.deadline_s <= now + pause:
            now = max(now, status.deadline_s)
            status = subject.on(Tick(), now)
        if status.done:
            break
        now += pause
        status = subject.on(event, now)
    for _ in range(3):
        if status.done:
            break
        now = max(now, status.deadline_s)
        status = subject.on(Tick(), now)
    assert status.done
    assert now <= timeout + wait + 1e-6
    assert subject.returned | subject.given_up >= subject.expected
    assert not subject.returned & subject.given_up


@given(st.sets(names, min_size=1), st.lists(st.floats(0.1, 30.0), min_size=1, max_size=10))
def test_a_minion_that_runs_is_never_given_up(minions, pauses):
    subject = Gather(minions, timeout_s=5.0, gather_job_timeout_s=10.0, now_s=0.0)
    now = 0.0
    for pause in pauses:
        now += pause
        status = subject.on(Tick(), now)
        if status.ask:
            subject.on(Asked(), now)
            for minion in status.ask:
                subject.on(Answered(minion, running=True), now)
    assert subject.given_up == set()


def held(*minions):
    return Gather(minions, timeout_s=5.0, gather_job_timeout_s=10.0, now_s=0.0, hold_s=7.0)


def test_syndics_may_name_minions_for_a_while():
    subject = held()
    status = run(subject, (0.0, Tick()))
    assert (status.done, status.deadline_s) == (False, 7.0)
    run(subject, (1.0, Expected(frozenset({"b"}))))
    assert not run(subject, (2.0, Returned("b"))).done
    assert run(subject, (7.0, Tick())).done


def test_whom_a_syndic_names_late_has_the_whole_timeout():
    subject = held()
    run(subject, (6.0, Tick()))
    status = run(subject, (6.5, Expected(frozenset({"b"}))))
    assert (status.ask, status.deadline_s) == ((), 11.0)
    assert run(subject, (11.0, Tick())).ask == ("b",)
