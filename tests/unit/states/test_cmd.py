"""``cmd`` states: what a dry run says, and what runs."""

from __future__ import annotations

from pathlib import Path
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


def test_a_dry_run_of_a_command_runs_nothing(ctx: MinionContext, tmp_path: Path) -> None:
    made = tmp_path / "made"
    answer = run(ctx, "cmd.run", name=f"touch {made}", test=True)
    assert (answer["result"], answer["changes"]) == (None, {"cmd": f"touch {made}"})
    assert not made.exists()
    assert run(ctx, "cmd.run", name=f"touch {made}")["result"] is True
    assert made.exists()


@pytest.mark.parametrize(
    ("written", "comment", "changes"),
    [
        ('{"changed": true, "comment": "c", "n": 1}', "c", {"n": 1, "stdout": ""}),
        ("first\nchanged=yes comment='two words' n=1", "two words", {"n": "1", "stdout": "first"}),
        ("changed=no comment=same", "same", {}),
    ],
)
def test_a_stateful_command_says_itself_what_changed(
    ctx: MinionContext, written: str, comment: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "said").write_text(written)
    answer = run(ctx, "cmd.run", name=f"cat {tmp_path}/said", stateful=True)
    assert (answer["result"], answer["comment"]) == (True, comment)
    assert changes.items() <= answer["changes"].items()
    assert bool(changes) == bool(answer["changes"])


def test_a_command_in_another_root_does_not_run_in_this_one(ctx: MinionContext) -> None:
    answer = run(ctx, "cmd.run", name="echo here", root="/nonexistent")
    assert answer["result"] is False
    assert answer["changes"]["stdout"] == ""


def test_a_timeout_fails_or_is_ignored(ctx: MinionContext) -> None:
    kept: dict[str, Any] = {"name": "tail -f /dev/null", "timeout": 0.2}
    assert run(ctx, "cmd.run", **kept)["result"] is False
    assert run(ctx, "cmd.run", **kept, ignore_timeout=True)["result"] is True


def test_what_is_watched_sets_off_a_command_as_its_user_wants(ctx: MinionContext) -> None:
    assert run(ctx, "cmd.wait")["changes"] == {}
    answer = run(ctx, "cmd.mod_watch", name="umask", sfun="wait", umask="077")
    assert answer["changes"]["stdout"] == "0077"
    assert "does not work" in run(ctx, "cmd.mod_watch", sfun="other")["comment"]


def test_a_state_is_tried_until_it_comes_out_as_wanted(ctx: MinionContext, tmp_path: Path) -> None:
    count = f"echo x >> {tmp_path}/n; test $(wc -l < {tmp_path}/n) = 2"
    answer = run(ctx, "cmd.run", name=count, retry={"attempts": 5, "interval": 0})
    assert answer["result"] is True
    assert answer["comment"].startswith('Attempt 1: Returned a result of "False"')
    assert (tmp_path / "n").read_text() == "x\nx\n"


def test_a_missing_function_in_a_condition_fails_its_state(ctx: MinionContext) -> None:
    answer = run(ctx, "test.nop", onlyif=[{"fun": "test.nosuch"}])
    assert (answer["result"], answer["comment"]) == (False, "'test.nosuch' is not available.")
