"""Who has returned, who is still missing, and when to stop waiting for them.

Pure: events and the time go in, a status comes out. :mod:`saltlite.client.jobs` feeds it from the
event bus. The rule is Salt's: wait ``timeout``, then ask those who are missing with
``saltutil.find_job`` and wait ``gather_job_timeout`` for their answers. Who says that the job still
runs is waited for and asked again after another ``timeout``; who says that it does not, or says
nothing, is given up. So without a live answer nobody waits longer than the two together.

Source: docs/wire.md#publications, docs/command-line.md#missing-returns,
docs/reliability.md#promises.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TypeAlias

from saltlite.core.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expected:
    """More minions belong to the job than was known (a syndic says so)."""

    minions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Returned:
    """A minion returned."""

    minion: str


@dataclass(frozen=True, slots=True)
class AbsentMinions:
    """It is known that minions are not there, so that they are not waited for."""

    minions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """``find_job`` has been published to those whom the status named."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A minion answered ``find_job``."""

    minion: str
    running: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


GatherEvent: TypeAlias = Expected | Returned | AbsentMinions | Asked | Answered | Tick


@dataclass(frozen=True, slots=True)
class GatherStatus:
    """What to do now.

    ``ask`` names whom to ask with ``find_job``; it stays until :class:`Asked`. ``deadline_s`` is
    when to come back with a :class:`Tick` if nothing else happens.
    """

    done: bool
    ask: tuple[str, ...]
    deadline_s: float


class _Phase(Enum):
    WAITING = "waiting"
    ASKING = "asking"
    DONE = "done"


class Gather:
    """The returns of one job.

    ``timeout_s`` and ``gather_job_timeout_s`` are Salt's options of these names. ``outstanding``
    are those who are waited for: expected, not returned and not given up. For ``hold_s`` it is not
    done even if nobody is: syndics may name more.
    """

    def __init__(
        self,
        minions: Iterable[str],
        *,
        timeout_s: float,
        gather_job_timeout_s: float,
        now_s: float,
        hold_s: float = 0.0,
    ) -> None:
        self.expected: set[str] = set(minions)
        self.returned: set[str] = set()
        self.given_up: set[str] = set()
        self.outstanding: set[str] = set(self.expected)
        self._timeout_s = max(0.0, timeout_s)
        self._gather_s = max(0.0, gather_job_timeout_s)
        self._running: set[str] = set()
        self._asked = False
        self._phase = _Phase.WAITING
        self._deadline_s = now_s + self._timeout_s
        self._hold_until_s = now_s + hold_s

    @property
    def missing(self) -> set[str]:
        """Expected and not returned, given up or not."""
        return self.expected - self.returned

    def on(self, event: GatherEvent, now_s: float) -> GatherStatus:
        """Take in one event that happened at ``now_s`` (any clock that does not go backwards)."""
        self._take_event(event)
        if self._phase is not _Phase.DONE:
            self._advance_phase(now_s)
        # Whatever the phase: the last who was missing may just have returned or been given up.
        if not self.outstanding and now_s >= self._hold_until_s:
            self._phase = _Phase.DONE
        return self._make_status()

    def _take_event(self, event: GatherEvent) -> None:
        if isinstance(event, Returned):
            # Minions match themselves: one may return that the master did not think of.
            self.expected.add(event.minion)
            self.returned.add(event.minion)
            # However late it comes, it has returned.
            self.given_up.discard(event.minion)
            self.outstanding.discard(event.minion)
        elif isinstance(event, Expected):
            # Before they are expected: who was known already may have returned.
            self.outstanding |= event.minions - self.expected
            self.expected |= event.minions
        elif isinstance(event, AbsentMinions):
            self.given_up |= event.minions & self.outstanding
            self.outstanding -= event.minions
        elif isinstance(event, Asked):
            self._asked = True
        # An answer that comes after its round says nothing of the next one.
        elif isinstance(event, Answered) and self._phase is _Phase.ASKING and event.running:
            self._running.add(event.minion)

    def _advance_phase(self, now_s: float) -> None:
        outstanding = self.outstanding
        # All have said that they run: the rest of gather_job_timeout is not waited for.
        if self._phase is _Phase.ASKING and outstanding <= self._running:
            self._start_waiting(now_s)
        if now_s < self._deadline_s:
            return
        # Nobody is to be asked; whom a syndic names from now on has the whole timeout.
        if not outstanding:
            self._start_waiting(now_s)
        elif self._phase is _Phase.WAITING:
            self._phase = _Phase.ASKING
            self._asked = False
            # Whoever ran in the last round has to say so again.
            self._running = set()
            self._deadline_s = now_s + self._gather_s
        else:
            self.given_up |= outstanding - self._running
            self.outstanding = outstanding & self._running
            self._start_waiting(now_s)

    def _start_waiting(self, now_s: float) -> None:
        self._phase = _Phase.WAITING
        self._deadline_s = now_s + self._timeout_s

    def _make_status(self) -> GatherStatus:
        asking = self._phase is _Phase.ASKING and not self._asked
        ask = tuple(sorted(self.outstanding)) if asking else ()
        # With nobody to wait for only the end of the hold is waited for.
        is_done = self._phase is _Phase.DONE
        holds = not is_done and not self.outstanding
        return GatherStatus(is_done, ask, self._hold_until_s if holds else self._deadline_s)
