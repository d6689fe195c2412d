"""Paths as callers give them."""

from __future__ import annotations

import os

from saltlite.errors import UsageError


def home(path: str) -> str:
    """A path with ``~`` resolved."""
    return os.path.expanduser(path)


def absolute(path: str, complaint: str = "File path must be absolute.") -> str:
    """The same, of a path that has to begin at the root; ``{}`` in the complaint is the path."""
    path = home(path)
    if not os.path.isabs(path):
        raise UsageError(complaint.format(path))
    return path
