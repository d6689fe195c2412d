"""What ``doctor.check`` looks at on a minion: one file for each check, in the report's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from saltlite.doctor.minion import (
    clock,
    disk,
    dns,
    files,
    identity,
    key,
    options,
    ports,
    returns,
    schedule,
)
from saltlite.doctor.minion.facts import MinionFacts
from saltlite.doctor.run import Check

CHECKS: Final[Sequence[Check[MinionFacts]]] = (
    ports,
    key,
    disk,
    files,
    options,
    identity,
    clock,
    dns,
    returns,
    schedule,
)
