"""Cases of states: ``{state, args, write?, before?, show?}``, what they ``give`` and ``leave``.

Each is applied three times: as a test, for real, and for real again. ``before`` is a script for
``sh`` that is run first.
"""

from __future__ import annotations

from typing import Any

RUNS = ("test", "first", "second")


def requests(case: dict[str, Any]) -> list[dict[str, Any]]:
    """What is to be asked for one case."""
    asked: list[dict[str, Any]] = [{"write": case.get("write", {})}]
    asked += [{"run": case["before"]}] if "before" in case else []
    asked += [{"state": case["state"], "args": case["args"], "test": run == "test"} for run in RUNS]
    return asked + list(case.get("show", []))


def answered(cases: list[dict[str, Any]], said: list[Any]) -> list[dict[str, Any]]:
    """The answers by case: ``gives`` by run, and ``leaves`` for what is shown."""
    found, rest = [], iter(said)
    for case in cases:
        next(rest)
        if "before" in case:
            next(rest)
        answer: dict[str, Any] = {"gives": {run: next(rest) for run in RUNS}}
        if case.get("show"):
            answer["leaves"] = [next(rest) for _ in case["show"]]
        found.append(answer)
    return found
