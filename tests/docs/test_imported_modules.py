"""What each everyday command imports: the lists in ``imported_modules`` name all of it.

A module that is added costs every call of that command. Who has a reason writes the lists anew:

    PYTHONPATH=tests/support python tests/docs/test_imported_modules.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cluster import Cluster

LISTS = Path(__file__).parent / "imported_modules"
ROOT = Path(__file__).parents[2]

COMMANDS = {
    "salt-ping": ("salt", "m1", "test.ping"),
    "salt-call": ("salt-call", "test.ping"),
    "salt-call-local": ("salt-call", "--local", "test.ping"),
    "salt-key-list": ("salt-key", "-L"),
    "salt-run-list-jobs": ("salt-run", "jobs.list_jobs"),
}
"""Name of the list → the command."""

NEVER = {
    "asyncio", "dataclasses", "http", "inspect", "json", "multiprocessing", "pickle",
    "platform", "random", "ssl", "tokenize", "unittest", "urllib.parse", "urllib.request", "yaml",
}  # fmt: skip
"""Large ones that none of these commands needs."""

STAND_IN = "Stands for a module until it is needed."


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    with Cluster(minions=1) as cluster:
        yield cluster.start()


REPORT = f"""
import os, sys
def report(code):
    for name, one in list(sys.modules.items()):
        if not isinstance(one, type(sys)) or vars(one).get("__doc__") != {STAND_IN!r}:
            print(name, file=sys.stderr)
    sys.stdout.flush()
    leave(code)
leave, os._exit = os._exit, report
sys.argv[0] = sys.argv.pop(1)
from saltlite.cli import entry
report(getattr(entry, sys.argv[0].replace("-", "_"))())
"""


def imported_by(cluster: Cluster, command: str, *words: str) -> set[str]:
    """The modules that a command has loaded at its end."""
    folder = write_plainly(cluster, "minion" if command == "salt-call" else "master")
    done = subprocess.run(
        [sys.executable, "-c", REPORT, command, "-c", str(folder), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def write_plainly(cluster: Cluster, daemon: str) -> Path:
    """A directory with the daemon's configuration as most have it, which is read without PyYAML."""
    folder = cluster.master_dir if daemon == "master" else cluster.minion_dir("m1")
    plain = folder / "plain"
    plain.mkdir(exist_ok=True)
    found = yaml.safe_load((folder / daemon).read_text())
    lines = [
        f"{name}: {json.dumps(value)}\n"
        for name, value in found.items()
        if isinstance(value, str | int)
    ]
    (plain / daemon).write_text("".join(lines))
    return plain


def shorten(imported: set[str]) -> set[str]:
    """Ours by their full names, others that are not Python's by their packages."""
    ours = {name for name in imported if name.startswith("saltlite.")}
    others = {name.partition(".")[0] for name in imported if "cython_" not in name}
    return ours | (others - sys.stdlib_module_names - INTERPRETERS_OWN)


INTERPRETERS_OWN = {"__main__", "_distutils_hack", "_virtualenv", "saltlite", "sitecustomize"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_imports_what_its_list_names(salted: Cluster, name: str) -> None:
    imported = imported_by(salted, *COMMANDS[name])
    listed = set((LISTS / f"{name}.txt").read_text().split())
    assert shorten(imported) == listed
    assert imported & NEVER == set()


def write_lists() -> None:
    """Write what is imported now."""
    LISTS.mkdir(exist_ok=True)
    with Cluster(minions=1) as cluster:
        cluster.start()
        for name, command in COMMANDS.items():
            found = sorted(shorten(imported_by(cluster, *command)))
            (LISTS / f"{name}.txt").write_text("\n".join(found) + "\n")


if __name__ == "__main__":
    write_lists()
