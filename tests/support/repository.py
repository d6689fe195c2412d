"""Where the parts of this repository are, for tests: wherever their own files are moved."""

from __future__ import annotations

from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
TESTS = SUPPORT.parent
ROOT = TESTS.parent

DATA = TESTS / "cases" / "data"
"""Recorded cases."""

PROGRAMS = TESTS / "cases" / "programs"
"""Programs that tests run in place of real ones."""

VECTORS = TESTS / "wire" / "vectors"
"""Frames and keys with which they were made."""
