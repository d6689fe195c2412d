"""What a process does for its children before it forks them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FILL_TWICE = """
import gc, os, saltlite.master.daemon
from saltlite import process
process.prepare_many_forks()
first = sum(map(len, process._fillers))
again = sum(map(len, list(process._fill_pools())))
print(first, again, gc.get_freeze_count(), len(gc.get_objects()))
"""


def figures(allocator: str) -> list[int]:
    environment = {**os.environ, "PYTHONMALLOC": allocator}
    done = subprocess.run(
        [sys.executable, "-c", FILL_TWICE],
        env=environment, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return [int(word) for word in done.stdout.split()]


def test_the_pools_in_use_are_full_so_that_new_objects_begin_others() -> None:
    first_bytes, again_bytes, frozen, others = figures("pymalloc")
    assert 10_000 < first_bytes < 2_000_000
    assert again_bytes < first_bytes / 2, "what is filled stays full"
    assert frozen > 1000 > others


@pytest.mark.parametrize("allocator", ["malloc", "malloc_debug", "pymalloc_debug"])
def test_with_another_allocator_it_stays_small(allocator: str) -> None:
    first_bytes, _again_bytes, frozen, _others = figures(allocator)
    assert first_bytes < 2_000_000
    assert frozen > 1000
