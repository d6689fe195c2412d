""".ci/run runs the tests twice; the second time without those that the first has shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from repository import ROOT
from two_runs import NOT_AGAIN, PASSED_TO

FOLDER = "tests/unit/engines"
FILES = [f"{FOLDER}/test_http_logstash.py", f"{FOLDER}/test_reactor.py"]
OF_THIS_RUN = (PASSED_TO, NOT_AGAIN)


def run(*options: str) -> str:
    """The closing line of pytest."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, FOLDER],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in OF_THIS_RUN},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_what_passed_is_written_down_and_left_out(tmp_path: Path) -> None:
    passed = tmp_path / "passed"
    first = run(f"--passed-to={passed}")
    lines = passed.read_text().splitlines()
    names = [line for line in lines if "::" in line]
    of_one, of_other = ([one for one in names if one.startswith(f"{file}::")] for file in FILES)
    assert of_one and of_other and first.startswith(f"{len(names)} passed in")
    assert sorted(set(lines) - set(names)) == FILES
    passed.write_text("of the whole run")
    run(f"--passed-to={passed}", "--last-failed")
    assert passed.read_text() == "of the whole run"
    passed.write_text("\n".join([*of_one[1:], *of_other, FILES[1]]))
    second = run(f"--not-again={passed}")
    # files of which nothing is left are not opened, so their tests are not counted
    assert second.startswith(f"1 passed, {len(of_one) - 1} deselected in")
