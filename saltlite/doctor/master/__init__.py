"""What ``salt-run doctor`` looks at: one file for each check, in the order of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from saltlite.doctor.master import (
    clock,
    clones,
    cluster,
    disk,
    dns,
    files,
    gitfs,
    grains,
    jobs,
    keys,
    limits,
    options,
    pillar,
    ports,
    schedule,
    versions,
    workers,
)
from saltlite.doctor.master.facts import MasterFacts
from saltlite.doctor.run import Check

CHECKS: Final[Sequence[Check[MasterFacts]]] = (
    ports,
    workers,
    disk,
    files,
    options,
    keys,
    clones,
    versions,
    grains,
    clock,
    dns,
    limits,
    jobs,
    schedule,
    gitfs,
    pillar,
    cluster,
)
