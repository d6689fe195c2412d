"""``scripts/install``: what it refuses, before it has touched anything."""

from __future__ import annotations

import os
import subprocess

import pytest
from repository import ROOT


def install(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "scripts/install"), *args], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--bogus"], "unknown argument: --bogus (try --help)"),
        (["--master"], "--master needs a value"),
        (["--master", ""], "--master needs a value"),
        (["--master", "a b"], "--master needs a name or an address, not a b"),
        (["--master", "x'\nid: y"], "--master needs a name or an address"),
        (["--venv", "here"], "--venv needs an absolute path, not here"),
    ],
)
def test_what_is_wrong_is_said_first(args: list[str], says: str) -> None:
    done = install(*args)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"install: {says}")


@pytest.mark.skipif(os.geteuid() == 0, reason="it would install: this is root")
def test_without_root_it_says_what_else_there_is() -> None:
    done = install()
    assert done.returncode == 1
    assert "needs root; without it: scripts/quickstart" in done.stderr
