"""When jobs run, beside real Salt: the same entries, the same clock, the same seconds.

Recorded by ``tests/cases/record/schedule_times`` on Salt 3006.30. What is another answer on purpose
stands in ``schedule/times_that_differ.yaml``: why, and the seconds at which ours runs.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
import schedule_cases
from repository import read_yaml

from saltlite.core.planner import Planner

RECORDED: dict[str, Any] = json.loads(schedule_cases.RECORDED.read_text())
DIFFER: list[dict[str, Any]] = read_yaml(schedule_cases.RECORDED.parent / "times_that_differ.yaml")
OURS: dict[str, Any] = {name: ran for one in DIFFER for name, ran in one["ours"].items()}
CASES = dict(schedule_cases.cases())
Ran = list[list[Any]]


@pytest.fixture(autouse=True)
def utc() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


class Owner:
    """Notes what runs, and when; what runs has ended at once."""

    def __init__(self, start: datetime) -> None:
        self.start = self.now = start
        self.ran: Ran = []

    def run_scheduled(self, name: str, entry: Mapping[str, Any]) -> None:
        self.ran.append([int((self.now - self.start).total_seconds()), entry["function"]])

    def running_of(self, name: str) -> int:
        return 0


def run(case: dict[str, Any]) -> Ran:
    owner = Owner(datetime.fromisoformat(case["start"]).astimezone())
    end = datetime.fromisoformat(case["end"]).astimezone()
    planner = Planner(owner, case["schedule"], clock=lambda: owner.now, random=lambda: 1.0)
    while owner.now <= end:
        planner.run_due()
        sparse = case["sparse"] and owner.now.second >= 1
        owner.now += timedelta(seconds=59 if sparse else 1)
    return owner.ran


@pytest.mark.parametrize("name", [name for name in CASES if name not in OURS])
def test_jobs_run_when_real_salt_runs_them(name: str) -> None:
    assert run(CASES[name]) == RECORDED[name]


@pytest.mark.parametrize("name", OURS)
def test_where_ours_is_another_answer(name: str) -> None:
    ran = run(CASES[name])
    assert [second if fun == "test.ping" else f"{second} {fun}" for second, fun in ran] == OURS[
        name
    ]
    assert ran != RECORDED[name]


def test_every_case_is_recorded() -> None:
    assert sorted(CASES) == sorted(RECORDED)
