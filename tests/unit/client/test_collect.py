"""Collector: what comes from the bus and the job store becomes outcomes, in virtual time."""

import pytest

from saltlite.client.collect import (
    ENDED_KEPT,
    Collector,
    MinionReturn,
    NotReturned,
    Printed,
    is_running,
)
from saltlite.transport.bus import Event


class Bus:
    """A bus whose events come at given times; waiting moves the clock."""

    def __init__(self, *timed):
        self.now = 0.0
        self.timed = sorted(timed, key=lambda pair: pair[0])
        self.lost = 0
        self.connections = 1

    def clock(self):
        return self.now

    def at(self, moment, tag, **data):
        self.timed.append((moment, Event(tag, data)))
        self.timed.sort(key=lambda pair: pair[0])

    def get(self, timeout_s):
        if self.timed and self.timed[0][0] <= self.now + timeout_s:
            moment, event = self.timed.pop(0)
            self.now = max(self.now, moment)
            if callable(event):
                event(self)
                return None
            return event
        self.now += timeout_s
        return None

    def close(self):
        pass


class Store(dict):
    def returns(self, jid):
        return self.get(jid, {})


def returned(jid, minion, value=True, **more):
    return Event(f"salt/job/{jid}/ret/{minion}", {"return": value, "retcode": 0, **more})


def collect(bus, *minions, ask=None, store=None, jid="1"):
    collector = Collector(
        bus,
        timeout_s=5.0,
        gather_job_timeout_s=10.0,
        ask=ask or (lambda jid, minions: None),
        store=store,
        clock=bus.clock,
    )
    collector.add(jid, minions)
    return collector


def test_returns_come_in_order_and_then_it_ends():
    bus = Bus((0.2, returned("1", "b", 5, out="txt")), (0.1, returned("1", "a")))
    outcomes = list(collect(bus, "a", "b").outcomes())
    assert outcomes == [
        MinionReturn("1", "a", True),
        MinionReturn("1", "b", 5, out="txt"),
    ]
    assert bus.now == 0.2


def test_other_jobs_and_other_tags_are_passed_over():
    bus = Bus(
        (0.1, returned("2", "a")),
        (0.1, Event("salt/job/1/new", {"minions": ["a"]})),
        (0.1, Event("salt/job/1/ret/a", {"no": "return"})),
        (0.2, returned("1", "a")),
    )
    assert [one.id for one in collect(bus, "a").outcomes()] == ["a"]


def test_the_same_return_counts_once():
    bus = Bus((0.1, returned("1", "a", 1)), (0.1, returned("1", "a", 2)), (0.2, returned("1", "b")))
    assert [one.return_ for one in collect(bus, "a", "b").outcomes()] == [1, True]


def test_the_silent_are_asked_and_then_given_up_in_order():
    asked = []

    def ask(jid, minions):
        asked.append((jid, tuple(minions)))
        return "p1"

    bus = Bus((0.1, returned("1", "m")))
    outcomes = list(collect(bus, "z", "m", "a", ask=ask).outcomes())
    assert outcomes[1:] == [NotReturned("1", "a"), NotReturned("1", "z")]
    assert asked == [("1", ("a", "z"))]
    assert bus.now == pytest.approx(15.0)


def test_one_that_runs_is_waited_for_until_it_returns():
    bus = Bus((21.0, returned("1", "a")))
    probes = iter("pqrstu")

    def ask(jid, minions):
        probe = next(probes)
        bus.at(bus.now + 0.1, f"salt/job/{probe}/ret/a", **{"return": {"jid": "1", "pid": 7}})
        return probe

    assert list(collect(bus, "a", ask=ask).outcomes()) == [MinionReturn("1", "a", True)]


@pytest.mark.parametrize("answer", [{}, None, "nonsense", [1], {"jid": "other"}, 5])
def test_nonsense_for_an_answer_is_no_sign_of_life(answer):
    assert not is_running({"return": answer}, "1")
    bus = Bus()

    def ask(jid, minions):
        bus.at(bus.now + 0.1, "salt/job/p/ret/a", **{"return": answer})
        return "p"

    assert list(collect(bus, "a", ask=ask).outcomes()) == [NotReturned("1", "a")]
    assert bus.now == pytest.approx(15.0)


def test_a_master_that_cannot_be_asked_is_tried_again_but_not_for_ever():
    tries = []
    bus = Bus()
    outcomes = list(collect(bus, "a", ask=lambda jid, minions: tries.append(bus.now)).outcomes())
    assert outcomes == [NotReturned("1", "a")]
    assert bus.now == pytest.approx(15.0)
    assert 5 <= len(tries) <= 11


def test_the_store_is_read_before_anybody_is_asked():
    store = Store({"1": {"a": {"return": "kept", "retcode": 3}}})
    bus = Bus()
    outcomes = list(collect(bus, "a", store=store, ask=lambda *_: pytest.fail("asked")).outcomes())
    assert outcomes == [MinionReturn("1", "a", "kept", retcode=3)]
    assert bus.now == pytest.approx(5.0)


@pytest.mark.parametrize("field", ["lost", "connections"])
def test_a_gap_on_the_bus_makes_it_read_the_store_at_once(field):
    store = Store()
    bus = Bus()

    def gap(bus):
        setattr(bus, field, getattr(bus, field) + 1)
        store["1"] = {"a": {"return": "slipped"}}

    bus.timed.append((1.0, gap))
    assert list(collect(bus, "a", store=store).outcomes()) == [MinionReturn("1", "a", "slipped")]
    assert bus.now == pytest.approx(1.0)


def test_the_store_is_read_once_more_before_giving_up():
    store = Store()
    bus = Bus()

    def late(bus):
        store["1"] = {"a": {"return": "late"}}

    bus.timed.append((12.0, late))
    outcomes = list(collect(bus, "a", store=store, ask=lambda *_: "p").outcomes())
    assert outcomes == [MinionReturn("1", "a", "late")]


def test_several_jobs_are_collected_side_by_side():
    bus = Bus((0.1, returned("2", "b")), (0.2, returned("1", "a")))
    collector = collect(bus, "a")
    collector.add("2", ["b"])
    assert [(one.jid, one.id) for one in collector.outcomes()] == [("2", "b"), ("1", "a")]


def test_a_job_for_nobody_is_done():
    assert list(collect(Bus()).outcomes()) == []


@pytest.mark.parametrize(
    ("retcode", "code"),
    [(0, 0), (3, 3), (None, 0), ({"a": 0, "b": 2}, 2), ([1, 5], 5), ("x", 1), ({}, 0), (True, 1)],
)
def test_the_exit_code_is_the_highest(retcode, code):
    assert MinionReturn("1", "a", None, retcode=retcode).exit_code == code


def test_a_step_waits_no_longer_than_told():
    bus = Bus()
    collector = collect(bus, "a")
    assert collector.step(0.5) == []
    assert bus.now == 0.5
    assert not collector.is_done


def test_jobs_that_have_ended_take_nothing_any_more():
    """As a batch does: one job after the other, in one collector; each is asked about."""
    bus = Bus()
    number = [0]

    def ask(jid, minions):
        number[0] += 1
        return f"probe{number[0]}"

    collector = Collector(bus, timeout_s=5.0, gather_job_timeout_s=10.0, ask=ask, clock=bus.clock)
    for jid in range(200):
        collector.add(str(jid), ["a"])
        bus.at(bus.now + 6.0, f"salt/job/{jid}/ret/a", **{"return": True})
        assert [one.jid for one in collector.outcomes()] == [str(jid)]
    assert number[0] >= 200
    assert collector._by_probe == {}
    assert len(collector._jobs) == 0
    assert len(collector._ended) == ENDED_KEPT
    assert collector.gather("199").returned == {"a"}


JID = "20260102030405000006"


def below_syndics(bus, *minions, missing=()):
    collector = Collector(
        bus,
        timeout_s=5.0,
        gather_job_timeout_s=10.0,
        ask=lambda _jid, _minions: None,
        clock=bus.clock,
        hold_s=5.0,
    )
    collector.add(JID, minions, missing=missing)
    return collector


def test_minions_that_a_syndic_names_are_waited_for():
    bus = Bus(
        (0.1, Event(JID, {"minions": ["m1", "m2", 5, "../x"]})),
        (0.2, returned(JID, "m1")),
        (6.0, returned(JID, "m2")),
    )
    outcomes = list(below_syndics(bus).outcomes())
    assert [one.id for one in outcomes] == ["m1", "m2"]
    assert bus.now == 6.0


def test_one_that_does_not_return_is_given_up():
    bus = Bus((0.1, Event(JID, {"minions": ["m1"]})))
    assert list(below_syndics(bus).outcomes()) == [NotReturned(JID, "m1")]
    # timeout, gather_job_timeout, and the hold once more for the way up and down
    assert bus.now == 20.1 - 0.1


def test_without_syndics_that_speak_it_is_over_after_the_hold():
    bus = Bus((0.1, returned(JID, "a")))
    assert [one.id for one in below_syndics(bus, "a").outcomes()] == ["a"]
    assert bus.now == 5.0


def test_a_listed_minion_without_a_key_here_may_be_below():
    bus = Bus((0.1, Event(JID, {"minions": ["m1"]})), (0.3, returned(JID, "m1")))
    outcomes = list(below_syndics(bus, missing=["m1", "gone"]).outcomes())
    assert outcomes == [MinionReturn(JID, "m1", True), NotReturned(JID, "gone", unknown=True)]


def test_others_announcements_are_not_heard():
    bus = Bus((0.1, Event("20260102030405000007", {"minions": ["m1"]})), (0.2, Event(JID, {})))
    assert list(below_syndics(bus).outcomes()) == []


def printed(minion, text, **more):
    tag = f"salt/job/1/prog/{minion}/output"
    return Event(tag, {"id": minion, "data": {"output": text, **more}})


def test_what_commands_print_is_heard_of_who_is_waited_for():
    bus = Bus(
        (0.1, printed("a", "1\n")),
        (0.2, printed("stranger", "2\n")),
        (0.3, returned("1", "a")),
        (0.4, printed("a", "3\n")),
        (0.5, printed("b", "4\n", is_cut=True)),
        (0.6, returned("1", "b")),
    )
    heard = []
    collector = collect(bus, "a", "b")
    collector.hear_output = heard.append
    assert [one.id for one in collector.outcomes()] == ["a", "b"]
    assert heard == [Printed("a", "1\n"), Printed("b", "4\n", True)]
    # It is no state that runs.
    assert collector.steps("1") == {}


def test_what_commands_print_is_passed_over_where_nobody_listens():
    bus = Bus((0.1, printed("a", "1\n")), (0.2, returned("1", "a")))
    assert [one.id for one in collect(bus, "a").outcomes()] == ["a"]
