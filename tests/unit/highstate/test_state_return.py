"""The return of a state: what custom states gave stays, in its order, and is put in form."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.highstate.state_return import StateReturn


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"name": "n", "changes": {}, "comment": ""}),
        (
            {"zz": 1, "comment": ["a", 2], "name": "own", "warnings": "w"},
            {"zz": 1, "comment": "a\n2", "name": "own", "warnings": ["w"], "changes": {}},
        ),
        (
            {"result": False, "changes": None, "comment": 5},
            {"result": False, "changes": {}, "comment": "5", "name": "n"},
        ),
    ],
)
def test_what_a_custom_state_gives(given: dict[str, Any], expected: dict[str, Any]) -> None:
    before = dict(given)
    found = StateReturn.from_custom(given, "n")
    assert [*found.to_return().items()] == [
        (key, expected[key]) for key in sorted(expected, key=[*given, *expected].index)
    ]
    assert given == before


def test_what_a_run_adds() -> None:
    found = StateReturn({"name": "n", "result": None, "changes": {"a": 1}, "comment": "c"})
    assert (found.has_failed, found.has_changed) == (False, True)
    found.note_run(sls="web", ident="i", number=3, start_time="12:00", duration_ms=1.5)
    found.note_process()
    assert [*found.to_return()][4:] == [
        *("__sls__", "__run_num__", "start_time", "duration", "__id__", "__parallel__"),
    ]
    assert (found.number, found.start_time) == (3, "12:00")
    found.note_times("12:01", 2.5)
    assert found.to_return()["duration"] == 2.5
