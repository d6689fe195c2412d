"""Schedules are changed, listed and declared as with real Salt: the same answers, the same file.

Recorded by ``tests/cases/record/schedule`` on Salt 3006.30, where a minion and a master run (3008.5
answers alike, but for defaults that it notes in entries by itself). Here the functions meet the
scheduler without either. ``ours`` at a step says where ours is another answer on purpose, ``why``
for what reason.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from repository import DATA, read_yaml

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.core.schedule import entry_of
from saltlite.host import Host
from saltlite.loader.arguments import parse_arguments, split_args
from saltlite.loader.registry import Registry
from saltlite.minion.job import run_function
from saltlite.minion.schedule import Scheduler
from saltlite.minion.taken_job import TakenJob
from saltlite.modules import publish, schedule
from saltlite.transport.bus import Event

CASES = DATA / "schedule"
SCENARIOS = read_yaml(CASES / "scenarios.yaml")
NOON = datetime.fromisoformat("2026-11-18T12:00:00")
RECORDED = json.loads((CASES / "recorded.json").read_text())


class Minion:
    """A scheduler whose bus ends in the functions that ask it. Fulfils ``ScheduleOwner``."""

    def __init__(self, folder: Path, pillar: dict[str, Any]) -> None:
        self.kept = folder / "minion.d" / "_schedule.conf"
        self._heard: deque[Event] = deque()
        self._scheduler = Scheduler(
            self, {}, self.kept, clock=lambda: NOON.astimezone(), random=lambda: 0.0
        )
        self._scheduler.set_facts(pillar, {})
        config = MinionConfig(
            paths=PathOptions(conf_file=str(folder / "minion"), cachedir=str(folder)),
            files=FileOptions(file_client="local"),
        )
        self._ctx = MinionContext(
            config=config,
            host=Host(),
            grains={"id": "m1"},
            pillar=pillar,
            events=_Asks(self._scheduler),
            listen=lambda prefix: _Answers(self._heard, prefix),
        )
        self._ctx.functions = Registry(self._ctx)

    def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        self._heard.append(Event(tag, dict(data)))

    def run_scheduled(self, name: str, entry: Mapping[str, Any]) -> None:
        pass

    def running_of(self, name: str) -> int:
        return 0

    def answer(self, step: dict[str, Any]) -> Any:
        arg = [*step.get("args", ()), {**step.get("kwargs", {}), "__kwarg__": True}]
        job = TakenJob.of({"jid": "1", "fun": step["fun"]})
        value = run_function(step["fun"], arg, job, self._ctx).value
        return _plain(json.loads(json.dumps(value)))


class _Asks:
    """The minion's bus, as functions reach it."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        if tag == "manage_schedule":
            self._scheduler.manage(data)


class _Answers:
    """One function's ear on that bus."""

    def __init__(self, heard: deque[Event], prefix: str) -> None:
        self._heard, self._prefix = heard, prefix

    def connect_confirmed(self, within_s: float) -> bool:
        self._heard.clear()
        return True

    def get(self, within_s: float) -> Event | None:
        return next((event for event in self._heard if event.tag == self._prefix), None)

    def close(self) -> None:
        pass


def _is_test(step: dict[str, Any]) -> bool:
    """Whether a state is tested: Salt's says True and no changes whatever it foretells."""
    return step["fun"] == "state.single" and step["kwargs"].get("test", False)


def _plain(said: Any) -> Any:
    """A state's answer without what is never the same; as the recorder does it."""
    if isinstance(said, dict) and len(said) == 1 and "_|-" in next(iter(said)):
        (answer,) = said.values()
        return {key: answer[key] for key in ("result", "changes", "comment")}
    return said


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["about"])
def test_as_real_salt(scenario: dict[str, Any], tmp_path: Path) -> None:
    minion, recorded = Minion(tmp_path, scenario.get("pillar", {})), RECORDED[scenario["about"]]
    steps = [step for step in scenario["steps"] if "wait_s" not in step]
    wrong = []
    for step, gives in zip(steps, recorded["gives"], strict=True):
        found, wanted = minion.answer(step), step.get("ours", gives)
        if _is_test(step) and "ours" not in step:
            assert found.pop("result") is (None if found.pop("changes") else True)
            wanted = {"comment": gives["comment"]}
        if found != wanted:
            wrong.append(f"{step}\n  ours: {found}\n  real: {wanted}")
    assert not wrong, "\n".join(wrong)
    kept = read_yaml(minion.kept)["schedule"] if minion.kept.exists() else {}
    assert kept == recorded["keeps"]


# schedule.move and schedule.copy: a job for other minions, through the master.

ENTRY = {
    "function": "cmd.run", "seconds": 3600, "args": ["echo a=b"], "kwargs": {"cwd": "/"},
    "name": "j", "enabled": True, "jid_include": True, "metadata": {"x": "true"},
}  # fmt: skip


class Giver:
    """A minion with one job, and the others that it may publish to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, Any]) -> None:
        self.asked: list[tuple[str, str, list[str]]] = []
        self.deleted: list[str] = []
        self.ctx: MinionContext = None  # type: ignore[assignment]  # nobody looks at it

        def send(_ctx: Any, tgt: str, fun: str, arg: list[str]) -> Mapping[str, Any]:
            self.asked.append((tgt, fun, arg))
            return answers

        monkeypatch.setattr(publish, "publish", send)
        monkeypatch.setattr(schedule, "_read_running", lambda _ctx: {"j": ENTRY})
        monkeypatch.setattr(schedule, "delete", lambda _ctx, name: self.deleted.append(name))


def test_the_job_arrives_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    minion = Giver(monkeypatch, {"m2": {"result": True}, "m3": {"result": False}})
    assert schedule.move(minion.ctx, "j", "m*") == {
        "comment": "Moved Job j from schedule.",
        "result": True,
        "minions": ["m2"],
        "errors": ["m3"],
    }
    assert minion.deleted == ["j"]
    ((tgt, fun, arg),) = minion.asked
    assert (tgt, fun) == ("m*", "schedule.add")
    args, kwargs = split_args(parse_arguments(arg))
    made = entry_of(args[0], kwargs)
    assert {key: made[key] for key in ENTRY} == ENTRY


def test_a_copy_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    minion = Giver(monkeypatch, {"m2": {"result": True}})
    assert schedule.copy(minion.ctx, "j", "m2") == {
        "comment": "Copied Job j from schedule to minion(s).",
        "result": True,
        "minions": ["m2"],
    }
    assert minion.deleted == []


@pytest.mark.parametrize("function", [schedule.move, schedule.copy])
def test_what_does_not_go(monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    minion = Giver(monkeypatch, {})
    gone = {"comment": "Job x does not exist.", "result": False}
    assert function(minion.ctx, "x", "m2") == gone
    nobody = "no servers answered the published schedule.add command"
    assert function(minion.ctx, "j", "m2") == {"comment": nobody, "result": False}
    assert function(minion.ctx, "j", "m2", test=True)["result"] is True
    refused = Giver(monkeypatch, {"m2": {"result": False}})
    answer = function(refused.ctx, "j", "m2")
    assert (answer["result"], answer["errors"]) == (False, ["m2"])
    assert minion.deleted == refused.deleted == []
