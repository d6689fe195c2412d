"""``master_tops``: commands and custom code that say which SLS are for a minion.

The answers are those of real Salt 3006.30.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from saltlite.config.load import load_master
from saltlite.highstate.master_tops import outer_tops_for

MINE = """
def top(**kwargs):
    opts, grains = kwargs["opts"], kwargs["grains"]
    return {"base": ["two", "one"], opts["id"]: [grains["id"], __opts__["id"], opts["x"]]}
"""
OTHERS = {
    "aa": "def top(**kwargs): return {'base': ['aa']}",
    "bad": "def top(**kwargs): raise ValueError('s3cr3t')",
    "odd": "def top(**kwargs): return ['x']",
    "late": "def other(): pass",
}
OWN = {"base": ["two", "one"], "web1": ["web1", "web1", 1]}


def tops(where: Path, option: Any, **opts: Any) -> Any:
    code = where / "extmods" / "tops"
    code.mkdir(parents=True)
    for name, text in {"mine": MINE, **OTHERS}.items():
        (code / f"{name}.py").write_text(text)
    settings = {"root_dir": str(where), "extension_modules": str(where / "extmods")}
    (where / "master").write_text(yaml.safe_dump({**settings, "master_tops": option}))
    return outer_tops_for(load_master(where), "web1", {"x": 1, **opts})


def nodes(where: Path, text: str, exit_code: int = 0) -> str:
    program = where / "nodes"
    program.write_text(
        f"#!/bin/sh\necho \"$@\" >{where}/args\ncat <<'X'\n{text}\nX\nexit {exit_code}"
    )
    program.chmod(0o700)
    return str(program)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{classes: [one, own], environment: base}", {"base": ["one", "own"]}),
        ("{classes: {two: {}, one: }, parameters: {a: 1}}", {"base": ["two", "one"]}),
        ("{classes: [one], environment: dev}", {"dev": ["one"]}),
        ("{classes: [], environment: dev}", {"dev": []}),
        ("classes: one", {}),
        ("[1", {}),
        ("{x: 1}", {}),
        ("classes:", {}),
        ("- a", {}),
        ("", {}),
    ],
)
def test_a_command_classifies(tmp_path: Path, text: str, expected: Any) -> None:
    assert tops(tmp_path, {"ext_nodes": nodes(tmp_path, text)}) == expected


def test_a_command_is_words_and_no_shell(tmp_path: Path) -> None:
    command = nodes(tmp_path, "classes: [one]")
    assert tops(tmp_path, {"ext_nodes": f"{command} 'a b' $HOME; x"}) == {"base": ["one"]}
    assert (tmp_path / "args").read_text() == "'a b' $HOME; x web1\n"


@pytest.mark.parametrize("command", ["", None, "/none/there", 5])
def test_a_command_that_cannot_be_run_gives_nothing(tmp_path: Path, command: Any) -> None:
    assert tops(tmp_path, {"ext_nodes": command}) == {}


def test_a_command_that_fails_gives_nothing(tmp_path: Path) -> None:
    assert tops(tmp_path, {"ext_nodes": nodes(tmp_path, "classes: [one]", 3)}) == {}


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ({"mine": {"x": 1}}, OWN),
        ({"bad": 1, "mine": 1}, OWN),
        ({"odd": 1, "mine": 1}, OWN),
        ({"mine": 1, "aa": None}, {**OWN, "base": ["aa", "two", "one"]}),
        ({"none": 1}, {}),
        ({"late": 1}, {}),
        ({}, {}),
        (None, {}),
    ],
)
def test_custom_code_is_asked(tmp_path: Path, option: Any, expected: Any) -> None:
    assert tops(tmp_path, option) == expected


def test_custom_code_comes_first_and_a_name_once(tmp_path: Path) -> None:
    command = nodes(tmp_path, "classes: [one, zzz]")
    found = tops(tmp_path, {"ext_nodes": command, "mine": 1})
    assert found["base"] == ["two", "one", "zzz"]


@pytest.mark.parametrize("opts", [{"id": "other"}, {"grains": {"id": "other"}}, {"grains": 5}])
def test_nobody_asks_for_another(tmp_path: Path, opts: dict[str, Any]) -> None:
    assert tops(tmp_path, {"mine": 1}, **opts) == OWN
