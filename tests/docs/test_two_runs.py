""".ci/run runs the tests twice; the second time without the daemons that the first has shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from repository import ROOT

OF_DAEMONS = "tests/fault/test_checker.py"
OF_CODE = "tests/unit/core/test_jid.py"
OF_THIS_RUN = ("SALTLITE_PASSED_TO", "SALTLITE_NOT_AGAIN")


def run(*options: str) -> str:
    """The closing line of pytest."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, OF_DAEMONS, OF_CODE],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in OF_THIS_RUN},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_what_passed_is_written_down_and_daemons_are_left_out(tmp_path: Path) -> None:
    passed = tmp_path / "passed"
    first = run(f"--passed-to={passed}")
    names = passed.read_text().splitlines()
    of_daemons = [name for name in names if name.startswith(OF_DAEMONS)]
    of_code = [name for name in names if name.startswith(OF_CODE)]
    assert of_daemons and of_code and first.startswith(f"{len(names)} passed in")
    passed.write_text("\n".join([*of_daemons[1:], *of_code]))
    second = run(f"--not-again={passed}")
    left_out = len(of_daemons) - 1
    assert second.startswith(f"{len(names) - left_out} passed, {left_out} deselected in")
