"""Which resources drift, as their reports tell."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.core.state_drift import DriftKind, find_drift
from saltlite.core.state_reports import CUT, PropertyChange, StateRow, StateRun

MODE = PropertyChange("mode", "0600", "0644")


def row(
    result: bool | None = True,
    *changes: PropertyChange,
    name: str = "/etc/motd",
    function: str = "file.managed",
    comment: str = "",
) -> StateRow:
    return StateRow(
        number=0,
        sls="motd",
        ident=name,
        function=function,
        name=name,
        result=result,
        duration_ms=1.0,
        comment=comment,
        changes=changes,
    )


def run(at_s: float, *rows: StateRow, **more: Any) -> StateRun:
    plain: dict[str, Any] = {
        "jid": str(at_s),
        "minion": "m1",
        "user": "root",
        "fun": "state.apply",
        "saltenv": "base",
        "test": False,
        "total": 3,
        "changed": 0,
        "failed": 0,
        "duration_ms": 1.0,
        "sls": {"motd": 3},
    }
    return StateRun(at_s=at_s, rows=rows, **{**plain, **more})


def told(*runs: StateRun) -> list[tuple[str, int, float, float]]:
    return [(one.kind.value, one.times, one.first_s, one.run.at_s) for one in find_drift(runs)]


WOULD = DriftKind.WOULD_CHANGE.value
AGAIN = DriftKind.CHANGED_AGAIN.value


def test_what_the_last_look_would_change_drifts() -> None:
    runs = [run(1, row(None, MODE), test=True), run(2, row(None, MODE), test=True)]
    assert told(*runs) == [(WOULD, 2, 1, 2)]


def test_it_is_settled_by_a_run_that_changes_it_or_finds_nothing_to_do() -> None:
    apart = run(1, row(None, MODE), test=True)
    assert told(apart, run(2, row(True, MODE))) == []
    assert told(apart, run(2)) == []
    assert told(apart, run(2, test=True)) == []


@pytest.mark.parametrize(
    "later",
    [
        {"sls": {"other": 3}},
        {"sls": {"motd": 1}},
        {"fun": "state.sls_id"},
        {"left_out": 1},
        {"minion": "m2"},
    ],
)
def test_a_run_that_may_not_have_looked_at_it_settles_nothing(later: Any) -> None:
    assert told(run(1, row(None, MODE), test=True), run(2, **later)) == [(WOULD, 1, 1, 1)]


def test_a_failure_says_nothing_of_how_it_is() -> None:
    runs = [run(1, row(None, MODE), test=True), run(2, row(False, comment="no"))]
    assert told(*runs) == [(WOULD, 1, 1, 1)]


def test_what_is_put_back_again_drifts() -> None:
    runs = [run(1, row(True, MODE)), run(2), run(3, row(True, MODE)), run(4, row(True, MODE))]
    assert told(*runs) == [(AGAIN, 2, 1, 4)]


def test_a_part_of_what_was_put_there_is_enough() -> None:
    whole = row(
        True, PropertyChange("diff", None, "New file"), PropertyChange("mode", None, "0644")
    )
    assert told(run(1, whole), run(2, row(True, MODE))) == [(AGAIN, 1, 1, 2)]


def test_another_declaration_is_no_drift() -> None:
    runs = [run(1, row(True, MODE)), run(2, row(True, PropertyChange("mode", "0644", "0640")))]
    assert told(*runs) == []


@pytest.mark.parametrize(
    "again",
    [
        row(True, MODE, function="cmd.run"),
        row(True, PropertyChange("diff", None, f"x{CUT}")),
        row(True, PropertyChange("nginx", None, "true"), comment="Service restarted"),
        row(True),
        row(False, MODE),
    ],
)
def test_what_is_done_each_time_is_no_drift(again: StateRow) -> None:
    assert told(run(1, again), run(2, again)) == []


def test_what_a_test_run_says_is_not_put_there() -> None:
    assert told(run(1, row(True, MODE), test=True), run(2, row(True, MODE), test=True)) == []


def test_each_minion_and_each_resource_for_itself() -> None:
    other = row(None, MODE, name="/etc/issue")
    runs = [
        run(1, row(None, MODE), other, test=True),
        run(2, row(True, MODE), other, test=True),
        run(1, row(None, MODE), minion="m2", test=True),
    ]
    found = [(one.run.minion, one.row.name, one.times) for one in find_drift(runs)]
    assert found == [("m1", "/etc/issue", 2), ("m2", "/etc/motd", 1)]
