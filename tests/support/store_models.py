"""What the master's stores promise, as plainly as it can be written: in dictionaries.

Each model has the methods of its Protocol in ``saltlite/master/stores.py``, and gives what every
implementation has to give.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from saltlite.core.dataclasses import replace
from saltlite.core.state_reports import ReportQuery, StateRow, StateRun
from saltlite.master.jobcache import LAST_JIDS, JobQuery, JobRecord, Return, Stored
from saltlite.master.keystore import KeyState
from saltlite.master.minioncache import BANKS
from saltlite.transport.codec import pack_bin

EXCLUSIVE = (KeyState.ACCEPTED, KeyState.REJECTED, KeyState.UNACCEPTED)
"""In the order in which they count."""


class ModelJobs:
    def __init__(self) -> None:
        self._jobs: dict[str, tuple[dict[str, Any], list[str]]] = {}
        self._returns: dict[str, dict[str, dict[str, Any]]] = {}
        self._unasked: dict[str, dict[str, int]] = {}

    def new_job(self, jid: str, load: Mapping[str, Any], minions: Sequence[str]) -> bool:
        if jid in self._jobs:
            return False
        kept = {name: value for name, value in load.items() if name != "key"}
        self._jobs[jid] = (kept, list(minions))
        return True

    def add_minions(self, jid: str, minions: Sequence[str]) -> None:
        if jid in self._jobs:
            known = self._jobs[jid][1]
            known += sorted(set(minions) - set(known))

    def make_room(self, jid: str, minion_id: str, ret: Mapping[str, Any], most_bytes: int) -> int:
        kept = self._unasked.setdefault(minion_id, {})
        kept.setdefault(jid, len(pack_bin(ret)))
        total, extra = 0, []
        for number, one in enumerate(sorted(kept, reverse=True)):
            total += kept[one]
            if number and most_bytes and total > most_bytes:
                extra.append(one)
        self._forget(extra)
        return len(extra)

    def add_returns(self, returns: Sequence[Return]) -> list[Stored]:
        return [self._add_return(*one) for one in returns]

    def _add_return(self, jid: str, minion_id: str, ret: Mapping[str, Any]) -> Stored:
        first = self._returns.get(jid, {}).get(minion_id)
        if jid not in self._jobs:
            return Stored.FORGOTTEN
        if first is None:
            self._returns.setdefault(jid, {})[minion_id] = dict(ret)
            return Stored.NEW
        return Stored.REPEAT if pack_bin(first) == pack_bin(ret) else Stored.CONFLICT

    def _forget(self, jids: Collection[str]) -> int:
        gone = [jid for jid in jids if jid in self._jobs]
        for jid in jids:
            self._jobs.pop(jid, None)
            self._returns.pop(jid, None)
            for kept in self._unasked.values():
                kept.pop(jid, None)
        return len(gone)

    def clean(self, before_jid: str) -> int:
        return self._forget([jid for jid in self._jobs if jid < before_jid])

    def clean_to(self, most: int) -> int:
        return self._forget(sorted(self._jobs)[: max(0, len(self._jobs) - most)])

    def job(self, jid: str) -> JobRecord | None:
        return JobRecord(jid, *self._jobs[jid]) if jid in self._jobs else None

    def minions(self, jid: str) -> list[str] | None:
        return self._jobs[jid][1] if jid in self._jobs else None

    def jobs(self, query: JobQuery) -> Iterator[JobRecord]:
        found = [jid for jid in sorted(self._jobs) if self._fits(jid, query)]
        if query.newest_first:
            found.reverse()
        return iter([JobRecord(jid, *self._jobs[jid]) for jid in found[: query.limit or None]])

    def _fits(self, jid: str, query: JobQuery) -> bool:
        load = self._jobs[jid][0]
        metadata = load.get("metadata", {})
        return (
            all(
                not wanted or fnmatch.fnmatchcase(str(load.get(name, "")), wanted)
                for name, wanted in (("fun", query.fun), ("tgt", query.tgt), ("user", query.user))
            )
            and jid >= query.since
            and (not query.until or jid <= query.until + "\x7f")
            and all(str(metadata.get(name)) == value for name, value in query.metadata.items())
        )

    def last_jids(self, before: str = "\x7f") -> list[str]:
        return sorted((jid for jid in self._jobs if jid < before), reverse=True)[:LAST_JIDS]

    def returns(self, jid: str) -> dict[str, dict[str, Any]]:
        return dict(sorted(self._returns.get(jid, {}).items()))

    def count_returns(self, jid: str) -> int:
        return len(self.returns(jid))

    def returns_except(
        self, jid: str, had: Collection[str], most_bytes: int
    ) -> tuple[dict[str, dict[str, Any]], int]:
        found: dict[str, dict[str, Any]] = {}
        total = 0
        for minion_id, ret in self.returns(jid).items():
            size = len(pack_bin(ret))
            if minion_id in had:
                continue
            if found and total + size > most_bytes:
                break
            found[minion_id] = ret
            total += size
        return found, total

    def list_returned(
        self, minion_id: str, *, since: str = ""
    ) -> Iterator[tuple[JobRecord, dict[str, Any]]]:
        for jid in sorted(self._jobs, reverse=True):
            if jid >= since and minion_id in self._returns.get(jid, {}):
                yield JobRecord(jid, *self._jobs[jid]), self._returns[jid][minion_id]


class ModelKeys:
    def __init__(self) -> None:
        self._keys: dict[KeyState, dict[str, str]] = {state: {} for state in KeyState}

    def ids(self, state: KeyState) -> frozenset[str]:
        return frozenset(self._keys[state])

    def list(self, state: KeyState) -> list[str]:
        return sorted(self._keys[state])

    def has(self, minion_id: str, state: KeyState) -> bool:
        return minion_id in self._keys[state]

    def key(self, minion_id: str, state: KeyState) -> str | None:
        return self._keys[state].get(minion_id)

    def look_up(self, minion_id: str) -> tuple[KeyState | None, str | None]:
        found = (one for one in EXCLUSIVE if self.has(minion_id, one))
        state = next(found, None)
        return (None, None) if state is None else (state, self.key(minion_id, state))

    def put(self, minion_id: str, state: KeyState, pem: str) -> None:
        if state is not KeyState.DENIED:
            for other in EXCLUSIVE:
                self._keys[other].pop(minion_id, None)
        self._keys[state][minion_id] = pem

    def move(self, minion_id: str, source: KeyState, target: KeyState) -> bool:
        pem = self._keys[source].pop(minion_id, None)
        if pem is None:
            return False
        self.put(minion_id, target, pem)
        return True

    def delete(self, minion_id: str, state: KeyState) -> bool:
        return self._keys[state].pop(minion_id, None) is not None


class ModelFacts:
    def __init__(self) -> None:
        self._data: dict[tuple[str, str], dict[str, Any]] = {}
        self._asked_ns: dict[tuple[str, str], int] = {}

    def read(self, bank: str, minion_id: str) -> dict[str, Any] | None:
        return self._data.get((bank, minion_id))

    def ids(self, bank: str) -> list[str]:
        return sorted(minion_id for kept, minion_id in self._data if kept == bank)

    def update(
        self,
        bank: str,
        minion_id: str,
        change: Callable[[dict[str, Any]], Mapping[str, Any] | None],
    ) -> bool:
        place = bank, minion_id
        value = change(dict(self._data.get(place, {})))
        if value is None or self._data.get(place) == value:
            return False
        self._data[place] = dict(value)
        # By the clock of now, which the questions of the tests are long before.
        self._asked_ns.pop(place, None)
        return True

    def write_newest(
        self, bank: str, minion_id: str, value: Mapping[str, Any], asked_ns: int, now_ns: int
    ) -> bool:
        place = bank, minion_id
        if self._asked_ns.get(place, 0) > asked_ns or self._data.get(place) == value:
            return False
        self._data[place], self._asked_ns[place] = dict(value), asked_ns
        return True

    def delete(self, minion_id: str, bank: str) -> None:
        self._data.pop((bank, minion_id), None)
        self._asked_ns.pop((bank, minion_id), None)

    def forget(self, minion_id: str) -> None:
        for bank in BANKS:
            self.delete(minion_id, bank)


class ModelReports:
    def __init__(self) -> None:
        self._runs: dict[tuple[str, str, int], StateRun] = {}

    def add_runs(self, runs: Sequence[StateRun]) -> None:
        for run in sorted(runs, key=_run_key):
            self._runs.setdefault(_run_key(run), run)

    def clean(self, before_s: float) -> int:
        gone = [key for key, run in self._runs.items() if run.at_s < before_s]
        for key in gone:
            del self._runs[key]
        return len(gone)

    def list_rows(self, query: ReportQuery) -> list[tuple[StateRun, StateRow]]:
        """In no order that counts, and without a limit."""
        return [
            (replace(run, rows=()), row)
            for run in self._runs.values()
            if _run_fits(run, query)
            for row in run.rows
            if _row_fits(row, query)
        ]

    def read_runs(self, query: ReportQuery) -> list[StateRun]:
        return [run for run in self._runs.values() if _run_fits(run, query)]


def _run_key(run: StateRun) -> tuple[str, str, int]:
    return run.jid, run.minion, run.place


def _run_fits(run: StateRun, query: ReportQuery) -> bool:
    return (
        run.at_s >= query.since_s
        and (query.until_s is None or run.at_s < query.until_s)
        and (query.minions is None or run.minion in query.minions)
        and (not query.user or _fits_glob(run.user.removeprefix("sudo_"), query.user))
        and (not query.jid or run.jid == query.jid)
        and query.test in (None, run.test)
    )


def _row_fits(row: StateRow, query: ReportQuery) -> bool:
    only = {
        "": True,
        "changed": bool(row.changes) and row.result is not None,
        "would": row.result is None,
        "either": bool(row.changes) or row.result is None,
        "failed": row.result is False,
    }
    inside = any(one.property.startswith(query.path) for one in row.changes)
    return (
        only[query.only]
        and (not query.path or _fits_glob(row.name, query.path) or inside)
        and all(
            not wanted or _fits_glob(value, wanted)
            for value, wanted in (
                (row.sls, query.sls),
                (row.ident, query.ident),
                (row.function, query.function),
            )
        )
    )


def _fits_glob(value: str, wanted: str) -> bool:
    return fnmatch.fnmatchcase(value, wanted)
