"""A minion that names a database returner imports its driver once, before it forks for jobs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest

from saltlite.loader.catalogue import RETURNERS

PROGRAM = """
    import sys, threading
    from saltlite.config.minion import MinionConfig, ModuleOptions, ReturnOptions
    from saltlite.minion.daemon import preload

    preload(MinionConfig(
        returns=ReturnOptions(return_={named!r}), modules=ModuleOptions(disable_returners={off!r}),
    ))
    assert threading.active_count() == 1
    drivers = {{"psycopg", "pymysql", "redis"}}
    print(*sorted(drivers & set(sys.modules)))
"""


def loaded_drivers(named: str | list[str], off: list[str]) -> list[str]:
    """What the first process of such a minion has imported."""
    code = textwrap.dedent(PROGRAM).format(named=named, off=off)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("named", "driver"),
    [("pgjsonb", "psycopg"), ("postgres", "psycopg"), ("mysql", "pymysql"), ("redis", "redis")],
)
def test_a_returner_that_is_named(named: str, driver: str) -> None:
    if importlib.util.find_spec(driver) is None:
        pytest.skip(f"needs {driver}")
    assert loaded_drivers(["rawfile_json", named], []) == [driver]
    assert loaded_drivers(named, [named]) == []


@pytest.mark.parametrize("named", ["", "rawfile_json,nosuch, ../x", "local"])
def test_others_import_none(named: str) -> None:
    assert loaded_drivers(named, []) == []


def test_each_returner_with_a_server_names_its_driver() -> None:
    for name in RETURNERS.modules():
        module = RETURNERS.load(name)
        assert hasattr(module, "make_server") == hasattr(module, "DRIVER"), name
