"""Schedules: the master's, and what the pillars say of all minions together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from saltlite.doctor.finding import Finding, list_names, warning
from saltlite.doctor.master.facts import MasterFacts
from saltlite.doctor.schedules import Entry, judge_entries, read_entries

NAME: Final = "schedule"
ABOUT: Final = "entries that many minions run in the same second, or every few seconds"
LIMIT_S: Final = 60.0

STORM: Final = 50
"""So many minions in one second are worth spreading."""

FAST_PER_S: Final = 5.0


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Look at the own schedule, and at the pillars that minions were given last."""
    config = facts.config
    source = str(config.source.get("schedule", "schedule"))
    yield from judge_entries(config.schedule.schedule, source)
    of_minions: dict[str, Sequence[Entry]] = {}
    for minion in facts.ctx.accepted():
        pillar = facts.ctx.cache.fetch("pillar", minion)
        entries, _wrong = read_entries(pillar.get("schedule") if isinstance(pillar, dict) else None)
        if entries:
            of_minions[minion] = entries
    yield from judge_fleet(of_minions)


def judge_fleet(of_minions: Mapping[str, Sequence[Entry]]) -> Iterator[Finding]:
    """Find what all minions together do at once, or too often."""
    together: dict[tuple[str, str, str], list[str]] = {}
    rates: Counter[str] = Counter()
    for minion, entries in of_minions.items():
        for one in entries:
            rates[f"{one.name} ({one.function})"] += one.per_second  # type: ignore[assignment]
            if one.at and not one.is_spread:
                together.setdefault((one.name, one.function, one.at), []).append(minion)
    for (name, function, at), minions in together.items():
        if len(minions) >= STORM:
            yield warning(
                f"{len(minions)} minions run {name} ({function}) in the same second: {at}",
                list_names(minions),
                f"a splay for {name}, as splay: {len(minions)}",
            )
    if (total := sum(rates.values())) > FAST_PER_S:
        top = ", ".join(f"{name} {rate:.1f}" for name, rate in rates.most_common(3))
        yield warning(
            f"schedules bring {total:.0f} jobs a second: {top}",
            "pillar, schedule",
            "longer intervals, or return_job: False where nobody reads the returns",
        )
