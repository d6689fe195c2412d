"""Judge what is free of the file systems that a daemon writes to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from saltlite.doctor.finding import Finding, error, warning
from saltlite.doctor.machine import Machine, Space

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.config.minion import MinionConfig

FULL_SHARE: Final = 0.01
LOW_SHARE: Final = 0.05
FULL_BYTES: Final = 10 * 1024**2
LOW_BYTES: Final = 200 * 1024**2
AMPLE_BYTES: Final = 10 * 1024**3
"""So much is enough, however small a share of a large disk it is."""

FULL_INODES: Final = 100
AMPLE_INODES: Final = 1_000_000


def judge_daemons_disks(machine: Machine, config: MasterConfig | MinionConfig) -> Iterator[Finding]:
    """Look at the file systems that a daemon writes to, each once."""
    paths = config.paths
    places = {
        paths.cachedir: "cachedir",
        paths.pki_dir: "pki_dir",
        paths.sock_dir: "sock_dir",
        os.path.dirname(config.log.log_file): "log_file",
    }
    return judge_disks(machine, places)


def judge_disks(machine: Machine, places: Mapping[str, str]) -> Iterator[Finding]:
    """Look at the file system of each place, once; ``places`` are paths with their options."""
    seen: set[int] = set()
    for path, option in places.items():
        space = machine.space(path)
        if space is None or space.device in seen:
            continue
        seen.add(space.device)
        yield from judge_space(f"{path} ({option})", path, space)


def judge_space(where: str, path: str, space: Space) -> Iterator[Finding]:
    """What is to be said of one file system."""
    mend = f"find what fills it: du -xh --max-depth=2 {path} | sort -h | tail"
    free, share = space.bytes_free, space.bytes_free / max(1, space.bytes_all)
    if space.bytes_all and (free < FULL_BYTES or (share < FULL_SHARE and free < AMPLE_BYTES)):
        yield error(f"the disk is full: {_show_share(free, share)}", where, mend)
    elif space.bytes_all and (free < LOW_BYTES or (share < LOW_SHARE and free < AMPLE_BYTES)):
        yield warning(f"the disk is nearly full: {_show_share(free, share)}", where, mend)
    if not space.inodes:
        return
    left, share = space.inodes_free, space.inodes_free / space.inodes
    mend = f"find what has them: du -x --inodes --max-depth=2 {path} | sort -n | tail"
    if left < FULL_INODES or (share < FULL_SHARE and left < AMPLE_INODES):
        yield error(f"no inodes are left: {left} of {space.inodes} are free", where, mend)
    elif share < LOW_SHARE and left < AMPLE_INODES:
        yield warning(f"few inodes are left: {left} of {space.inodes} are free", where, mend)


def _show_share(free: int, share: float) -> str:
    return f"{free / 1024**2:.0f} MiB are free, {share:.1%}"
