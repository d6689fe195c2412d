"""The minion's clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.clocks import judge_own_clock
from saltlite.doctor.finding import Finding
from saltlite.doctor.minion.facts import MinionFacts

NAME: Final = "clock"
ABOUT: Final = "whether something keeps the clock right"
LIMIT_S: Final = 10.0


def look(facts: MinionFacts) -> Iterator[Finding]:
    """Ask the kernel."""
    yield from judge_own_clock(facts.machine)
