"""The master's schedule with a clock of the test's own: what is to be run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from saltlite.config.master import MasterConfig, ScheduleOptions
from saltlite.master.run_requests import RunRequest
from saltlite.master.schedule import NOTHING_DUE_S, MasterSchedule


class Lab:
    """A schedule and the clock it looks at."""

    def __init__(self, schedule: Mapping[str, Any], returner: str = "") -> None:
        self.now = datetime.fromisoformat("2026-11-18T12:00:00").astimezone()
        self.running: list[RunRequest] = []
        config = MasterConfig(
            schedule=ScheduleOptions(schedule=schedule, schedule_returner=returner)
        )
        self.source = MasterSchedule(
            config, lambda _utc: "2026", clock=lambda: self.now, chance=lambda: 0.5
        )

    def later(self, seconds: float) -> list[RunRequest]:
        self.now += timedelta(seconds=seconds)
        return self.source.due(self.running)


def test_a_runner_runs_after_one_interval() -> None:
    entry = {
        "function": "test.arg", "seconds": 10, "args": ["a"], "kwargs": {"k": 1},
        "metadata": {"x": 1}, "returner": ["one", "two"], "return_config": "alt",
    }  # fmt: skip
    lab = Lab({"t1": entry}, returner="two")
    assert lab.later(0) == []
    assert lab.source.wait_s() == 10
    (one,) = lab.later(10)
    assert (one.kind, one.fun, one.user, one.jid) == ("runner", "test.arg", "Schedule", "2026")
    assert (one.arg, one.kwarg) == (["a"], {"k": 1})
    assert one.schedule["name"] == "t1"
    assert one.schedule["returners"] == ["one", "two"]
    assert one.schedule["ret_config"] == "alt"
    metadata = one.schedule["metadata"]
    assert metadata["x"] == 1
    assert metadata["_TS"] == "Wed Nov 18 12:00:10 2026"
    assert metadata["_TT"] == "2026 November 18 Wed 12 11"
    assert lab.later(9) == []
    assert len(lab.later(1)) == 1


FORMS: dict[str, tuple[dict[str, Any], list[int]]] = {
    "seconds": ({"seconds": 30}, [30, 60, 90]),
    "minutes": ({"minutes": 1}, [60, 120]),
    "run on start": ({"minutes": 1, "run_on_start": True}, [0, 60, 120]),
    "when": ({"when": "12:01"}, [60]),
    "several": ({"when": ["12:01", "12:02pm"]}, [60, 120]),
    "cron": ({"cron": "*/1 * * * *"}, [60, 120]),
    "once": ({"once": "2026-11-18T12:00:30"}, [30]),
    "range": ({"seconds": 30, "range": {"start": "12:01", "end": "12:05"}}, [60, 90, 120]),
    "skip": ({"seconds": 30, "skip_during_range": {"start": "12:01", "end": "13:00"}}, [30]),
    "until": ({"seconds": 30, "until": "12:01"}, [30]),
    "after": ({"seconds": 30, "after": "12:01"}, [90, 120]),
    "splay": ({"seconds": 60, "splay": 10}, [65]),
    "disabled": ({"seconds": 30, "enabled": False}, []),
}


@pytest.mark.parametrize(("entry", "times"), FORMS.values(), ids=FORMS)
def test_every_form(entry: dict[str, Any], times: list[int]) -> None:
    lab = Lab({"j": {"function": "manage.status", **entry}})
    found = [second for second in range(121) if lab.later(1 if second else 0)]
    assert found[: len(times)] == times
    assert bool(times) == bool(found)


def test_one_that_still_runs_is_left_out() -> None:
    lab = Lab({"j": {"function": "test.sleep", "seconds": 10}})
    lab.running = lab.later(10)
    assert len(lab.running) == 1
    assert lab.later(10) == []
    lab.running = []
    assert len(lab.later(10)) == 1


def test_several_functions_and_what_is_none(caplog: pytest.LogCaptureFixture) -> None:
    lab = Lab({"j": {"function": ["test.arg", "../x"], "seconds": 1}})
    assert [one.fun for one in lab.later(1)] == ["test.arg"]
    assert "schedule job j: '../x' is not the name of a runner" in caplog.text


def test_nothing_to_do() -> None:
    assert Lab({"enabled": True}).source.wait_s() == NOTHING_DUE_S
    lab = Lab({"enabled": False, "j": {"function": "test.arg", "seconds": 1}})
    assert lab.later(5) == []
