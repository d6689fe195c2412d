"""Which resources drift, as runs of states have seen them: a pure look at their reports.

A resource drifts if the last run that looked at it without acting (a test, an audit, ``noop``)
would change it, or if a run had to put the very same thing back that an earlier one had put there:
between the two somebody else altered it. Source: docs/reports.md#drift.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import groupby
from typing import Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.state_reports import CUT, StateRow, StateRun

ACTIONS: Final = ("cmd.", "module.", "test.", "event.", "http.", "salt.", "saltmod.")
"""States that do something each time they run: to do it again is no drift."""

PARTIAL: Final = frozenset({"state.single", "state.sls_id", "state.low", "state.template_str"})
"""Runs that look at a part of their SLS: what they do not tell of they may not have looked at."""

RESTARTS: Final = ("Service restarted", "Service reloaded")
"""What a service says that was only told of a change."""


class DriftKind(Enum):
    """Why a resource is said to drift."""

    WOULD_CHANGE = "would change"
    CHANGED_AGAIN = "changed again"


@dataclass(frozen=True, slots=True)
class Drift:
    """A resource that drifts; ``run`` and ``row`` are the last that say so.

    ``times`` is how often it was put back, or found apart, since ``first_s``.
    """

    kind: DriftKind
    run: StateRun
    row: StateRow
    times: int
    first_s: float


@dataclass(slots=True)
class _Seen:
    """What is known of a resource so far."""

    found_apart: tuple[StateRun, StateRow] | None = None
    apart_times: int = 0
    apart_first_s: float = 0.0
    put: dict[str, str] = field(default_factory=dict)
    """What real changes have put there, by property."""
    put_first_s: float = 0.0
    put_again: tuple[StateRun, StateRow] | None = None
    again_times: int = 0


def find_drift(runs: Iterable[StateRun]) -> Iterator[Drift]:
    """The drift of each minion; ``runs`` are sorted by minion, then by time."""
    for _minion, theirs in groupby(runs, key=lambda run: run.minion):
        seen: dict[tuple[str, str, str], _Seen] = {}
        for run in theirs:
            _settle_absent(run, seen)
            for row in run.rows:
                if not row.function.startswith(ACTIONS):
                    _look_at_row(run, row, seen.setdefault(row.resource, _Seen()))
        for one in seen.values():
            yield from _list_drift(one)


def _list_drift(one: _Seen) -> Iterator[Drift]:
    if one.found_apart is not None:
        run, row = one.found_apart
        yield Drift(DriftKind.WOULD_CHANGE, run, row, one.apart_times, one.apart_first_s)
    if one.put_again is not None:
        run, row = one.put_again
        yield Drift(DriftKind.CHANGED_AGAIN, run, row, one.again_times, one.put_first_s)


def _look_at_row(run: StateRun, row: StateRow, seen: _Seen) -> None:
    if row.result is None:
        seen.apart_times = seen.apart_times + 1 if seen.found_apart else 1
        seen.apart_first_s = seen.apart_first_s if seen.found_apart else run.at_s
        seen.found_apart = run, row
        return
    if row.result is False:
        return  # it says nothing of how the resource is
    seen.found_apart = None
    if run.test or not row.changes or row.comment.startswith(RESTARTS):
        return
    # A value that was cut may have been another one.
    put = {one.property: one.new for one in row.changes if one.new and not one.new.endswith(CUT)}
    if any(seen.put.get(name) == value for name, value in put.items()):
        seen.put_again = run, row
        seen.again_times += 1
    elif seen.put_again is None:
        seen.put_first_s = run.at_s
    seen.put |= put


def _settle_absent(run: StateRun, seen: dict[tuple[str, str, str], _Seen]) -> None:
    """What a whole run of its SLS does not tell of it has found in order."""
    if run.fun in PARTIAL or run.left_out:
        return
    told = {row.resource for row in run.rows}
    for resource, one in seen.items():
        if one.found_apart is None or resource in told:
            continue
        before, row = one.found_apart
        # A run that stopped early has fewer states of that SLS than there were.
        if run.sls.get(row.sls, 0) >= before.sls.get(row.sls, 1):
            one.found_apart = None
