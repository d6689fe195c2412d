"""Options of the master that nobody obeys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.config.master import SECTIONS as OF_MASTER
from saltlite.config.minion import SECTIONS as OF_MINION
from saltlite.doctor.finding import Finding
from saltlite.doctor.master.facts import MasterFacts
from saltlite.doctor.settings import judge_options

NAME: Final = "options"
ABOUT: Final = "misspelt options, and options without effect"
LIMIT_S: Final = 10.0


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Look at each option of the configuration's files."""
    config = facts.config
    yield from judge_options(config.source, config.extra, OF_MASTER, OF_MINION, "master")
