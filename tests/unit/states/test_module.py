"""``module`` states: both syntaxes."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.run import run_chunk
from saltlite.host import Host
from saltlite.loader.registry import Registry


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


def test_functions_of_both_syntaxes(ctx: MinionContext) -> None:
    functions: dict[str, Any] = {"test.arg": [1, {"b": 2}], "test.false": None}
    newer = run(ctx, "module.run", **functions)
    assert newer["name"] == ["test.arg", "test.false"]
    assert newer["comment"] == "'test.false': False, test.arg: Success"
    older = run(ctx, "module.run", name="test.echo", text="hi")
    assert (older["changes"], older["result"]) == ({"ret": "hi"}, True)
    lacking = run(ctx, "module.run", name="test.echo")
    assert lacking["comment"] == "The following arguments are missing: text"
    nosuch: dict[str, Any] = {"test.nosuch": None}
    absent = run(ctx, "module.run", **nosuch)
    assert absent["comment"] == "Unavailable function: test.nosuch."
    assert run(ctx, "module.wait", name="test.echo")["changes"] == {}
    watching = run(ctx, "module.mod_watch", name="test.ping", sfun="wait")
    assert watching["changes"] == {"ret": True}
