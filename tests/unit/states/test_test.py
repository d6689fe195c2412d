"""``test`` states."""

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


def test_pillar_keys_are_checked_by_type(ctx: MinionContext) -> None:
    good = run(ctx, "test.check_pillar", integer="a", listing=["b"], boolean="c", present="a")
    assert (good["result"], good["comment"]) == (True, "")
    bad = run(ctx, "test.check_pillar", integer="c", dictionary="b", present="z")
    assert sorted(bad["comment"].splitlines()) == [
        "Pillar key \"b\" is not <class 'dict'>.",
        "Pillar key \"c\" is not <class 'int'>.",
        'Pillar key "z" is missing.',
    ]
