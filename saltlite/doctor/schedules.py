"""Judge schedules: entries that cannot be understood, that run too often, or all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from saltlite.core.dataclasses import dataclass
from saltlite.core.planner import SETTINGS
from saltlite.core.schedule import BadSchedule, Timing, timing_of
from saltlite.doctor.finding import Finding, warning

SHORT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a schedule that runs: its name, when, and the text that says so."""

    name: str
    function: str
    timing: Timing
    at: str
    """``when`` and ``cron`` as they are written, ``""`` for an interval."""
    is_spread: bool

    @property
    def per_second(self) -> float:
        """How often it runs, with an interval."""
        return 0.0 if self.timing.every is None else 1 / max(1.0, self.timing.every.total_seconds())


def read_entries(schedule: object) -> tuple[list[Entry], list[str]]:
    """The entries that are on, and what is wrong with the others."""
    entries: list[Entry] = []
    wrong: list[str] = []
    items = schedule if isinstance(schedule, Mapping) else {}
    is_spread = bool(items.get("splay"))
    for name, given in items.items():
        if name in SETTINGS or not isinstance(given, Mapping) or given.get("enabled") is False:
            continue
        try:
            timing = timing_of(str(name), given, {})
        except BadSchedule as problem:
            # ``when`` may be a name that a grain or the pillar gives a time to.
            if not isinstance(given.get("when"), str):
                wrong.append(str(problem))
            continue
        entries.append(_build_entry(str(name), given, timing, is_spread=is_spread))
    return entries, wrong


def _build_entry(name: str, given: Mapping[str, Any], timing: Timing, *, is_spread: bool) -> Entry:
    at = str(given.get("when") or given.get("cron") or "")
    return Entry(name, str(given["function"]), timing, at, is_spread or bool(given.get("splay")))


def judge_entries(schedule: object, where: str) -> Iterator[Finding]:
    """What is to be said of one schedule by itself."""
    entries, wrong = read_entries(schedule)
    for problem in wrong:
        yield warning(f"an entry does not run: {problem}", where, "docs/schedule.md has all forms")
    for one in entries:
        every = one.timing.every
        if every is not None and every.total_seconds() < SHORT_S:
            yield warning(
                f"{one.name} runs {one.function} every {every.total_seconds():g} s",
                where,
                "a longer interval, or a beacon",
            )
