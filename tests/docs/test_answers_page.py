"""docs/answers.md: each command that it names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from saltlite.doctor.master import CHECKS
from saltlite.loader.builtin import functions_of
from saltlite.loader.catalogue import MODULES, RUNNERS

PAGE = (Path(__file__).parents[2] / "docs" / "answers.md").read_text()
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]
CODE = re.compile(r"`([^`]+)`")
FUNCTION = re.compile(r"\b([a-z_]+)\.([a-z_]+)\b")
SHORT = {
    "doctor": "doctor.check",
    "changes": "changes.list",
    "failed": "changes.failed",
    "slowest": "changes.slowest",
    "drift": "changes.drift",
}
"""What is known without its module, by its whole name."""


def find_commands() -> Iterator[str]:
    for row in ROWS:
        for code in CODE.findall(row):
            if code.startswith(("salt-run ", "salt-call ", "salt ")) or FUNCTION.fullmatch(code):
                yield code if " " in code else f"salt-call {code}"


def test_the_rows_are_numbered() -> None:
    assert [int(row.split("|")[1]) for row in ROWS] == list(range(1, 26))


def test_the_checks_of_doctor_are_there() -> None:
    named = {name for found in re.findall(r"only=([a-z,]+)", PAGE) for name in found.split(",")}
    assert named
    assert named <= {check.NAME for check in CHECKS}


@pytest.mark.parametrize("command", list(find_commands()))
def test_a_command_names_a_function_of_ours(command: str) -> None:
    kind = RUNNERS if command.startswith("salt-run ") else MODULES
    words = command.split()
    if words[1] in SHORT:
        words[1] = SHORT[words[1]]
    module, function = next(found.groups() for found in map(FUNCTION.fullmatch, words) if found)
    loaded = kind.load(module)
    assert loaded is not None
    assert function in functions_of(loaded)
