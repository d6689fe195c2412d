"""What a command's words say of how its answer is shown."""

from __future__ import annotations

import optparse
from pathlib import Path

import pytest

from saltlite.cli.show import Screen
from saltlite.config.load import load_master


def state(number: int, result: bool) -> tuple[str, dict[str, object]]:
    told = {"result": result, "changes": {}, "comment": "", "__run_num__": number}
    return f"test_|-s{number}_|-s{number}_|-nop", told


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["*", "state.apply", "a"], ["s0", "s1"]),
        (["*", "state.apply", "a", "exclude=s0,True"], ["s1"]),
        (["*", "state.apply", "exclude=False"], ["s0"]),
        (["*", "state.apply", "exclude=True,False"], []),
    ],
)
def test_a_call_may_hide_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], shown: list[str]
) -> None:
    (tmp_path / "master").write_text(f"root_dir: {tmp_path}\nstate_output: filter\n")
    screen = Screen.of(load_master(tmp_path), optparse.Values(), words)
    screen.show({"web1": dict([state(0, True), state(1, False)])}, "highstate")
    printed = capsys.readouterr().out
    assert [name for name in ("s0", "s1") if f"ID: {name}" in printed] == shown
    assert "Total states run:     2" in printed


@pytest.mark.parametrize(("terse", "line"), [("True", "s0"), ("False,None", "s1")])
def test_a_call_may_have_results_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], terse: str, line: str
) -> None:
    (tmp_path / "master").write_text(f"root_dir: {tmp_path}\nstate_output: filter\n")
    screen = Screen.of(load_master(tmp_path), optparse.Values(), ["*", "x", f"terse={terse}"])
    screen.show({"web1": dict([state(0, True), state(1, False)])}, "highstate")
    printed = capsys.readouterr().out
    assert [name for name in ("s0", "s1") if f"Name: {name} - Function" in printed] == [line]
    assert [name for name in ("s0", "s1") if f"ID: {name}" in printed] == [
        "s1" if line == "s0" else "s0"
    ]
