"""schedule.move and schedule.copy: a job for other minions, through the master."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from saltlite.context import MinionContext
from saltlite.core.schedule import entry_of
from saltlite.loader.arguments import parse_arguments, split_args
from saltlite.modules import publish, schedule

ENTRY = {
    "function": "cmd.run", "seconds": 3600, "args": ["echo a=b"], "kwargs": {"cwd": "/"},
    "name": "j", "enabled": True, "jid_include": True, "metadata": {"x": "true"},
}  # fmt: skip


class Minion:
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
    minion = Minion(monkeypatch, {"m2": {"result": True}, "m3": {"result": False}})
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
    minion = Minion(monkeypatch, {"m2": {"result": True}})
    assert schedule.copy(minion.ctx, "j", "m2") == {
        "comment": "Copied Job j from schedule to minion(s).",
        "result": True,
        "minions": ["m2"],
    }
    assert minion.deleted == []


@pytest.mark.parametrize("function", [schedule.move, schedule.copy])
def test_what_does_not_go(monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    minion = Minion(monkeypatch, {})
    gone = {"comment": "Job x does not exist.", "result": False}
    assert function(minion.ctx, "x", "m2") == gone
    nobody = "no servers answered the published schedule.add command"
    assert function(minion.ctx, "j", "m2") == {"comment": nobody, "result": False}
    assert function(minion.ctx, "j", "m2", test=True)["result"] is True
    refused = Minion(monkeypatch, {"m2": {"result": False}})
    answer = function(refused.ctx, "j", "m2")
    assert (answer["result"], answer["errors"]) == (False, ["m2"])
    assert minion.deleted == refused.deleted == []
