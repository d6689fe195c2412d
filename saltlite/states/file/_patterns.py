"""Which paths below a directory are meant: globs, and expressions after ``E@``. Pure."""

from __future__ import annotations

import fnmatch
import re


def matches(path: str, patterns: object) -> bool:
    """Whether any of the patterns (one or a list) fits a relative path."""
    given = patterns if isinstance(patterns, (list, tuple)) else [patterns]
    return any(_matches_pattern(path, str(pattern)) for pattern in given)


def _matches_pattern(path: str, pattern: str) -> bool:
    if pattern.startswith("E@"):
        return re.search(pattern[2:], path) is not None
    return fnmatch.fnmatch(path, pattern)


def is_wanted(path: str, include: object, exclude: object) -> bool:
    """Whether a path is included (all are without a pattern) and not excluded."""
    if include and not matches(path, include):
        return False
    return not (exclude and matches(path, exclude))
