"""Whether there is room where the master writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.disks import judge_daemons_disks
from saltlite.doctor.finding import Finding
from saltlite.doctor.master.facts import MasterFacts

NAME: Final = "disk"
ABOUT: Final = "room and inodes where keys, jobs, caches, sockets and logs are"
LIMIT_S: Final = 10.0


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Look at each file system once."""
    return judge_daemons_disks(facts.machine, facts.config)
