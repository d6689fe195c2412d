"""When jobs of a schedule are due: tables of entries, times, and what comes of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from saltlite.core.localtime import clock_of
from saltlite.core.moments import UnreadableMoment, read_moment
from saltlite.core.schedule import (
    BadSchedule,
    entry_of,
    next_fire,
    skip_ends,
    timing_of,
    why_not,
)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


NOW = at("2026-11-18T12:00:00")  # a Wednesday


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("5:00pm", "2026-11-18T17:00:00"),
        ("17:00", "2026-11-18T17:00:00"),
        ("5pm", "2026-11-18T17:00:00"),
        ("12:00:01", "2026-11-18T12:00:01"),
        ("12:00am", "2026-11-19T00:00:00"),
        ("11:59am", "2026-11-19T11:59:00"),
        ("Monday 8:30am", "2026-11-23T08:30:00"),
        ("Wed 1pm", "2026-11-18T13:00:00"),
        ("Wednesday 11:00", "2026-11-25T11:00:00"),
        ("2030-01-02 5:00pm", "2030-01-02T17:00:00"),
        ("2030-01-02T17:00:30", "2030-01-02T17:00:30"),
        ("01/02/2030 5:00pm", "2030-01-02T17:00:00"),
        ("January 2, 2030 17:00", "2030-01-02T17:00:00"),
        ("Dec 24 8pm", "2026-12-24T20:00:00"),
        ("2020-01-02 5:00pm", None),
    ],
)
def test_words_for_times(text: str, due: str | None) -> None:
    assert read_moment(text).after(NOW) == (at(due) if due else None)


@pytest.mark.parametrize("text", ["", "tea", "25:00", "13pm", "5", 5, None, "Monday tea", "5:0"])
def test_what_is_no_time_is_said(text: Any) -> None:
    with pytest.raises(UnreadableMoment):
        read_moment(text)


def due(entry: dict[str, Any], now: datetime = NOW, last: datetime | None = None) -> Any:
    timing = timing_of("j", {"function": "test.ping", **entry}, {"tea": "4:00pm"})
    last = None if last is None else last.astimezone()
    found = next_fire(timing, now.astimezone(), last)
    found = None if found is None else clock_of(found)
    return None if found is None else found.isoformat()


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"seconds": 10}, "2026-11-18T12:00:10"),
        ({"minutes": 1, "seconds": 5}, "2026-11-18T12:01:05"),
        ({"hours": 1, "days": 1}, "2026-11-19T13:00:00"),
        ({"seconds": 10, "run_on_start": True}, "2026-11-18T12:00:00"),
        ({"when": "tea"}, "2026-11-18T16:00:00"),
        ({"when": ["Friday 1pm", "tea"]}, "2026-11-18T16:00:00"),
        ({"once": "2026-11-18T12:30:00"}, "2026-11-18T12:30:00"),
        ({"once": "18.11.26 13", "once_fmt": "%d.%m.%y %H"}, "2026-11-18T13:00:00"),
        ({"once": "2026-11-18T11:30:00"}, None),
        ({"when": "tea", "until": "2026-11-18 3pm"}, None),
        ({"when": "tea", "until": "5pm"}, "2026-11-18T16:00:00"),
        ({"run_explicit": [{"time": "2026-11-18T12:05:00"}]}, "2026-11-18T12:05:00"),
        ({"days": 2, "run_explicit": ["2026-11-18T12:05:00"]}, "2026-11-18T12:05:00"),
        ({}, None),
    ],
)
def test_the_first_time(entry: dict[str, Any], expected: str | None) -> None:
    assert due(entry) == expected


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("2026-11-18T12:00:00", "2026-11-18T12:00:10"),
        ("2026-11-18T11:59:57", "2026-11-18T12:00:07"),
        ("2026-11-18T11:00:00", "2026-11-18T12:00:00"),  # the machine slept: once, now
        ("2026-11-18T15:00:00", "2026-11-18T12:00:10"),  # the clock was set back
    ],
)
def test_an_interval_follows_the_last_time(last: str, expected: str) -> None:
    assert due({"seconds": 10}, last=at(last)) == expected


@pytest.mark.parametrize(
    ("entry", "time", "reason"),
    [
        ({"range": {"start": "8am", "end": "5pm"}}, "12:00", ""),
        ({"range": {"start": "8am", "end": "5pm"}}, "18:00", "not_in_range"),
        ({"range": {"start": "8am", "end": "5pm", "invert": True}}, "18:00", ""),
        ({"range": {"start": "10pm", "end": "2am"}}, "23:00", ""),
        ({"range": {"start": "10pm", "end": "2am"}}, "01:00", ""),
        ({"range": {"start": "10pm", "end": "2am"}}, "12:00", "not_in_range"),
        ({"skip_during_range": {"start": "11am", "end": "1pm"}}, "12:00", "in_skip_range"),
        ({"skip_during_range": {"start": "11am", "end": "1pm"}}, "14:00", ""),
        ({"after": "3pm"}, "12:00", "after_not_passed"),
        ({"after": "3pm"}, "15:01", ""),
        ({"skip_explicit": [{"time": "2026-11-18T12:00:00"}]}, "12:00", "skip_explicit"),
        ({"skip_explicit": [{"time": "2026-11-18T12:00:00"}]}, "12:10", ""),
    ],
)
def test_what_keeps_a_job_from_running(entry: dict[str, Any], time: str, reason: str) -> None:
    timing = timing_of("j", {"function": "test.ping", "seconds": 10, **entry}, {})
    assert why_not(timing, at(f"2026-11-18T{time}:00")) == reason


def test_a_skipped_run_is_made_up_for_when_the_range_is_over() -> None:
    entry = {
        "function": "test.ping",
        "hours": 1,
        "run_after_skip_range": True,
        "skip_during_range": {"start": "11am", "end": "1pm"},
    }
    assert skip_ends(timing_of("j", entry, {}), NOW) == NOW + timedelta(hours=1, seconds=1)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"seconds": 1, "when": "5pm"}, 'Unable to use "seconds", "minutes", "hours", or "days"'),
        ({"when": "5pm", "cron": "* * * * *"}, 'Unable to use "when" and "cron"'),
        ({"cron": "* * * *"}, "it takes five fields. Ignoring job j."),
        ({"when": "tee"}, "Date string could not be parsed"),
        ({"seconds": 0}, "more than 0 seconds"),
        ({"seconds": "often"}, "could not convert"),
        ({"seconds": 1, "splay": {"start": 5, "end": 1}}, "splay"),
        ({"seconds": 1, "range": "8am"}, "range must be a map"),
        ({"seconds": 1, "range": {"start": "8am"}}, "'end'"),
        ({"once": "soon"}, "does not match format"),
        ({"function": None, "seconds": 1}, "has no function"),
    ],
)
def test_an_entry_that_cannot_be_understood(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(BadSchedule, match=words):
        timing_of("j", {"function": "test.ping", **entry}, {})


def test_an_entry_as_salt_builds_it() -> None:
    given = {
        "function": "test.ping",
        "seconds": 5,
        "job_args": ["a"],
        "job_kwargs": {"b": 1},
        "jid_include": False,
        "maxrunning": 3,
        "enabled": False,
        "return_config": "x",
        "unknown": 3,
    }
    assert entry_of("a", given) == {
        "function": "test.ping",
        "seconds": 5,
        "args": ["a"],
        "kwargs": {"b": 1},
        "maxrunning": 3,
        "name": "a",
        "enabled": False,
        "jid_include": False,
        "return_config": "x",
    }
    with pytest.raises(BadSchedule, match=r"job_args is not a list. please correct and try again."):
        entry_of("a", {"function": "test.ping", "job_args": "x"})


@pytest.mark.parametrize("entry", [{"seconds": 1e-9}, {"seconds": "1e-9"}, {"minutes": 0.001}])
def test_an_interval_is_a_second_at_least(entry: dict[str, Any]) -> None:
    assert due(entry) == (NOW + timedelta(seconds=1)).isoformat()


@pytest.mark.parametrize(
    "entry",
    [
        {"days": 1e9},
        {"seconds": float("inf")},
        {"seconds": float("nan")},
        {"seconds": "\u0661\u0660"},
        {"seconds": 10, "splay": float("inf")},
        {"seconds": 10, "splay": "\u0661"},
        {"cron": "\u0661 * * * *"},
        {"when": "\u0661\u0660:00"},
    ],
)
def test_numbers_beyond_all_bounds_are_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(BadSchedule):
        timing_of("j", {"function": "test.ping", **entry}, {})
