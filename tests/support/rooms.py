"""Which tests run beside which, and in which order, where several workers share a machine.

A test marked ``alone`` says how long something may take. All such tests go to one worker, one after
the other, and beside one of them run two other tests at most: most of them wait for something, and
use less than half a core. Of the others, those that start daemons come before ``tests/unit``, whose
files are many and short, so that all workers end at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from repository import ROOT
from xdist.scheduler import LoadFileScheduling

ALONE = "alone"
CORNERS = ("corner", "other corner")
"""Where tests run beside one that runs alone."""

FIRST = ("behaviour", "docs", "property", "wire")
"""Beside those that run alone: directories whose tests start no daemons."""
LAST = ("unit",)

BY_PARAMETER = ("tests/interop/test_syndic_trees.py",)
"""Files that hand their parameter to a fixture which takes a minute: one part for each value."""
LONG = frozenset(
    f"tests/{name}.py"
    for name in (
        "interop/test_syndic_trees", "integration/test_cluster_nodes", "interop/test_pairs",
        "interop/test_files_between", "interop/test_coming_from_salt",
        "interop/test_same_answers", "integration/test_syndics",
        "integration/test_quickstart_cluster", "integration/test_packages",
        "interop/test_mine_and_peers", "integration/test_cluster_shares", "interop/test_fleet",
        "interop/test_custom_code_pairs", "attack/test_growth", "fault/test_corrupt_files",
        "integration/test_tutorial", "integration/test_key_policies",
    )
)  # fmt: skip
"""Files that take about a minute, or more: they begin before others of their kind."""


class AloneInOneWorker(LoadFileScheduling):  # type: ignore[misc]
    """Hands out files, and those with tests that run alone as if they were one."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path in BY_PARAMETER:
            return f"{path}{nodeid.partition('[')[2]}"
        return ALONE if _has_alone(path) else path


@cache
def _has_alone(path: str) -> bool:
    return "pytest.mark.alone" in (ROOT / path).read_text()


def put_in_order(items: list[pytest.Item]) -> None:
    """Sort them by file: those with tests that run alone first, then long ones, then large ones."""
    alone = {item.path for item in items if item.get_closest_marker(ALONE)}
    size = Counter(item.path for item in items)

    def rank(item: pytest.Item) -> tuple[int, bool, int]:
        folder = item.nodeid.split("/")[1]
        step = 0 if item.path in alone else 1 if folder in FIRST else 3 if folder in LAST else 2
        return step, item.nodeid.partition("::")[0] not in LONG, -size[item.path]

    items.sort(key=rank)


@contextlib.contextmanager
def enter_room(place: Path, item: pytest.Item) -> Iterator[None]:
    """Wait until a test may run; ``place`` is a directory that all workers share."""
    with contextlib.ExitStack() as held:
        if item.get_closest_marker(ALONE):
            # The door is shut before the room is empty: who comes meanwhile goes to the corner.
            _lock(held, place / "door", fcntl.LOCK_EX)
            _lock(held, place / "room", fcntl.LOCK_EX)
        else:
            _enter_beside(held, place)
        yield


def _enter_beside(held: contextlib.ExitStack, place: Path) -> None:
    """Take what is free first: the room when the door is open, or one of the corners."""
    while not _is_open(place / "door"):
        if any(_try_lock(held, place / corner) for corner in CORNERS):
            return
        time.sleep(0.05)
    _lock(held, place / "room", fcntl.LOCK_SH)


def _lock(held: contextlib.ExitStack, path: Path, how: int) -> None:
    file = held.enter_context(path.open("w"))
    fcntl.flock(file, how)
    # In so many words: a process that the test has left holds the open file as well.
    held.callback(fcntl.flock, file, fcntl.LOCK_UN)


def _try_lock(held: contextlib.ExitStack, path: Path) -> bool:
    with contextlib.ExitStack() as tried:  # what is tried again and again leaves no file open
        try:
            _lock(tried, path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        held.enter_context(tried.pop_all())
    return True


def _is_open(door: Path) -> bool:
    with contextlib.ExitStack() as looking:
        return _try_lock(looking, door)
