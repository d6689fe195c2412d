"""What a process watches, as the kernel tells."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

import psutil

INODE = re.compile(r"^inotify wd:\S+ ino:([0-9a-f]+) ", re.MULTILINE)


def is_watched(path: Path, processes: Iterable[psutil.Process]) -> bool:
    """Whether one of them has asked inotify for what happens to ``path``: from then on it is told.

    False also while there is no such file.
    """
    try:
        inode = path.stat().st_ino
    except FileNotFoundError:
        return False
    return any(inode in watched_inodes(one.pid) for one in processes)


def watched_inodes(pid: int) -> set[int]:
    """Those of all inotify instances of a process; none of one that has ended."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for info in Path(f"/proc/{pid}/fdinfo").iterdir():
            with contextlib.suppress(OSError):
                found |= {int(inode, 16) for inode in INODE.findall(info.read_text())}
    return found
