"""``master_type: func``: what a function may name, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import ConfigError
from saltlite.host import Host
from saltlite.loader.registry import with_functions
from saltlite.minion.master_function import ask_function, set_masters
from saltlite.minion.masters import MasterAddress, masters_of

MODULE = """
def one():
    return "a.example"

def two():
    return ["a.example", "b.example:4510"]

def by_grain():
    return __grains__["site"] + ".example"

def none():
    return None

def numbers():
    return ["a", 1]

def broken():
    return {}["x"]
"""


def context(tmp_path: Path, master: Any) -> MinionContext:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "where.py").write_text(MODULE)
    options = {"master": master, "master_type": "func", "module_dirs": [str(modules)]}
    (tmp_path / "minion").write_text(json.dumps({**options, "root_dir": str(tmp_path), "id": "m1"}))
    config = load_minion(tmp_path)
    return with_functions(
        MinionContext(config=config, host=Host(), grains={"id": "m1", "site": "east"}, pillar={})
    )


@pytest.mark.parametrize(
    ("master", "named"),
    [
        ("where.one", [MasterAddress("a.example", 4506)]),
        ("where.two", [MasterAddress("a.example", 4506), MasterAddress("b.example", 4510)]),
        ("where.by_grain", [MasterAddress("east.example", 4506)]),
    ],
)
def test_the_function_names_the_masters(
    tmp_path: Path, master: str, named: list[MasterAddress]
) -> None:
    ctx = context(tmp_path, master)
    config = set_masters(ctx.config, ask_function(ctx))
    assert masters_of(config.network) == named
    assert config.network.master_type == "str"


@pytest.mark.parametrize(
    ("master", "line"),
    [
        ("salt", "is 'salt'; with master_type: func it is a function"),
        (["where.one"], "it is a function, module.function"),
        ("where.", "it is a function, module.function"),
        ("where.nobody", "where.nobody"),
        ("where.none", "where.none gave None, not a name or a list of names"),
        ("where.numbers", "where.numbers gave"),
        ("where.broken", "where.broken failed: KeyError: 'x'"),
    ],
)
def test_what_names_nobody_is_one_line(tmp_path: Path, master: Any, line: str) -> None:
    with pytest.raises(ConfigError, match=r"^master: ") as raised:
        ask_function(context(tmp_path, master))
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)
