"""``local_cache``: the master's own job store, through the interface of returners.

Only on a master. What keeps the jobs is ``master/jobcache.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.core.job_query import ALL_JOBS, JobQuery
from saltlite.errors import FunctionUnavailable
from saltlite.jobs.entries import job_entry
from saltlite.jobs.returner_context import ReturnerContext
from saltlite.runner_context import Jobs, RunnerContext


def returner(ctx: ReturnerContext, ret: Mapping[str, object]) -> None:
    """Keep one return, with a job of its own if there is none."""
    jid, minion = str(ret["jid"]), str(ret["id"])
    load = {"fun": ret.get("fun"), "arg": ret.get("fun_args", []), "tgt": minion, "jid": jid}
    kept = ("return", "retcode", "success", "out", "fun", "fun_args")
    _job_store(ctx).record(jid, load, minion, {name: ret[name] for name in kept if name in ret})


def get_load(ctx: ReturnerContext, jid: str) -> dict[str, Any]:
    """A job with its ``Minions``; an empty map for none."""
    job = _job_store(ctx).job(jid)
    return {} if job is None else {**job.load, "Minions": list(job.minions)}


def get_jid(ctx: ReturnerContext, jid: str) -> dict[str, Any]:
    """Minion id → what it returned."""
    return {minion: dict(ret) for minion, ret in _job_store(ctx).returns(jid).items()}


def get_jids(ctx: ReturnerContext) -> dict[str, Any]:
    """Jid → what ``jobs.list_jobs`` shows of a job."""
    return {job.jid: job_entry(job) for job in _job_store(ctx).search(ALL_JOBS)}


def get_jids_filter(
    ctx: ReturnerContext, count: int, filter_find_job: bool = True
) -> Sequence[Mapping[str, Any]]:
    """The newest jobs, oldest of them first."""
    found: list[dict[str, Any]] = []
    for job in _job_store(ctx).search(JobQuery(newest_first=True)):
        if len(found) >= count:
            break
        if not (filter_find_job and job.load.get("fun") == "saltutil.find_job"):
            found.append({"JID": job.jid, **job_entry(job)})
    return found[::-1]


def prep_jid(
    ctx: ReturnerContext, nocache: bool = False, passed_jid: str | None = None
) -> str | None:
    """The jid that was passed; ``None`` leaves it to the master."""
    del ctx, nocache
    return passed_jid


def _job_store(ctx: ReturnerContext) -> Jobs:
    if not isinstance(ctx, RunnerContext):
        raise FunctionUnavailable("local_cache.returner", "local_cache is a master's job store")
    return ctx.jobs
