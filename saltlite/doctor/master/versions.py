"""Minions whose version is not the master's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.core.numbers import is_digits
from saltlite.doctor.finding import Finding, list_names, note, warning
from saltlite.doctor.master.facts import MasterFacts
from saltlite.version import SALT_COMPATIBLE

NAME: Final = "versions"
ABOUT: Final = "minions that are newer than the master, or of an older release"
LIMIT_S: Final = 30.0

OLDEST: Final = (3006,)
"""The oldest release that is tried with this master."""


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Compare the versions that minions have sent with their grains."""
    groups: dict[str, list[str]] = {}
    for minion, grains in facts.read_grains():
        if isinstance(version := grains.get("saltversion"), str):
            groups.setdefault(version, []).append(minion)
    ours = read_version(SALT_COMPATIBLE)
    for version, minions in sorted(groups.items()):
        theirs = read_version(version)
        if theirs[:1] > ours[:1]:
            yield note(
                f"{len(minions)} minions have {version}, a newer release than the master's "
                f"({SALT_COMPATIBLE})",
                list_names(minions),
            )
        elif theirs and theirs < OLDEST:
            yield warning(
                f"{len(minions)} minions have {version}, older than this master is tried with",
                list_names(minions),
                f"bring them up to {SALT_COMPATIBLE}",
            )


def read_version(text: str) -> tuple[int, ...]:
    """``3006.30`` as numbers; what is no number ends it."""
    parts = text.partition("+")[0].split(".")
    numbers = []
    for part in parts:
        if not is_digits(part):
            break
        numbers.append(int(part))
    return tuple(numbers)
