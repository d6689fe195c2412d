"""The minion's schedule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding
from saltlite.doctor.minion.facts import MinionFacts
from saltlite.doctor.schedules import judge_entries

NAME: Final = "schedule"
ABOUT: Final = "entries that cannot be understood, or run every few seconds"
LIMIT_S: Final = 10.0


def look(facts: MinionFacts) -> Iterator[Finding]:
    """Look at what the configuration says, and the pillar where it is at hand."""
    own = facts.config.extra.get("schedule")
    yield from judge_entries(own, str(facts.config.source.get("schedule", "schedule")))
    yield from judge_entries(facts.pillar.get("schedule"), "pillar, schedule")
