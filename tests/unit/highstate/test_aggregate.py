"""Custom states that take over the work of others, and prepare once a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry

STATES = """
def mod_init(low):
    __context__.setdefault("begun", []).append(low["name"])
    return True

def mod_aggregate(low, chunks, running):
    taken = []
    for chunk in chunks:
        if chunk["state"] != "together" or chunk.get("__agg__"):
            continue
        if chunk["name"] != low["name"]:
            chunk["__agg__"] = True
            taken.append(chunk["name"])
    low["taken"] = taken
    return low

def done(name, taken=(), **kwargs):
    if name == "marked":
        taken = [chunk["__id__"] for chunk in __lowstate__ if chunk.get("__agg__")]
    comment = f"{','.join(taken)} of {','.join(__context__['begun'])}"
    return {"name": name, "result": True, "comment": comment, "changes": {}}
"""

Make = Callable[..., MinionContext]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(**options: Any) -> MinionContext:
        custom = tmp_path / "tree" / "_states" / "together.py"
        custom.parent.mkdir(parents=True)
        custom.write_text(STATES)
        settings = {
            "root_dir": str(tmp_path / "root"),
            "file_client": "local",
            "id": "web1",
            "file_roots": {"base": [str(tmp_path / "tree")]},
            **options,
        }
        (tmp_path / "minion").write_text(json.dumps(settings))
        config = load_minion(str(tmp_path), {}, cache_id=False)
        ctx = MinionContext(config=config, host=Host(), grains={"id": "web1"}, pillar={})
        ctx.functions = Registry(ctx)
        return ctx

    return made


HIGH = {
    "a": {"together": ["done", {"order": 1}]},
    "b": {"together": ["done", {"order": 2}, {"require": [{"test": "d"}]}]},
    "c": {"together": ["done", {"order": 3}]},
    "d": {"test": ["nop", {"order": 4}]},
    "e": {"together": ["done", {"order": 5}, {"onfail": [{"test": "d"}]}]},
}


def said(ctx: MinionContext, high: dict[str, Any]) -> dict[str, str]:
    found = ctx.functions.call("state.high", high)
    assert isinstance(found, dict), found
    return {answer["__id__"]: answer["comment"] for answer in found.values()}


@pytest.mark.parametrize("option", [True, ["together", "pkg"]])
def test_a_state_takes_over_those_that_could_run_by_now(make: Make, option: Any) -> None:
    found = said(make(state_aggregate=option), HIGH)
    assert found["a"] == "c of a"
    assert found["b"] == " of a"  # what it requires had not run then
    assert found["c"] == " of a"
    assert found["e"] == "State was not run because onfail req did not change"


@pytest.mark.parametrize("option", [False, ["pkg"]])
def test_none_does_where_nobody_asks(make: Make, option: Any) -> None:
    assert said(make(state_aggregate=option), HIGH)["a"] == " of a"


def test_a_state_asks_for_itself(make: Make) -> None:
    high = {**HIGH, "a": {"together": ["done", {"order": 1}, {"aggregate": True}]}}
    assert said(make(), high)["a"] == "c of a"


def test_a_state_declines_for_itself(make: Make) -> None:
    high = {**HIGH, "a": {"together": ["done", {"order": 1}, {"aggregate": False}]}}
    assert said(make(state_aggregate=True), high)["a"] == " of a"


def test_custom_states_see_who_was_taken_over(make: Make) -> None:
    high = {**HIGH, "marked": {"together": ["done", {"order": 6}, {"aggregate": False}]}}
    assert said(make(state_aggregate=True), high)["marked"] == "c,marked of a"
