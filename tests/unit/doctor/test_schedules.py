import pytest
from doctor_facts import show

from saltlite.doctor.schedules import judge_entries, read_entries


def test_a_schedule_that_is_fine():
    assert show(judge_entries({"a": {"function": "test.ping", "minutes": 5}}, "x")) == []
    assert show(judge_entries(None, "x")) == []
    assert show(judge_entries({"enabled": False, "a": {"enabled": False}}, "x")) == []


def test_an_entry_that_runs_all_the_time():
    assert show(judge_entries({"a": {"function": "test.ping", "seconds": 2}}, "x")) == [
        ("warning", "a runs test.ping every 2 s", "x", "a longer interval, or a beacon")
    ]


@pytest.mark.parametrize(
    "entry", [{"seconds": 60}, {"function": "a.b", "seconds": 5, "cron": "* * * * *"}]
)
def test_an_entry_that_cannot_run(entry):
    ((severity, what, _where, mend),) = show(judge_entries({"a": entry}, "x"))
    assert (severity, mend) == ("warning", "docs/schedule.md has all forms")
    assert what.startswith("an entry does not run: ")


def test_names_of_times_may_be_known_elsewhere():
    assert show(judge_entries({"a": {"function": "a.b", "when": "tea time"}}, "x")) == []


def test_what_is_spread():
    given = {"function": "a.b", "cron": "0 3 * * *"}
    (one,), _wrong = read_entries({"a": given})
    assert (one.at, one.is_spread, one.per_second) == ("0 3 * * *", False, 0.0)
    assert read_entries({"a": {**given, "splay": 60}})[0][0].is_spread
    assert read_entries({"splay": 60, "a": given})[0][0].is_spread
