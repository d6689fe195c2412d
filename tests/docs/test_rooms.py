"""How tests of several workers wait for each other."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import rooms

from cluster import eventually

ORDINARY: Any = SimpleNamespace(get_closest_marker=lambda name: None)


def test_who_waits_takes_what_is_free_first_and_opens_no_more_files(tmp_path: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def enter() -> None:
        with rooms.enter_room(tmp_path, ORDINARY):
            entered.set()
            leave.wait(30)

    with contextlib.ExitStack() as door, contextlib.ExitStack() as first:
        assert rooms._try_lock(door, tmp_path / "door")
        assert all(rooms._try_lock(first, tmp_path / corner) for corner in rooms.CORNERS)
        before = len(os.listdir("/proc/self/fd"))
        waiting = threading.Thread(target=enter)
        waiting.start()
        assert not entered.wait(1)
        assert len(os.listdir("/proc/self/fd")) <= before + 3  # one look may be under way
        first.close()
        eventually(entered.is_set, within_s=10, what="it is in a corner")
        leave.set()
        waiting.join()
        assert rooms._try_lock(first, tmp_path / rooms.CORNERS[0])
