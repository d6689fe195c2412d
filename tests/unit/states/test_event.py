"""``event`` states: what a dry run says, and what is fired."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.resource import Action
from saltlite.highstate.run import run_chunk
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.states import event


@pytest.fixture
def ctx() -> MinionContext:
    made = MinionContext(
        config=MinionConfig(), host=Host(), grains={}, pillar={"a": 1, "b": ["x"], "c": True}
    )
    made.functions = Registry(made)
    return made


def run(ctx: MinionContext, function: str, *, test: bool = False, **given: Any) -> dict[str, Any]:
    state, _, fun = function.partition(".")
    chunk = {"state": state, "fun": fun, "__id__": "x", "__sls__": "s", "name": "x", **given}
    return run_chunk(ctx, Chunk.from_low(chunk), test=test).to_return()


def test_an_event_is_fired_only_in_earnest(ctx: MinionContext) -> None:
    answer = run(ctx, "event.send", name="tag", data={"k": 1}, test=True)
    assert answer["comment"] == "Event would have been fired"
    assert run(ctx, "event.send", name="tag", data={"k": 1})["result"] is False  # no master
    assert run(ctx, "event.wait", name="tag")["changes"] == {}


# What ``event.send`` tells.


@pytest.mark.parametrize(("given", "changes"), [(True, {"tag": "a/b", "data": 1}), (False, {})])
def test_an_event_is_a_change_if_it_is_to_be_shown(given: bool, changes: object) -> None:
    declared = event.send(None, "a/b", 1, show_changed=given)
    assert isinstance(declared, Action)
    assert declared.changes == changes
