"""Modules that are put off: nobody notices, and nobody pays for what is not used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from saltlite.cli.lazy import UNUSED, put_off

STAND_IN = "Stands for a module until it is needed."


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    ).stdout


@pytest.mark.parametrize("name", UNUSED)
def test_what_is_known_beforehand_is_so(name: str) -> None:
    module = vars(importlib.import_module(name))
    assert {key: module[key] for key in UNUSED[name]} == dict(UNUSED[name])


def test_a_look_loads_the_module_for_all_who_have_it() -> None:
    code = """
import sys, saltlite.cli
import json, tokenize
first = json
print(sys.modules["json"].__doc__)
print(first.loads("[1]"), first.JSONDecodeError is json.JSONDecodeError)
import json
print(json.dumps({}), sys.modules["json"].__doc__ == first.__doc__ != tokenize.__doc__)
from ipaddress import ip_address
print(ip_address("::1"))
"""
    assert run_python(code).splitlines() == [STAND_IN, "[1] True", "{} True", "::1"]


def test_an_attribute_that_is_not_there() -> None:
    code = "import saltlite.cli, json\nprint(hasattr(json, 'nothing'), json.loads('2'))"
    assert run_python(code).split() == ["False", "2"]


def test_a_module_that_is_loaded_stays() -> None:
    put_off({"subprocess": {}})
    assert sys.modules["subprocess"] is subprocess


@pytest.mark.parametrize(
    ("modules", "used"),
    [
        ("saltlite.cli.salt_minion, saltlite.minion.daemon", []),
        ("saltlite.minion.loop", ["inspect"]),  # by a dataclass without a docstring in cryptography
        ("saltlite.cli.salt_master, saltlite.master.daemon, saltlite.master.mworker", ["inspect"]),
    ],
)
def test_the_daemons_do_without(modules: str, used: list[str]) -> None:
    code = f"""
import sys, saltlite.cli
import {modules}
print([name for name in {list(UNUSED)} if sys.modules[name].__doc__ != {STAND_IN!r}])
"""
    assert run_python(code).strip() == repr(used)
