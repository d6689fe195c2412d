"""What providers read from the output of their tools: recorded texts in tests/cases."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from repository import DATA, read_yaml

from saltlite.minion.job import as_plain

KINDS = ("pkg", "service", "git")


def _cases() -> list[Any]:
    return [
        pytest.param(kind, case, id=f"{kind}-{path.stem}-{number}-{case['parser']}")
        for kind in KINDS
        for path in sorted((DATA / kind).glob("*.yaml"))
        if path.name != "commands.yaml"
        for number, case in enumerate(read_yaml(path))
    ]


def _parser(kind: str, name: str) -> Any:
    module, _, function = name.partition(".")
    package = "saltlite.providers" if kind == "git" else f"saltlite.providers.{kind}"
    return vars(importlib.import_module(f"{package}.{module}"))[function]


@pytest.mark.parametrize(("kind", "case"), _cases())
def test_reads_what_was_recorded(kind, case):
    found = _parser(kind, case["parser"])(case["text"], *case.get("args", []))
    assert as_plain(found) == case["value"]


@pytest.mark.parametrize(("kind", "case"), _cases())
@pytest.mark.parametrize("text", ["", "\n", "garbage", "a b c d e f\n::: | [ + ] -> \x1f\x1e\t\0"])
def test_no_text_is_too_strange(kind, case, text):
    _parser(kind, case["parser"])(text, *case.get("args", []))
