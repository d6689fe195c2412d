"""Entries of schedules whose runs are compared with real Salt's, on a clock of the test.

Each case is a start (a text of local time without a zone), an end, and a ``schedule``, in which the
job is ``j`` and others are settings. Both sides look at the clock every second (``sparse``: the
first two of each minute), take the longest splay there is, and say at which seconds after the start
which function ran.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from repository import DATA

RECORDED = DATA / "schedule" / "times.json"

START = "2026-11-18T11:58:00"  # a Wednesday
MINUTES = {"range": {"start": "11:59am", "end": "12:02pm"}}
AROUND = {
    "plain": {},
    "in range": MINUTES,
    "not in range": {"range": {**MINUTES["range"], "invert": True}},
    "range is over": {"range": {"start": "8:00am", "end": "9:00am"}},
    "skip range": {"skip_during_range": MINUTES["range"]},
    "made up for": {"skip_during_range": MINUTES["range"], "run_after_skip_range": True},
    "until": {"until": "12:01pm"},
    "until date": {"until": "2026-11-18 12:00"},
    "after": {"after": "12:00pm"},
    "after date": {"after": "2026-11-18T12:01:30"},
    "after and until": {"after": "11:59am", "until": "12:01pm"},
    "splay": {"splay": 7},
    "splay of two": {"splay": {"start": 3, "end": 11}},
    "splay is upside down": {"splay": {"start": 11, "end": 3}},
    "at the start": {"run_on_start": True},
    "at the start in range": {"run_on_start": True, **MINUTES},
    "not at the start": {"run_on_start": False},
    "disabled": {"enabled": False},
    "enabled": {"enabled": True},
    "dry run": {"dry_run": True},
    "no jid": {"jid_include": False},
    "several": {"maxrunning": 3},
    "skipped once": {
        "skip_explicit": [{"time": "2026-11-18T12:00:00", "time_fmt": "%Y-%m-%dT%H:%M:%S"}]
    },
    "one more": {
        "run_explicit": [{"time": "2026-11-18T12:00:30", "time_fmt": "%Y-%m-%dT%H:%M:%S"}]
    },
}
WHEN = {
    "seconds": {"seconds": 20},
    "text": {"seconds": "30"},
    "minutes": {"minutes": 1},
    "mixed": {"minutes": 1, "seconds": 15},
    "cron": {"cron": "* * * * *"},
    "cron of two": {"cron": "*/2 12 * * wed"},
    "when": {"when": "12:00pm"},
    "when of day": {"when": "Wednesday 12:01pm"},
    "when of date": {"when": "2026-11-18 12:00:00"},
    "whens": {"when": ["11:59am", "12:00:30pm", "12:03pm"]},
    "once": {"once": "2026-11-18T12:00:00"},
    "once as written": {"once": "18.11.2026 12:00", "once_fmt": "%d.%m.%Y %H:%M"},
}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "hours": ("2026-11-18T15:00:00", {"hours": 1}),
    "hours and minutes": ("2026-11-18T15:00:00", {"hours": 1, "minutes": 5}),
    "days": ("2026-11-19T12:05:00", {"days": 1}),
    "cron of the hour": ("2026-11-18T16:00:00", {"cron": "15 * * * *"}),
    "cron of work": ("2026-11-19T12:00:00", {"cron": "0 8-10 * * mon-fri"}),
    "cron of either": ("2026-11-21T00:10:00", {"cron": "0 0 20 * sat"}),
    "when every day": ("2026-11-20T12:05:00", {"when": "12:00pm"}),
    "when on a day": ("2026-11-20T12:05:00", {"when": "Friday 12:00pm"}),
    "whens of days": ("2026-11-20T12:05:00", {"when": ["Thursday 8:00am", "Friday 12:00pm"]}),
    "when is over": ("2026-11-18T13:00:00", {"when": "2026-11-18 11:00am"}),
    "once is over": ("2026-11-18T13:00:00", {"once": "2026-11-18T11:00:00"}),
    "no time": ("2026-11-18T12:10:00", {}),
    "no time but the start": ("2026-11-18T12:10:00", {"run_on_start": True}),
    "when and cron": ("2026-11-18T12:10:00", {"when": "12:00pm", "cron": "* * * * *"}),
    "once and cron": ("2026-11-18T12:10:00", {"once": START, "cron": "* * * * *"}),
    "bad cron": ("2026-11-18T12:10:00", {"cron": "61 * * * *"}),
    "bad when": ("2026-11-18T12:10:00", {"when": "tea"}),
    "bad once": ("2026-11-18T12:10:00", {"once": "tea"}),
    "range is a text": ("2026-11-18T12:10:00", {"seconds": 60, "range": "8am"}),
    "bad range": ("2026-11-18T12:10:00", {"seconds": 60, "range": {"start": "x", "end": "y"}}),
    "fun": ("2026-11-18T12:10:00", {"seconds": 60, "function": None, "fun": "test.ping"}),
    "func": ("2026-11-18T12:10:00", {"seconds": 60, "function": None, "func": "test.ping"}),
    "name": ("2026-11-18T12:10:00", {"seconds": 60, "name": "other"}),
    "half a second": ("2026-11-18T12:00:00", {"seconds": 20.5}),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "all splay": {"splay": 5},
    "all disabled": {"enabled": False},
    "all skip": {"skip_during_range": MINUTES["range"]},
    "all skip to a function": {
        "skip_during_range": MINUTES["range"], "skip_function": "test.version",
    },
}  # fmt: skip


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each case, and the case."""
    job = {"function": "test.ping"}
    for (kind, timing), (about, option) in itertools.product(WHEN.items(), AROUND.items()):
        yield f"{kind}, {about}", _case("2026-11-18T12:05:00", {"j": {**job, **timing, **option}})
    for name, (end, entry) in OTHERS.items():
        entry = {key: value for key, value in {**job, **entry}.items() if value is not None}
        yield name, _case(end, {"j": entry})
    for (kind, timing), (about, setting) in itertools.product(WHEN.items(), SETTINGS.items()):
        schedule = {"j": {**job, **timing}, **setting}
        yield f"{kind}, {about}", _case("2026-11-18T12:05:00", schedule)


def _case(end: str, schedule: dict[str, Any]) -> dict[str, Any]:
    return {"start": START, "end": end, "schedule": schedule, "sparse": end > "2026-11-18T12:30"}
