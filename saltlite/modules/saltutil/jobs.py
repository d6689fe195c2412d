"""The jobs of this minion."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from saltlite.context import MinionContext


def running(ctx: MinionContext) -> list[Mapping[str, Any]]:
    """The jobs that run on this minion now, but for this one.

    CLI Example:

        salt '*' saltutil.running
    """
    own = ctx.job.get("jid")
    return [job for job in ctx.jobs.running() if job.get("jid") != own]


def is_running(ctx: MinionContext, fun: str) -> list[Mapping[str, Any]]:
    """The jobs that run a function; globs are allowed.

    CLI Example:

        salt '*' saltutil.is_running state.highstate
    """
    return [
        job for job in running(ctx) if any(fnmatchcase(name, fun) for name in _functions_of(job))
    ]


def _functions_of(job: Mapping[str, object]) -> list[str]:
    fun = job.get("fun", "")
    return [str(name) for name in fun] if isinstance(fun, (list, tuple)) else [str(fun)]


def find_job(ctx: MinionContext, jid: str) -> Mapping[str, Any]:
    """A job that runs on this minion now; empty if it does not.

    CLI Example:

        salt '*' saltutil.find_job <job id>
    """
    return next((job for job in ctx.jobs.running() if job.get("jid") == str(jid)), {})


def find_cached_job(ctx: MinionContext, jid: str) -> Any:
    """The return of a job that was kept on the minion (``cache_jobs``).

    CLI Example:

        salt '*' saltutil.find_cached_job <job id>
    """
    if not ctx.host.is_dir(os.path.join(ctx.config.paths.cachedir, "minion_jobs")):
        return (
            "Local jobs cache directory not found; you may need to enable cache_jobs on this minion"
        )
    return f"Local jobs cache directory {jid} not found"


def received(ctx: MinionContext, jid: str) -> bool:
    """Whether this minion has ever received a job; for ``jobs.why``. Not in Salt.

    CLI Example:

        salt '*' saltutil.received <job id>
    """
    path = os.path.join(ctx.config.paths.cachedir, "minion_jids")
    return str(jid) in (ctx.host.read_text(path) or "").splitlines()


def signal_job(ctx: MinionContext, jid: str, sig: int) -> str:
    """Send a signal to a job; empty if there is no such job.

    CLI Example:

        salt '*' saltutil.signal_job <job id> 15
    """
    return ctx.jobs.signal(str(jid), int(sig))


def term_job(ctx: MinionContext, jid: str) -> str:
    """Ask a job to end (SIGTERM).

    CLI Example:

        salt '*' saltutil.term_job <job id>
    """
    return signal_job(ctx, jid, signal.SIGTERM)


def kill_job(ctx: MinionContext, jid: str) -> str:
    """End a job at once (SIGKILL).

    CLI Example:

        salt '*' saltutil.kill_job <job id>
    """
    return signal_job(ctx, jid, signal.SIGKILL)


def term_all_jobs(ctx: MinionContext) -> list[str]:
    """Ask all jobs but this one to end (SIGTERM).

    CLI Example:

        salt '*' saltutil.term_all_jobs
    """
    return [signal_job(ctx, str(job["jid"]), signal.SIGTERM) for job in running(ctx)]


def kill_all_jobs(ctx: MinionContext) -> list[str]:
    """End all jobs but this one at once (SIGKILL).

    CLI Example:

        salt '*' saltutil.kill_all_jobs
    """
    return [signal_job(ctx, str(job["jid"]), signal.SIGKILL) for job in running(ctx)]
