"""What a test needs of its machine: where that is missing it is skipped, and a line names it."""

from __future__ import annotations

import contextlib
import resource
import shutil
from collections.abc import Iterator

import pytest


def missing(*names: str) -> list[str]:
    """Which of these programs are not on this machine."""
    return [name for name in names if shutil.which(name) is None]


def need(*names: str) -> None:
    """Skip the test, or all that a fixture serves, unless all of these programs are there."""
    if lacking := missing(*names):
        pytest.skip(f"needs {', '.join(lacking)}")


@contextlib.contextmanager
def many_descriptors(wanted: int) -> Iterator[None]:
    """Let this process have so many files open meanwhile; skip where it must not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"needs {wanted} descriptors, {hard} are allowed")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
