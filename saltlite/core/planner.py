"""The jobs of a schedule: which there are, when each runs next, and what keeps one from running.

No clock, no chance and no file: they are arguments, and what is due is handed to the owner. When an
entry is due is computed in :mod:`saltlite.core.schedule`. A minion's and a master's schedule are
both this; what they do to wait, and with a job, is theirs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from saltlite.core.dataclasses import dataclass
from saltlite.core.localtime import clock_of, point_of
from saltlite.core.schedule import (
    FUNCTION_KEYS,
    BadSchedule,
    Timing,
    next_fire,
    skip_ends,
    timing_of,
    why_not,
    with_explicit,
)

log = logging.getLogger(__name__)

LONGEST_SLEEP_S: Final = 60.0
"""So often the clock is looked at: it may have been set, or the machine have been suspended."""

LATE: Final = timedelta(seconds=60)
"""A run at a fixed time that is later than this was missed; it is not made up for."""

SETTINGS: Final = frozenset(("enabled", "skip_function", "skip_during_range", "splay"))
"""What may stand beside the jobs, and holds for all of them."""

_SKIPPED: Final = frozenset(("in_skip_range", "not_in_range", "skip_explicit"))
"""Reasons for which ``skip_function`` runs instead. Source: observed on Salt 3006.30."""

INTERNAL: Final = ("__mine_interval", "__master_alive", "__master_failback", "__proxy_keepalive")
"""How the names of jobs begin that a minion of Salt makes for itself."""


def is_internal(name: object) -> bool:
    """Whether a job of this name cannot be configured."""
    return isinstance(name, str) and name.startswith(INTERNAL)


class ScheduleOwner(Protocol):
    """What a planner needs of whose schedule it is."""

    def run_scheduled(self, name: str, entry: Mapping[str, object]) -> None:
        """Start a job now."""

    def running_of(self, name: str) -> int:
        """How many jobs of this entry run."""


@dataclass(slots=True)
class Planned:
    """An entry and when it runs next: ``base`` without the splay, ``due`` with it."""

    entry: dict[str, Any]
    timing: Timing | None
    base: datetime | None = None
    due: datetime | None = None
    skipped: tuple[str, datetime] | None = None
    at_start: bool = False
    """Whether the next run is that of ``run_on_start``, which no range prevents."""


class Planner:
    """The entries of one schedule, and their next times.

    ``own`` are the entries of the configuration, which may be changed, ``pillar`` those of the
    pillar, which count before them; whoever changes either calls :meth:`plan`.
    """

    def __init__(
        self,
        owner: ScheduleOwner,
        configured: Mapping[str, Any],
        *,
        clock: Callable[[], datetime],
        random: Callable[[], float],
    ) -> None:
        """Plan what is configured; ``clock`` gives points in time."""
        self._owner = owner
        self._clock = clock
        self._random = random
        self.own = dict(configured)
        self.pillar: dict[str, Any] = {}
        self.whens: dict[str, Any] = {}
        self.planned: dict[str, Planned] = {}
        self._skip_during: Any = None
        self._splay: Any = None
        self._refused: set[str] = set()
        self._looked_at = clock()
        self.plan()

    def patience_s(self) -> float | None:
        """Seconds until something is due or the clock is to be looked at; ``None``: nothing is."""
        dues = [planned.due for planned in self.planned.values() if planned.due is not None]
        if not dues:
            return None
        wait_s = (min(dues) - self._clock()).total_seconds()
        # Never 0: a caller that waits for nothing would not let anything else run.
        return min(max(wait_s, 0.001), LONGEST_SLEEP_S)

    def run_due(self) -> None:
        """Start what is due now, each once however long ago that was."""
        now = self._clock()
        # Next times that were computed from the later clock may be hours away.
        if now < self._looked_at:
            log.info("the clock was set back: the schedule starts anew")
            for planned in self.planned.values():
                self._plan_next(planned, now, last=now)
        self._looked_at = now
        if not self.is_enabled():
            return
        for name, planned in list(self.planned.items()):
            if planned.due is not None and planned.due <= now:
                self._take_turn(name, planned, now)

    def _take_turn(self, name: str, planned: Planned, now: datetime) -> None:
        """Run an entry that is due, unless something speaks against it, and plan its next time."""
        timing, base = planned.timing, planned.base
        assert timing is not None and base is not None  # noqa: S101 - it has been planned
        reason = "" if planned.entry.get("enabled", True) else "disabled"
        if not reason and not planned.at_start:
            # By the planned time: the splay may carry a run over the end of its range.
            reason = why_not(timing, clock_of(base))
        reason = reason or self._reason_against(name, planned, now)
        if reason:
            self._skip_run(name, planned, timing, reason, now)
        else:
            self._start_job(name, planned.entry)
        # In step with its last time, unless a whole interval was missed: then from now on.
        every = timing.every
        self._plan_next(planned, now, last=base if every and now - base < every else now)

    def _start_job(self, name: str, entry: Mapping[str, object]) -> None:
        if entry.get("dry_run"):
            log.info("Scheduled job %s is due and does not run: it has dry_run", name)
            return
        log.info("Running scheduled job: %s", name)
        self._owner.run_scheduled(name, entry)

    def _skip_run(
        self, name: str, planned: Planned, timing: Timing, reason: str, now: datetime
    ) -> None:
        """Note why a job does not run; plan to make up for it, or run what stands in for it."""
        log.debug("schedule job %s does not run: %s", name, reason)
        planned.skipped = (reason, now)
        again = skip_ends(timing, clock_of(now)) if reason == "in_skip_range" else None
        if again is not None:
            planned.timing = with_explicit(timing, again)
        instead = self.settings().get("skip_function")
        if reason in _SKIPPED and isinstance(instead, str) and instead:
            self._start_job(name, {**planned.entry, "function": instead})

    def _reason_against(self, name: str, planned: Planned, now: datetime) -> str:
        assert planned.timing is not None and planned.due is not None  # noqa: S101 - as above
        if planned.timing.every is None and now - planned.due > LATE:
            return "missed"
        if planned.entry.get("jid_include", True):
            limit = planned.entry.get("maxrunning", 1)
            if isinstance(limit, int) and self._owner.running_of(name) >= limit:
                return "maxrunning"
        return ""

    # --- planning -----------------------------------------------------------------------------

    def set_facts(self, pillar: Mapping[str, object], grains: Mapping[str, object]) -> None:
        """Take what pillar and grains say of schedules; unknown to them is nothing."""
        schedule = pillar.get("schedule")
        whens: dict[str, Any] = {}
        for source in (grains, pillar):
            named = source.get("whens")
            if isinstance(named, Mapping):
                whens |= named
        has_new_names = whens != self.whens
        self.pillar = dict(schedule) if isinstance(schedule, Mapping) else {}
        self.whens = whens
        # Any entry may use a name, and is the same entry as before.
        if has_new_names:
            self.planned.clear()
        self.plan()

    def entries(self) -> dict[str, dict[str, Any]]:
        """All entries by name, the pillar's in place of our own."""
        found = {**self.own, **self.pillar}
        return {
            str(name): {"enabled": True, "name": str(name), **_with_function(entry)}
            for name, entry in found.items()
            if isinstance(entry, Mapping) and name not in SETTINGS and not is_internal(name)
        }

    def settings(self) -> dict[str, Any]:
        """What holds for all jobs."""
        found = {**self.own, **self.pillar}
        return {name: found[name] for name in SETTINGS if name in found}

    def is_enabled(self) -> bool:
        """Whether anything runs."""
        return bool(self.settings().get("enabled", True))

    def now(self) -> datetime:
        """What the clock says."""
        return self._clock()

    def plan(self) -> None:
        """Plan what is new or another one; what is as before keeps its time."""
        now, entries = self._clock(), self.entries()
        self._refuse_internal()
        settings = self.settings()
        skip, splay = settings.get("skip_during_range"), settings.get("splay")
        # They stand in no entry, so that no entry looks changed.
        if (skip, splay) != (self._skip_during, self._splay):
            self._skip_during, self._splay = skip, splay
            self.planned.clear()
        for name in set(self.planned) - set(entries):
            del self.planned[name]
        for name, entry in entries.items():
            planned = self.planned.get(name)
            if planned is None or planned.entry != entry:
                self.planned[name] = self._plan_entry(name, entry, now)

    def _refuse_internal(self) -> None:
        refused = {str(name) for name in (*self.own, *self.pillar) if is_internal(name)}
        for name in sorted(refused - self._refused):
            log.error("schedule: %s is a name of Salt's own; the job does not count", name)
        self._refused = refused

    def _plan_entry(self, name: str, entry: dict[str, Any], now: datetime) -> Planned:
        try:
            timing = self.timing(name, entry)
        # Entered without a time, so that it is complained of once and not at each look.
        except BadSchedule as error:
            log.error("%s", error)
            return Planned(entry, None)
        except (TypeError, ValueError, OverflowError) as error:
            log.error("schedule %.80r: %s", name, error)
            return Planned(entry, None)
        planned = Planned(entry, timing)
        self._plan_next(planned, now, last=None)
        _warn_once(name, planned, now)
        return planned

    def timing(self, name: str, entry: Mapping[str, object]) -> Timing:
        """What an entry says about time, with the range in which nothing runs.

        Raises:
            BadSchedule: it cannot be understood.
        """
        skip = entry.get("skip_during_range", self._skip_during)
        # ``True`` is the range of all, ``False`` none.
        if isinstance(skip, bool):
            skip = self._skip_during if skip else None
        splay = entry.get("splay", self._splay)
        return timing_of(name, {**entry, "skip_during_range": skip, "splay": splay}, self.whens)

    def _plan_next(self, planned: Planned, now: datetime, last: datetime | None) -> None:
        if planned.timing is None:
            return
        planned.base = planned.due = next_fire(planned.timing, now, last)
        if planned.base is not None:
            least, most = planned.timing.splay
            splay = timedelta(seconds=least + self._random() * (most - least))
            # Over a change of the clock the sum would keep the offset of before.
            planned.due = (planned.base + splay).astimezone()
        planned.at_start = last is None and planned.timing.run_on_start and planned.base == now


def _with_function(entry: Mapping[str, object]) -> dict[str, Any]:
    """The entry with what it runs under ``function``, however it says so."""
    named = [key for key in FUNCTION_KEYS if key in entry]
    if not named or named[0] == "function":
        return dict(entry)
    return {**entry, "function": entry[named[0]]}


def _warn_once(name: str, planned: Planned, now: datetime) -> None:
    """Say once what looks like a mistake in an entry."""
    timing = planned.timing
    assert timing is not None  # noqa: S101 - it has been read
    every_s = timing.every.total_seconds() if timing.every is not None else None
    if every_s is not None and timing.splay[1] > every_s:
        log.warning("schedule job %s: its splay is longer than its interval", name)
    if timing.once is not None and planned.due is None and point_of(timing.once) <= now:
        log.warning("schedule job %s does not run: the time of its once is over", name)
