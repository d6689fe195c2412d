"""Where the parts of this repository are, for tests, and how recorded cases are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

SUPPORT = Path(__file__).resolve().parent
TESTS = SUPPORT.parent
ROOT = TESTS.parent

DATA = TESTS / "cases" / "data"
"""Recorded cases."""

PROGRAMS = TESTS / "cases" / "programs"
"""Programs that tests run in place of real ones."""

VECTORS = TESTS / "wire" / "vectors"
"""Frames and keys with which they were made."""


def read_yaml(path: Path) -> Any:
    """What a file holds. Every worker reads all recorded cases: it has to be quick."""
    return yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
