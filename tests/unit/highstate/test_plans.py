"""``state.verify``: a real run held against the test run before it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from saltlite.errors import FunctionError
from saltlite.highstate import plans
from saltlite.highstate.plans import differences
from tests.unit.highstate.conftest import Tree


def answer(result: bool | None, **changes: Any) -> dict[str, Any]:
    return {"result": result, "changes": changes, "comment": ""}


@pytest.mark.parametrize(
    ("planned", "done", "what"),
    [
        (answer(True), answer(True), None),
        (answer(None, a=1), answer(True, a=1), None),
        (answer(None), answer(True, pid=5), None),
        (answer(False), answer(False), None),
        (answer(None, a=1), answer(False), "failed"),
        (answer(False), answer(True), "was to fail and did not"),
        (answer(True), answer(True, a=1), "changed something that was not in the plan"),
        (answer(None, a=1), answer(True), "changed nothing"),
        (answer(None, a=1), answer(True, a=2), "changed something else"),
        (answer(None, newfile="/f"), answer(True, diff="New file", mode="0600", user="u"), None),
        (answer(None, newfile="/f"), answer(True, pid=5), "changed something else"),
        (answer(None, d={"newfile": "/f"}), answer(True, d={"diff": "New file"}), None),
        (answer(None, new="/f"), answer(True, diff="+x"), None),
        (answer(None, cmd="echo"), answer(True, pid=5, stdout="x"), None),
        (answer(None, a={"b": 1}), answer(True, a={"b": 1}, c=1), "changed something else"),
    ],
)
def test_what_counts_as_a_difference(
    planned: dict[str, Any], done: dict[str, Any], what: str | None
) -> None:
    assert [each.what for each in differences({"x": planned}, {"x": done})] == [what] * bool(what)


def test_states_that_came_or_went_are_differences() -> None:
    found = [*differences({"old": answer(True)}, {"new": answer(True)})]
    assert [(each.tag, each.what) for each in found] == [
        ("new", "was not in the plan"),
        ("old", "was in the plan and did not run"),
    ]


def test_a_run_that_did_as_planned(tree: Tree, tmp_path: Path) -> None:
    made = tmp_path / "made"
    managed = f"{made}: {{file.managed: [{{contents: a}}, {{mode: '0640'}}]}}\n"
    ctx = tree({"web.sls": managed + f"echo {made}: cmd.run\n"})
    ctx.job = {"jid": "1"}
    ctx.functions.call("state.apply", "web", test=True)
    ctx.job = {"jid": "2"}
    ctx.functions.call("state.apply", "web")
    ctx.state["retcode"] = 0
    found = ctx.functions.call("state.verify", "web")
    assert found == {"planned": "1", "done": "2", "differences": {}}
    assert ctx.state["retcode"] == 0
    (kept,) = Path(ctx.config.paths.cachedir, "state_plans").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_machine_that_changed_in_between(tree: Tree, tmp_path: Path) -> None:
    made, other = tmp_path / "made", tmp_path / "other"
    sls = f"{made}:\n  file.managed:\n    - contents: a\n{other}:\n  file.absent: []\n"
    ctx = tree({"web.sls": sls})
    ctx.functions.call("state.apply", "web", test=True)
    other.write_text("somebody was here")
    ctx.functions.call("state.apply", "web")
    found = ctx.functions.call("state.verify", "web")["differences"]
    assert found == {
        f"file_|-{other}_|-{other}_|-absent": {
            "what": "changed something that was not in the plan",
            "planned": {
                "result": True,
                "changes": {},
                "comment": f"File {other} is not present",
            },
            "done": {
                "result": True,
                "changes": {"removed": str(other)},
                "comment": f"Removed file {other}",
            },
        }
    }
    assert ctx.state["retcode"] == 2


def test_what_was_asked_for_otherwise_has_no_plan(tree: Tree) -> None:
    ctx = tree({"web.sls": "a: test.nop\n"})
    with pytest.raises(FunctionError, match="no test run of this"):
        ctx.functions.call("state.verify", "web")
    ctx.functions.call("state.apply", "web", test=True)
    with pytest.raises(FunctionError, match="no real run since"):
        ctx.functions.call("state.verify", "web")
    with pytest.raises(FunctionError, match="no test run of this"):
        ctx.functions.call("state.verify", "web", pillar={"other": 1})


def test_a_plan_that_is_no_plan_counts_as_none(tree: Tree) -> None:
    ctx = tree({"web.sls": "a: test.nop\n"})
    ctx.functions.call("state.apply", "web", test=True)
    (kept,) = Path(ctx.config.paths.cachedir, "state_plans").iterdir()
    kept.write_text("{")
    assert ctx.functions.call("state.apply", "web")
    with pytest.raises(FunctionError, match="no test run of this"):
        ctx.functions.call("state.verify", "web")


def test_old_plans_make_room(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MAX_PLANS", 2)
    ctx = tree({"web.sls": "a: test.nop\n"})
    for number in range(4):
        ctx.functions.call("state.apply", "web", test=True, pillar={"number": number})
    assert len([*Path(ctx.config.paths.cachedir, "state_plans").iterdir()]) == 2
    with pytest.raises(FunctionError, match="no real run since"):
        ctx.functions.call("state.verify", "web", pillar={"number": 3})
