"""Where the time of a job went: from marks and states to spans."""

from itertools import pairwise

import pytest

from saltlite.core.dataclasses import replace
from saltlite.core.job_times import JobTimes, MasterRequests
from saltlite.jobs import marks
from saltlite.jobs.marks import JOB, RETURN, SEEN, SENT, Mark
from saltlite.jobs.timeline import (
    BEFORE_STATES,
    MasterTimes,
    Span,
    State,
    Timeline,
    master_times,
    read_states,
    timeline,
)

JID = "20260102030405000006"
S = 1_000_000
NOON = 1_767_355_200 * S  # 2026-01-02 12:00 UTC

MASTER = MasterTimes(
    asked_us=NOON,
    came_us=NOON + 10,
    taken_us=NOON + 20,
    stored_us=NOON + 50,
    handed_us=NOON + 60,
    sent_us=NOON + 100,
    return_came_us=NOON + 3 * S,
    return_taken_us=NOON + 3 * S + 10,
    return_stored_us=NOON + 3 * S + 40,
    fired_us=NOON + 3 * S + 50,
    seen_us=NOON + 3 * S + 90,
)
OWN = JobTimes(NOON + 200, NOON + 300, NOON + 400, NOON + 2 * S, NOON + 2 * S + 10)


def test_marks_are_told_apart():
    web1, web2 = marks.number_of("web1"), marks.number_of("web2")
    found = [
        Mark("MWorker-1", JOB, 0, (1, 2, 3, 4, 5)),
        Mark("Publisher", SENT, 0, (6, 0, 0, 0, 0)),
        Mark("MWorker-2", RETURN, web1, (7, 8, 9, 10, 0)),
        Mark("MWorker-3", RETURN, web2, (70, 80, 90, 100, 0)),
        Mark("salt", SEEN, web1, (11, 0, 0, 0, 0)),
        Mark("salt", SEEN, web2, (110, 0, 0, 0, 0)),
    ]
    times = MasterTimes(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "MWorker-1", "MWorker-2")
    assert master_times(found, JID, "web1") == times


def test_without_marks_the_jid_says_when_the_job_was_published():
    assert master_times([], JID, "web1").stored_us == 1_767_323_045_000_006


def test_a_job_that_was_sent_once_more_was_sent_at_first():
    found = [Mark("Publisher", SENT, 0, (one, 0, 0, 0, 0)) for one in (600, 6, 60)]
    assert master_times(found, JID, "web1").sent_us == 6


def test_a_job_handed_over_behind_its_arrival_makes_no_clock_go_ahead():
    late = replace(MASTER, sent_us=0, handed_us=NOON + 250)
    assert timeline("web1", late, OWN).ahead_us == 0


def test_moments_that_cross_leave_neither_gap_nor_overlap():
    """A worker says that a job is handed over, when Publisher has long sent it."""
    late = replace(MASTER, handed_us=NOON + 250, fired_us=NOON + 3 * S + 95)
    line = timeline("web1", late, OWN)
    for before, after in pairwise(line.spans):
        assert before.begin_us <= before.end_us == after.begin_us
    assert sum(one.took_us for one in line.spans) == line.total_us


def test_spans_follow_one_another_without_gaps():
    line = timeline("web1", MASTER, OWN)
    for before, after in zip(line.spans, line.spans[1:], strict=False):
        assert before.end_us == after.begin_us
    assert line.total_us == 3 * S + 90
    assert sum(span.took_us for span in line.spans) == line.total_us
    assert line.spans[line.longest].what == "function ran"
    assert (line.notes, line.ahead_us) == ([], 0)
    assert [span.where for span in line.spans] == (
        ["salt", "ReqServer", "MWorker", "MWorker", "Publisher"]
        + ["web1"] * 6
        + ["ReqServer", "MWorker", "MWorker", "salt"]
    )


@pytest.mark.parametrize("ahead_s", [3600, -7, 2])
def test_a_clock_that_is_apart_is_said_and_allowed_for(ahead_s):
    by = ahead_s * S
    own = JobTimes(
        OWN.received_us + by, OWN.begun_us + by, OWN.found_us + by, OWN.ended_us + by,
        OWN.made_us + by, {"_pillar": MasterRequests("_pillar", OWN.found_us + by, 1, 500)},
    )  # fmt: skip
    line = timeline("web1", MASTER, own)
    # There it took 100 µs, and back 999,990 µs: half of the difference cannot be known.
    assert abs(line.ahead_us - by) <= S // 2
    assert "clock of web1" in line.notes[0]
    assert ("ahead of" if ahead_s > 0 else "behind") in line.notes[0]
    assert min(span.begin_us for span in line.spans) == MASTER.asked_us
    assert line.total_us == 3 * S + 90
    pillar = next(span for span in line.spans if "pillar" in span.what)
    ran = next(span for span in line.spans if span.what == "function ran")
    assert ran.begin_us <= pillar.begin_us < ran.end_us


def test_clocks_that_do_not_contradict_each_other_are_left_alone():
    assert timeline("web1", MASTER, OWN).ahead_us == 0


def test_a_real_minion_has_states_alone():
    states = [
        State("pkg.installed nginx", 0, 5 * S, S),
        State("service.running nginx", 1, 6 * S, S // 2),
    ]
    line = timeline("web1", MASTER, None, states)
    inner = [span for span in line.spans if span.inner]
    assert [span.what for span in inner] == ["pkg.installed nginx", "service.running nginx"]
    assert inner[-1].end_us == MASTER.return_came_us
    assert "says nothing of its own steps" in line.notes[0]
    assert line.spans[line.longest].what.startswith("job on its way, run by the minion")


@pytest.mark.parametrize("zone_h", [0, 5.5, -8])
def test_states_stand_where_they_ran_whatever_the_zone(zone_h):
    day = (12 * 3600 + int(zone_h * 3600)) * S
    states = [State("a.b x", 0, day + S, S // 2), State("a.b y", 1, day + S + S // 2, S // 4)]
    line = timeline("web1", MASTER, OWN, states)
    before, first, second = (span for span in line.spans if span.inner)
    assert (before.what, before.begin_us, before.end_us) == (BEFORE_STATES, OWN.found_us, NOON + S)
    assert (first.begin_us, first.end_us) == (NOON + S, NOON + S + S // 2)
    assert second.end_us == NOON + S + 3 * S // 4


def test_the_longest_is_the_one_that_nothing_explains():
    outer = Span(0, 100, "m", "function ran")
    assert (
        Timeline([outer, Span(0, 90, "m", "state", inner=True), Span(100, 120, "m", "x")]).longest
        == 1
    )
    assert (
        Timeline([outer, Span(5, 10, "m", "state", inner=True), Span(100, 120, "m", "x")]).longest
        == 0
    )
    assert Timeline([]).longest == -1


def test_states_are_read_from_a_return():
    value = {
        "pkg_|-web_|-nginx_|-installed": {
            "__run_num__": 1, "__id__": "web", "start_time": "00:00:01.500000", "duration": 12.5,
        },
        "test_|-a_|-a_|-nop": {
            "__run_num__": 0, "__id__": "a", "start_time": "23:59:59.000001", "duration": 1,
        },
        "broken_|-a_|-a_|-nop": {"__run_num__": 2, "start_time": "soon", "duration": 1},
        "other": "text",
    }  # fmt: skip
    assert read_states(value) == [
        State("test.nop a", 0, 86_399_000_001, 1000),
        # After midnight it goes on rising.
        State("pkg.installed web", 1, 86_400 * S + 1_500_000, 12_500),
    ]
    assert read_states(["no map"]) == []
    assert read_states(True) == []


def test_a_job_that_has_not_returned_ends_where_it_is_known():
    line = timeline("web1", replace(MASTER, return_came_us=0, return_taken_us=0,
                                    return_stored_us=0, fired_us=0, seen_us=0), None)  # fmt: skip
    assert line.spans[-1].what == "job sealed, signed and sent"


def test_an_old_job_says_what_is_missing():
    line = timeline("web1", MasterTimes(stored_us=NOON), OWN)
    assert line.spans[0].begin_us == NOON
    assert any("gone" in note for note in line.notes)
