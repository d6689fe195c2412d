"""The scheduler with a clock of the test's own: what it starts, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from saltlite.minion.schedule import ANSWERS, Scheduler, build_job


class Lab:
    """A scheduler, the clock it looks at, and what it did."""

    def __init__(self, tmp_path: Path, schedule: Mapping[str, Any]) -> None:
        self.now = datetime.fromisoformat("2026-11-18T12:00:00").astimezone()
        self.started: list[tuple[str, str]] = []
        self.fired: list[tuple[str, Mapping[str, Any]]] = []
        self.busy = 0
        self.file = tmp_path / "minion.d" / "_schedule.conf"
        self.scheduler = Scheduler(
            self, schedule, self.file, clock=lambda: self.now, random=lambda: 0.5
        )

    def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        self.fired.append((tag.removeprefix(ANSWERS), data))

    def run_scheduled(self, name: str, entry: Mapping[str, Any]) -> None:
        self.started.append((name, f"{self.now:%H:%M:%S}"))

    def running_of(self, name: str) -> int:
        return self.busy

    def later(self, seconds: float) -> list[tuple[str, str]]:
        """What starts when the clock has gone on (or back) by so much at once."""
        self.started.clear()
        self.now += timedelta(seconds=seconds)
        self.scheduler.run_due()
        return list(self.started)

    def asked(self, func: str, **given: Any) -> Mapping[str, Any]:
        self.fired.clear()
        self.scheduler.manage({"func": func, **given})
        ((_, answer),) = self.fired
        return answer


def ping(**options: Any) -> dict[str, Any]:
    return {"function": "test.ping", **options}


def test_an_interval_runs_again_and_again(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {"j": ping(seconds=10)})
    assert lab.later(9.9) == []
    assert lab.later(0.2) == [("j", "12:00:10")]
    assert lab.later(9) == []
    assert lab.later(1) == [("j", "12:00:20")]


def test_a_machine_that_slept_makes_up_for_one_run(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {"j": ping(seconds=10), "w": ping(when="1pm")})
    assert lab.later(3 * 3600) == [("j", "15:00:00")]  # and nothing for 1pm: that is long over
    assert lab.later(1) == []
    assert lab.later(10) == [("j", "15:00:11")]


def test_a_clock_that_is_set_back_costs_one_interval(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {"j": ping(seconds=10), "w": ping(when="1pm")})
    assert lab.later(-7200) == []
    assert lab.later(10) == [("j", "10:00:10")]
    assert ("w", "13:00:00") in lab.later(3 * 3600 - 10)


def test_splay_puts_off_but_does_not_shift(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {"j": ping(seconds=10, splay={"start": 2, "end": 4})})
    assert lab.later(12) == []
    assert lab.later(1) == [("j", "12:00:13")]
    assert lab.later(9) == []
    assert lab.later(1) == [("j", "12:00:23")]


def test_maxrunning_leaves_runs_out(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {"j": ping(seconds=10), "k": ping(seconds=10, maxrunning=2)})
    lab.busy = 1
    assert lab.later(10) == [("k", "12:00:10")]
    status = lab.asked("job_status", name="j")["data"]
    assert status["_skip_reason"] == "maxrunning"
    assert status["_next_fire_time"] == "2026-11-18T12:00:20"


def test_a_range_that_is_over_is_made_up_for(tmp_path: Path) -> None:
    skip = {"start": "11am", "end": "1:30pm"}
    job = ping(hours=1, skip_during_range=skip, run_after_skip_range=True)
    lab = Lab(tmp_path, {"j": job})
    assert lab.later(3600) == []
    assert lab.later(1801) == [("j", "13:30:01")]


def test_changes_hold_at_once_and_are_kept(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {})
    answer = lab.asked("add", name="j", schedule={"j": ping(seconds=1)})
    assert answer == {"complete": True, "schedule": {"j": ping(seconds=1)}}
    lab.asked("add", name="t", schedule={"t": ping(seconds=5)}, persist=False)
    assert yaml.safe_load(lab.file.read_text()) == {"schedule": {"j": ping(seconds=1)}}
    assert lab.later(1) == [("j", "12:00:01")]
    lab.asked("disable_job", name="j")
    assert lab.later(1) == []
    lab.asked("enable_job", name="j")
    assert lab.later(1) == [("j", "12:00:03")]
    lab.asked("disable")
    assert lab.later(5) == []
    assert lab.asked("list")["schedule"]["enabled"] is False
    lab.asked("enable")
    lab.asked("delete", name="j")
    assert [name for name, _ in lab.later(10)] == ["t"]
    assert "j" not in yaml.safe_load(lab.file.read_text())["schedule"]


def test_a_run_is_put_off_or_left_out(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {"j": ping(seconds=10), "k": ping(seconds=10)})
    time, new_time = "2026-11-18T12:00:10", "2026-11-18T12:00:14"
    lab.asked("postpone_job", name="j", time=time, new_time=new_time)
    lab.asked("skip_job", name="k", time=time)
    assert lab.later(10) == []
    assert lab.later(4) == [("j", "12:00:14")]
    assert lab.asked("get_next_fire_time", name="k")["next_fire_time"] == "2026-11-18T12:00:20"


def test_the_pillars_jobs_come_and_go(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {"own": ping(seconds=10)})
    lab.scheduler.set_facts({"schedule": {"p": ping(when="tea")}, "whens": {"tea": "2pm"}}, {})
    assert list(lab.asked("list", where="pillar")["schedule"]) == ["p"]
    assert lab.asked("get_next_fire_time", name="p")["next_fire_time"] == "2026-11-18T14:00:00"
    for func in ("delete", "disable_job"):
        assert lab.asked(func, name="p")["error"] == "job p is the pillar's: it is changed there"
    lab.scheduler.set_facts({}, {})
    assert list(lab.asked("list")["schedule"]) == ["own"]


def test_an_explicit_save_writes_what_was_for_now_only(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {})
    lab.asked("add", name="t", schedule={"t": ping(seconds=5)}, persist=False)
    lab.asked("add", name="j", schedule={"j": ping(seconds=1)})
    assert list(yaml.safe_load(lab.file.read_text())["schedule"]) == ["j"]
    lab.asked("save_schedule")
    assert sorted(yaml.safe_load(lab.file.read_text())["schedule"]) == ["j", "t"]


@pytest.mark.parametrize(
    ("func", "given"),
    [("delete", {}), ("add", {}), ("enable_job", {"name": "no"})],
)
def test_what_cannot_be_done_is_answered(tmp_path: Path, func: str, given: dict[str, Any]) -> None:
    answer = Lab(tmp_path, {}).asked(func, **given)
    assert answer["complete"] is False


def test_an_entry_that_is_wrong_is_logged_and_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = Lab(tmp_path, {"bad": ping(cron="61 * * * *"), "j": ping(seconds=1), "odd": "text"})
    assert "'61' is not within 0-59. Ignoring job bad." in caplog.text
    assert lab.later(1) == [("j", "12:00:01")]


def test_the_job_of_one_run() -> None:
    entry = ping(args=["a"], kwargs={"k": 2}, metadata={"a": 1}, returner=["x", "y"])
    job = build_job("j", entry, "m1")
    assert job["arg"] == ["a", {"k": 2, "__kwarg__": True}]
    assert (job["schedule"], job["ret"]) == ("j", "x,y")
    assert set(job["metadata"]) == {"a", "_TOS", "_TS", "_TT"}
    assert "unasked" not in job
    assert build_job("j", ping(), "m1")["unasked"] is True
    assert build_job("j", ping(return_job=False), "m1")["unreturned"] is True


@pytest.mark.parametrize("schedule", [5, "text", ["j"], {"j": 5}, {"j": None}])
@pytest.mark.parametrize("func", ["add", "modify"])
def test_what_is_no_schedule_changes_nothing(tmp_path: Path, func: str, schedule: Any) -> None:
    lab = Lab(tmp_path, {"k": ping(seconds=10)})
    answer = lab.asked(func, schedule=schedule)
    assert answer["complete"] is False
    assert "is no map" in answer["error"]
    assert lab.later(10) == [("k", "12:00:10")]


def test_a_reload_of_what_is_no_schedule_changes_nothing(tmp_path: Path) -> None:
    lab = Lab(tmp_path, {"k": ping(seconds=10)})
    assert lab.asked("reload", schedule=["k"])["error"] == "schedule is no map"
    assert lab.later(10) == [("k", "12:00:10")]


SKIP = {"start": "11am", "end": "1pm"}


def test_what_holds_for_all_jobs(tmp_path: Path) -> None:
    """A range in which nothing runs, and what runs instead; a job may have a range of its own."""
    own = {"start": "1am", "end": "2am"}
    jobs = {
        "j": ping(seconds=10, args=[1]),
        "k": ping(seconds=10, skip_during_range=own),
        "m": ping(seconds=10, skip_during_range=False),
    }
    lab = Lab(tmp_path, {"skip_during_range": SKIP, **jobs})
    assert [name for name, _ in lab.later(10)] == ["k", "m"]
    assert lab.asked("job_status", name="j")["data"]["_skip_reason"] == "in_skip_range"
    jobs["r"] = ping(seconds=10, range=own)
    jobs["off"] = ping(seconds=10, enabled=False)
    lab = Lab(tmp_path, {"skip_during_range": SKIP, "skip_function": "test.nop", **jobs})
    entries = []
    lab.run_scheduled = lambda name, entry: entries.append((name, entry))  # type: ignore[assignment]
    lab.later(10)
    ran = {name: (entry["function"], entry.get("args")) for name, entry in entries}
    assert ran == {
        "j": ("test.nop", [1]),
        "r": ("test.nop", None),
        "k": ("test.ping", None),
        "m": ("test.ping", None),
    }
    assert set(lab.asked("list")["schedule"]) == {"j", "k", "m", "r", "off"}


def test_what_looks_like_a_mistake_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = Lab(
        tmp_path,
        {"j": ping(seconds=10, splay=11), "o": ping(once="2020-01-02T03:04:05")},
    )
    lab.later(1)
    lab.asked("list")
    assert caplog.text.count("schedule job j: its splay is longer than its interval") == 1
    assert caplog.text.count("schedule job o does not run: the time of its once is over") == 1


def test_internal_names_are_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lab = Lab(tmp_path, {"__mine_interval": ping(seconds=1), "j": ping(seconds=1)})
    assert [name for name, _ in lab.later(1)] == ["j"]
    assert "__mine_interval is a name of Salt's own" in caplog.text
    answer = lab.asked("add", schedule={"__master_alive_x": ping(seconds=1)})
    assert answer["complete"] is False
    assert list(lab.asked("list")["schedule"]) == ["j"]


def test_a_returner_of_all_jobs() -> None:
    job = build_job("j", ping(returner="one"), "m1", "two")
    assert job["ret"] == "one,two"
    assert build_job("j", ping(returner=["one", "two"]), "m1", "two")["ret"] == "one,two"
    assert build_job("j", ping(), "m1", "two")["ret"] == "two"
