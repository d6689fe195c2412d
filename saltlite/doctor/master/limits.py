"""How many files the master may have open: each connection is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, error, note, unseen
from saltlite.doctor.master.facts import MasterFacts

NAME: Final = "limits"
ABOUT: Final = "the limit of open files, against `max_open_files` and the number of keys"
LIMIT_S: Final = 20.0

OWN_FILES: Final = 200
"""What the master has open besides: sockets, logs, caches."""

PER_MINION: Final = 2
"""A minion has a connection to each port at a time."""


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Compare the limit of the master that runs; nothing if none does."""
    pid = facts.find_master()
    limit = None if pid is None else facts.machine.file_limit(pid)
    if limit is None:
        yield unseen("no master runs here, or it has no limit")
        return
    wanted = facts.config.process.max_open_files
    minions = len(facts.ctx.accepted())
    needed = minions * PER_MINION + OWN_FILES
    mend = (
        f"systemctl edit salt-master: [Service] LimitNOFILE={max(wanted, 2 * needed)}, and restart"
    )
    if limit < needed:
        yield error(
            f"{minions} minions need about {needed} open files, and {limit} are allowed: some "
            "will be turned away",
            f"process {pid}",
            mend,
        )
    elif limit < wanted:
        what = f"max_open_files is {wanted}, and the system allows {limit}, enough for now"
        yield note(what, f"process {pid}", mend)
