"""docs/answers.md: each command that it names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from saltlite.doctor import master as masters_checks
from saltlite.loader.catalogue import MODULES, RUNNERS

PAGE = (Path(__file__).parents[2] / "docs" / "answers.md").read_text()
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]
CODE = re.compile(r"`([^`]+)`")
FUNCTION = re.compile(r"\b([a-z_]+)\.([a-z_]+)\b")
SHORT = {"doctor", "changes", "failed", "drift", "slowest"}
"""Functions that ``salt-run`` knows without their module."""


def find_commands() -> Iterator[str]:
    for row in ROWS:
        for code in CODE.findall(row):
            if code.startswith(("salt-run ", "salt-call ", "salt ")) or FUNCTION.fullmatch(code):
                yield code


def test_the_rows_are_numbered() -> None:
    assert [int(row.split("|")[1]) for row in ROWS] == list(range(1, 26))


@pytest.mark.parametrize("command", find_commands())
def test_a_command_names_a_function_of_ours(command: str) -> None:
    kind = RUNNERS if command.startswith("salt-run ") else MODULES
    words = [word for word in command.split() if word.split(".")[0] not in ("salt-run", "ID")]
    if any(word in SHORT for word in words[:2]):
        return
    module, function = next(
        found.groups() for word in words if (found := FUNCTION.fullmatch(word.split("=")[0]))
    )
    assert hasattr(kind.load(module), function)
