"""Call each argument of Salt's signatures on both sides, and print what differs unexplained.

    PYTHONPATH=tests/support python tests/interop/sweep_arguments.py

The calls are made from those of tests/cases/data/differential: the first one of a function, with
one argument that no call of the function gives, and a value that is not its default. To be run as
root where nothing that is called reaches the machine; takes some minutes. The reasons are in
tests/cases/data/arguments_that_differ.yaml. The exit code is 1 if something has none.
"""

from __future__ import annotations

import copy
import fnmatch
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from repository import DATA, read_yaml
from test_same_answers import COMMANDS, Salt, _compare

from cluster import SALT_3006, bin_dir

Call = dict[str, Any]
INEXACT = ("differs", "raises", "falsy")


def values(default: Any, learnt: list[Any]) -> list[Any]:
    """Return what to give an argument: what other calls give one of its name, or by its type."""
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, (int, float)):
        return learnt or [default + 1]
    if isinstance(default, str):
        return [one for one in learnt if one != default] or ["x"]
    if isinstance(default, list):
        return learnt or [["x"]]
    return learnt or ([{"a": "b"}] if isinstance(default, dict) else ["x", True])


def generate() -> Iterator[tuple[Call, str, Any]]:
    """Yield calls, each with the argument it is for and what that is by default."""
    signatures = json.loads((DATA / "signatures/modules.json").read_text())
    cases: list[Call] = [param.values[0] for param in COMMANDS]
    learnt: dict[str, list[Any]] = {}
    for case in cases:
        for name, value in (case.get("kwargs") or {}).items():
            seen = learnt.setdefault(name, [])
            if value not in seen:
                seen.append(value)
    for fun in dict.fromkeys(case["fun"] for case in cases):
        own = [case for case in cases if case["fun"] == fun]
        if fun in signatures:
            yield from _calls_of(own, signatures[fun], learnt)


def _calls_of(
    cases: list[Call], signature: list[Any], learnt: dict[str, list[Any]]
) -> Iterator[tuple[Call, str, Any]]:
    needed, optional, _ = signature
    names = [*needed, *optional]
    given = {name for case in cases for name in case.get("kwargs") or {}}
    given |= {name for case in cases for name in names[: len(case.get("args") or [])]}
    base = next((one for one in cases if not set(INEXACT) & set(one)), cases[0])
    for name, default in optional.items():
        for value in values(default, learnt.get(name, [])[:3]) if name not in given else ():
            call = copy.deepcopy(base)
            call["kwargs"] = {**(base.get("kwargs") or {}), name: value}
            yield call, name, default


def explain(call: Call, name: str, default: Any, rows: list[Any]) -> str | None:
    """Return why the answers to a call may differ."""
    for row in rows:
        fits = any(fnmatch.fnmatch(call["fun"], glob) for glob in row["functions"])
        named = any(fnmatch.fnmatch(name, glob) for glob in row["arguments"])
        wrong = call["kwargs"][name] is True and not isinstance(default, bool)
        if fits and named and (wrong or not row.get("wrong_type")):
            return str(row["why"])
    return None


def differs(call: Call, number: int, salts: tuple[Salt, Salt]) -> str | None:
    """Return how the answers to a call differ."""
    for salt in salts:  # one after the other: both may want the same lock
        salt.ask(call, number)
    ours, real = (salt.answer(number) for salt in salts)
    try:
        _compare(call, ours[0], real[0])
    except AssertionError:
        return f"{ours[0]}\n    {real[0]}"
    same = "files" in call or ours[1] == real[1]
    return None if same else f"{ours[1]}\n    {real[1]}"


def main() -> int:
    """Make the calls; the exit code."""
    rows = read_yaml(DATA / "arguments_that_differ.yaml")
    told: list[str] = []
    calls, different = 0, 0
    with tempfile.TemporaryDirectory(prefix="same", dir="/tmp") as tmp:
        folder = Path(tmp)
        folder.chmod(0o755)
        ours = Salt("ours", sys.executable, "our_caller.py", folder / "ours")
        real = Salt("real", str(bin_dir(SALT_3006) / "python"), "real_caller.py", folder / "real")
        for number, (call, name, default) in enumerate(generate(), len(COMMANDS)):
            calls += 1
            how = differs(call, number, (ours, real))
            different += how is not None
            if how is not None and explain(call, name, default, rows) is None:
                told.append(f"{call['fun']} {call.get('args')} {call['kwargs']}\n    {how}")
        ours.close()
        real.close()
    print("\n".join(told))
    print(f"{calls} calls, {different} differ, {len(told)} of them unexplained")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
