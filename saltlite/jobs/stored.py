"""A returner as a store of jobs, so that runners read any of them in one way."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.job_query import JobQuery
from saltlite.errors import FunctionUnavailable
from saltlite.jobs.load import load_of
from saltlite.jobs.returner_context import ReturnerContext
from saltlite.loader.returners import Returner, resolve

OWN: Final = frozenset({"", "local_cache"})
"""Names that mean the master's own job store."""

_SHOWN: Final = {
    "Function": "fun",
    "Arguments": "arg",
    "Target": "tgt",
    "Target-type": "tgt_type",
    "User": "user",
    "Metadata": "metadata",
}
"""How ``get_jids`` names what a load has."""


@dataclass(frozen=True, slots=True)
class ReturnerJob:
    """One job as a returner tells it."""

    jid: str
    load: Mapping[str, Any]
    minions: Sequence[str] = field(default_factory=list)


def source(name: str, ctx: ReturnerContext) -> ReturnerJobs:
    """The jobs that a returner keeps.

    Raises:
        FunctionUnavailable: there is no such returner, or it keeps none that can be read.
    """
    returner = resolve(name, ctx)
    if not returner.can("get_jid"):
        raise FunctionUnavailable(f"{name}.get_jid", f"the returner {name} cannot be read from")
    return ReturnerJobs(returner)


class ReturnerJobs:
    """Fulfils ``runner_context.Jobs``."""

    def __init__(self, returner: Returner) -> None:
        self._returner = returner

    def job(self, jid: str) -> ReturnerJob | None:
        """One job, ``None`` if it is not known."""
        load = self._returner.call("get_load", jid)
        return _build_job(jid, load) if isinstance(load, Mapping) and load else None

    def returns(self, jid: str) -> Mapping[str, Mapping[str, Any]]:
        """Minion id → ``return`` and what else is known of it."""
        found = self._returner.call("get_jid", jid)
        if not isinstance(found, Mapping):
            return {}
        return {str(minion): _full_return(value) for minion, value in found.items()}

    def search(self, query: JobQuery) -> Iterator[ReturnerJob]:
        """The jobs that fit, oldest first unless asked otherwise."""
        known = self._load_jobs()
        jids = sorted(known, reverse=query.newest_first)
        left = query.limit or len(jids)
        for jid in jids:
            if not left:
                return
            if jid < query.since or (query.until and jid > f"{query.until}~"):
                continue
            job = known[jid]
            if _fits_load(job.load, query):
                left -= 1
                yield job

    def _load_jobs(self) -> dict[str, ReturnerJob]:
        """All jobs by jid; one that a server keeps names its minions here, too."""
        server = self._returner.server
        if server is not None:
            return {jid: _build_job(jid, load) for jid, load in server.get_loads().items()}
        shown = self._returner.call("get_jids")
        if not isinstance(shown, Mapping):
            return {}
        return {str(jid): ReturnerJob(str(jid), _build_load(one)) for jid, one in shown.items()}

    def returns_of(
        self, minion: str, *, since: str = ""
    ) -> Iterator[tuple[ReturnerJob, Mapping[str, Any]]]:
        """The jobs that a minion returned, newest first, each with what it returned."""
        for job in self.search(JobQuery(since=since, newest_first=True)):
            ret = self.returns(job.jid).get(minion)
            if ret is not None:
                yield job, ret

    def record(
        self, jid: str, load: Mapping[str, object], minion: str, ret: Mapping[str, object]
    ) -> None:
        """Keep a job that is done already, with its one return."""
        if self._returner.can("save_load"):
            self._returner.call("save_load", jid, dict(load))
        self._returner.call("returner", {"jid": jid, "id": minion, "fun": load.get("fun"), **ret})


def _build_job(jid: str, load: Mapping[str, object]) -> ReturnerJob:
    minions = load.get("Minions")
    listed = [str(one) for one in minions] if isinstance(minions, (list, tuple)) else []
    return ReturnerJob(jid, load, listed)


def _build_load(shown: object) -> Mapping[str, Any]:
    if not isinstance(shown, Mapping):
        return {}
    return {_SHOWN[name]: value for name, value in shown.items() if name in _SHOWN}


def _full_return(value: object) -> Mapping[str, Any]:
    """A return as a map; some returners keep the value alone."""
    if isinstance(value, Mapping) and "return" in value:
        return value
    return {"return": value}


def _fits_load(load: Mapping[str, Any], query: JobQuery) -> bool:
    metadata = load_of(load).metadata
    has = metadata if isinstance(metadata, Mapping) else {}
    wanted = {"fun": query.fun, "tgt": query.tgt, "user": query.user}
    return all(
        not pattern or fnmatch.fnmatchcase(str(load.get(name, "")), pattern)
        for name, pattern in wanted.items()
    ) and all(str(has.get(name)) == value for name, value in query.metadata.items())
