"""Names that the master looks up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding
from saltlite.doctor.master.facts import MasterFacts
from saltlite.doctor.names import judge_own_name

NAME: Final = "dns"
ABOUT: Final = "how long this machine's own name takes to find"
LIMIT_S: Final = 20.0


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Look up the own name."""
    yield from judge_own_name(facts.machine)
