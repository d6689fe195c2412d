"""How long the files of the pillar take to render, and what is wrong with them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.doctor.finding import Finding, error, list_names, warning
from saltlite.doctor.master.facts import MasterFacts
from saltlite.pillar.context import time_for_minion

NAME: Final = "pillar"
ABOUT: Final = "SLS files of the pillar that are slow to render or do not, for some minions"
LIMIT_S: Final = 90.0

MINIONS: Final = 10
"""So many pillars are compiled, of minions spread over all."""

PATIENCE_S: Final = 30.0
"""After so long no further one is begun."""

SLOW_FILE_S: Final = 0.5
SLOW_PILLAR_S: Final = 2.0


@dataclass(slots=True)
class Timings:
    """Seconds that files took, by path; how many pillars they are of, and what was wrong."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    pillars: int = 0

    def note_time(self, path: str, took_s: float) -> None:
        """Note that a file was rendered."""
        self.seconds.setdefault(path, []).append(took_s)


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Compile the pillars of a few minions; outer sources are left out."""
    timings = Timings()
    began_s = time.monotonic()
    for minion, grains in spread(list(facts.read_grains())):
        if time.monotonic() - began_s > PATIENCE_S:
            break
        known = {**grains, "id": minion}
        for problem in time_for_minion(facts.config, minion, known, timings.note_time):
            line = problem.text.partition("\n")[0]
            timings.wrong.setdefault(line, []).append(minion)
        timings.pillars += 1
    yield from judge_timings(timings)


def spread(minions: Sequence[tuple[str, Mapping[str, Any]]]) -> Sequence[Any]:
    """At most :data:`MINIONS` of them, from the first to the last."""
    if len(minions) <= MINIONS:
        return minions
    step = len(minions) / MINIONS
    return [minions[int(number * step)] for number in range(MINIONS)]


def judge_timings(timings: Timings) -> Iterator[Finding]:
    """What is to be said of files and of all of them together."""
    for line, minions in timings.wrong.items():
        yield error(
            f"the pillar does not compile: {line}",
            list_names(minions),
            "salt-run check.pillar names all of it, for all minions",
        )
    means = {path: sum(took) / len(took) for path, took in timings.seconds.items()}
    for path, mean_s in sorted(means.items(), key=lambda item: -item[1]):
        if mean_s >= SLOW_FILE_S:
            yield warning(
                f"the file takes {mean_s:.1f} s to render, for each minion that has it",
                path,
                "what it asks of commands and servers belongs into grains, or an ext_pillar with "
                "a cache; pillar_cache: True renders it once in pillar_cache_ttl",
            )
    total_s = sum(map(sum, timings.seconds.values())) / max(1, timings.pillars)
    if total_s >= SLOW_PILLAR_S and max(means.values()) < SLOW_FILE_S:
        yield warning(
            f"a pillar takes {total_s:.1f} s, in {len(means)} files of which none is slow",
            "pillar_roots",
            "pillar_cache: True renders it once in pillar_cache_ttl",
        )
