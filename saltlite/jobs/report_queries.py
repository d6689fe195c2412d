"""What is asked of the reports of runs of states, and how it is answered: words in, maps out.

For the runner ``changes`` and, on a minion without a master, for the execution module of that name.
Source: docs/reports.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Final

from saltlite.core import dataclasses
from saltlite.core.dataclasses import dataclass
from saltlite.core.state_drift import Drift, find_drift
from saltlite.core.state_reports import PropertyChange, ReportQuery, StateRow, StateRun
from saltlite.errors import UsageError
from saltlite.jobs.history import moment_before
from saltlite.runner_context import Reports

OUTPUTTER: Final = "report"
LIMIT: Final = 100
MOST: Final = 10_000
"""Entries of one answer."""

SLOW_READ: Final = 20
"""Rows read for each entry of the slowest: the same state may be there once for each run."""

DRIFT_DAYS: Final = 7

MOMENTS: Final = "yesterday, today, 2h, 7d, '3 days ago', 2026-01-02, 2026-01-02T03:04:05 (UTC)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportWords:
    """The words of a call, as they were given: a family of options (``core/arguments.py``)."""

    since: object = None
    until: object = None
    path: object = None
    by: object = None
    sls: object = None
    id: object = None
    function: object = None
    jid: object = None
    result: object = None
    test: object = "all"
    limit: object = LIMIT

    def to_query(
        self, now: datetime, minions: frozenset[str] | None, *, days: float | None = None
    ) -> ReportQuery:
        """What is looked for; ``days`` back where the call does not say, ``None`` for all.

        Raises:
            UsageError: one of the words means nothing; what is allowed.
        """
        if self.since is not None:
            since_s = read_moment("since", self.since, now)
        else:
            since_s = 0.0 if days is None else now.timestamp() - days * 86400
        would = str(self.result).lower() == "would"
        return ReportQuery(
            since_s=since_s,
            until_s=None if self.until is None else read_moment("until", self.until, now),
            minions=minions,
            user=_read_word(self.by),
            path=_read_word(self.path),
            sls=_read_word(self.sls),
            ident=_read_word(self.id),
            function=_read_word(self.function),
            jid=_read_word(self.jid),
            test=_read_test("all" if would else self.test),
            limit=_read_limit(self.limit),
        )


def _read_word(given: object) -> str:
    return "" if given is None else str(given)


def _read_limit(given: object) -> int:
    try:
        limit = int(str(given))
    except ValueError:
        limit = 0
    if isinstance(given, bool) or not 1 <= limit <= MOST:
        raise UsageError(f"limit={given}: wants a number from 1 to {MOST}")
    return limit


def _read_test(given: object) -> bool | None:
    word = str(given).lower()
    if word not in ("true", "false", "none", "all"):
        raise UsageError(f"test={given}: wants True (test runs), False (real ones) or all")
    return {"true": True, "false": False}.get(word)


def _read_result(given: object) -> str:
    """``changed``, ``failed`` or ``would``, by the result that is asked for; ``""`` for none."""
    found = {"none": "", "true": "changed", "false": "failed", "would": "would"}.get(
        str(given).lower()
    )
    if found is None:
        raise UsageError(f"result={given}: wants True, False or would")
    return found


def read_moment(name: str, given: object, now: datetime) -> float:
    """The moment that a word means, in seconds since the epoch.

    Raises:
        UsageError: it means none.
    """
    text = str(given).strip()
    found = moment_before(text, now)
    if found is None:
        try:
            # A day in digits has been read as a number.
            iso = (
                f"{text[:4]}-{text[4:6]}-{text[6:]}" if text.isdigit() and len(text) == 8 else text
            )
            found = datetime.fromisoformat(iso.replace("Z", "+00:00"))
        except ValueError:
            raise UsageError(f"{name}={given}: wants {MOMENTS}") from None
    aware = found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)
    return aware.timestamp()


# --- answers -----------------------------------------------------------------------------------


def answer_changes(reports: Reports, query: ReportQuery, result: object) -> dict[str, Any]:
    """What was changed, the newest first."""
    only = _read_result(result)
    # What a test run would change is no change; who asks for test runs means it.
    if query.test and only in ("", "changed"):
        only = "would"
    elif not only:
        only = "either" if query.test is None else "changed"
    rows = reports.list_rows(dataclasses.replace(query, only=only))
    return _wrap_entries([_entry_of(run, row, query.path) for run, row in rows])


def answer_failed(reports: Reports, query: ReportQuery) -> dict[str, Any]:
    """What failed, the newest first."""
    rows = reports.list_rows(dataclasses.replace(query, only="failed"))
    return _wrap_entries([_entry_of(run, row, query.path) for run, row in rows])


def answer_slowest(reports: Reports, query: ReportQuery) -> dict[str, Any]:
    """The states that took longest, each once for a minion, with how often it was so slow."""
    most = min(query.limit * SLOW_READ, MOST)
    rows = reports.list_rows(dataclasses.replace(query, slowest=True, limit=most))
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for run, row in rows:
        key = (run.minion, *row.resource)
        entry = found.get(key)
        if entry is None:
            found[key] = {**_entry_of(run, row, ""), "times": 1}
        else:
            entry["times"] += 1
    return _wrap_entries([*found.values()][: query.limit])


def answer_drift(reports: Reports, query: ReportQuery) -> dict[str, Any]:
    """Resources that are not, or do not stay, as they are declared; the newest first.

    Only times and minions restrict what is read: what comes later in other runs counts.
    """
    runs = reports.read_runs(query)
    drifted = [one for one in find_drift(runs) if _fits_query(one, query)]
    drifted.sort(key=lambda one: -one.run.at_s)
    entries = [
        {
            **_entry_of(one.run, one.row, ""),
            "drift": one.kind.value,
            "times": one.times,
            "first": format_time(one.first_s),
        }
        for one in drifted[: query.limit]
    ]
    return _wrap_entries(entries)


def _fits_query(one: Drift, query: ReportQuery) -> bool:
    from fnmatch import fnmatchcase

    pairs = (
        (one.row.name, query.path),
        (one.row.sls, query.sls),
        (one.row.ident, query.ident),
        (one.row.function, query.function),
    )
    return all(not wanted or fnmatchcase(value, wanted) for value, wanted in pairs)


def _wrap_entries(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"outputter": OUTPUTTER, "data": list(entries)}


def _entry_of(run: StateRun, row: StateRow, path: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "time": format_time(run.at_s),
        "minion": run.minion,
        "function": row.function,
        "name": row.name,
        "id": row.ident,
        "sls": row.sls,
        "saltenv": run.saltenv,
        "result": row.result,
        "test": run.test or row.result is None,
        "duration_ms": row.duration_ms,
        "user": run.user,
        "jid": run.jid,
        "changes": {
            one.property: {"old": one.old, "new": one.new} for one in _select_changes(row, path)
        },
    }
    if row.comment:
        entry["comment"] = row.comment
    return entry


def _select_changes(row: StateRow, path: str) -> Sequence[PropertyChange]:
    """The changes of a state; of one that is about many paths, those of the one asked for."""
    if not path or row.name == path or any(one in path for one in "*?["):
        return row.changes
    return [one for one in row.changes if one.property.startswith(path)] or row.changes


def format_time(at_s: float) -> str:
    """A moment as answers have it: UTC, to the second."""
    try:
        return datetime.fromtimestamp(at_s, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""
