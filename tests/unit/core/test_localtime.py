"""Schedules over both changes of the clock, in Berlin: 2026-03-29 02:00 and 2026-10-25 03:00."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from saltlite.core.localtime import clock_of, point_of, points_of
from saltlite.minion.schedule import Scheduler


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")  # Europe/Berlin, without its files
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def local(text: str) -> datetime:
    return datetime.fromisoformat(text)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("clock", "points"),
    [
        ("2026-10-25T01:59", ["2026-10-24T23:59"]),
        ("2026-10-25T02:30", ["2026-10-25T00:30", "2026-10-25T01:30"]),
        ("2026-10-25T03:00", ["2026-10-25T02:00"]),
        ("2026-03-29T01:59", ["2026-03-29T00:59"]),
        ("2026-03-29T02:30", []),
        ("2026-03-29T03:00", ["2026-03-29T01:00"]),
    ],
)
def test_when_the_clock_shows_a_time(clock: str, points: list[str]) -> None:
    assert points_of(local(clock)) == tuple(map(utc, points))


@pytest.mark.parametrize("clock", ["2026-03-29T02:00", "2026-03-29T02:30", "2026-03-29T02:59:59"])
def test_a_time_that_is_jumped_over_is_the_jump(clock: str) -> None:
    assert point_of(local(clock)) == utc("2026-03-29T01:00")
    assert clock_of(point_of(local(clock))) == local("2026-03-29T03:00")


class Night:
    """A scheduler that is looked at every ten seconds, from an hour before the change on."""

    def __init__(self, tmp_path: Path, entry: dict[str, Any], start: str) -> None:
        self.now = utc(start)
        self.started: list[str] = []
        self._tmp_path, self._entry = tmp_path, entry
        self.restart()

    def restart(self) -> None:
        schedule = {"j": {"function": "test.ping", **self._entry}}
        self._scheduler = Scheduler(
            self,
            schedule,
            self._tmp_path / "_schedule.conf",
            clock=lambda: self.now,
            random=lambda: 0.0,
        )

    def fire(self, tag: str, data: Any) -> None:
        raise AssertionError(tag)

    def run_scheduled(self, name: str, entry: Any) -> None:
        self.started.append(f"{self.now.astimezone():%H:%M%z}")

    def running_of(self, name: str) -> int:
        return 0

    def go_on(self, hours: float) -> None:
        end = self.now + timedelta(hours=hours)
        while self.now < end:
            self.now += timedelta(seconds=10)
            self._scheduler.run_due()


AUTUMN, SPRING = "2026-10-24T23:55", "2026-03-29T00:25"
"""01:55 and 01:25 on the clock."""


@pytest.mark.parametrize("entry", [{"when": "2:30am"}, {"cron": "30 2 * * *"}])
@pytest.mark.parametrize(("start", "runs"), [(AUTUMN, ["02:30+0200"]), (SPRING, ["03:00+0200"])])
def test_a_job_in_the_night_runs_once(
    tmp_path: Path, entry: dict[str, Any], start: str, runs: list[str]
) -> None:
    night = Night(tmp_path, entry, start)
    night.go_on(4)
    assert night.started == runs
    night.go_on(24)
    assert len(night.started) == 2
    assert night.started[1].startswith("02:30")


@pytest.mark.parametrize("entry", [{"when": "2:30am"}, {"cron": "30 2 * * *"}])
def test_a_minion_that_is_restarted_in_the_second_hour_runs_nothing_again(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    night = Night(tmp_path, entry, AUTUMN)
    night.go_on(1.25)  # 02:10 again
    night.restart()
    night.go_on(3)
    assert night.started == ["02:30+0200"]


@pytest.mark.parametrize(
    ("start", "runs"),
    [
        (AUTUMN, ["02:30+0200", "02:30+0100", "03:30+0100"]),
        (SPRING, ["01:30+0100", "03:30+0200", "04:30+0200"]),
    ],
)
@pytest.mark.parametrize("entry", [{"cron": "30 * * * *"}, {"cron": "30 */1 * * *"}])
def test_a_job_of_every_hour_runs_every_hour(
    tmp_path: Path, entry: dict[str, Any], start: str, runs: list[str]
) -> None:
    night = Night(tmp_path, entry, start)
    night.go_on(2.9)
    assert night.started == runs


@pytest.mark.parametrize("start", [AUTUMN, SPRING])
@pytest.mark.parametrize("entry", [{"minutes": 10}, {"cron": "*/10 * * * *"}])
def test_intervals_are_the_same_on_such_a_night(
    tmp_path: Path, entry: dict[str, Any], start: str
) -> None:
    night = Night(tmp_path, entry, start)
    night.go_on(3)
    assert len(night.started) == 18


def test_a_job_once_in_the_hour_that_is_missing_runs_at_its_end(tmp_path: Path) -> None:
    night = Night(tmp_path, {"once": "2026-03-29T02:30:00"}, SPRING)
    night.go_on(5)
    assert night.started == ["03:00+0200"]
