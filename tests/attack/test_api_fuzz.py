"""A short run of scripts/fuzz_api: what no client should send harms nobody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "scripts" / "fuzz_api"


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_ten_seconds_of_nonsense() -> None:
    done = subprocess.run(
        [sys.executable, str(FUZZ), "--seconds", "10", "--seed", "7"],
        capture_output=True, text=True, timeout=170, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " requests: " in done.stdout
