"""Programs that a test runs: where one is missing, the test is skipped, and a line names it."""

from __future__ import annotations

import shutil

import pytest


def missing(*names: str) -> list[str]:
    """Which of these programs are not on this machine."""
    return [name for name in names if shutil.which(name) is None]


def need(*names: str) -> None:
    """Skip the test, or all that a fixture serves, unless all of these programs are there."""
    if lacking := missing(*names):
        pytest.skip(f"needs {', '.join(lacking)}")
