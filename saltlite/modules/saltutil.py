"""Look after the minion itself: its jobs, its grains and pillar, its keys and caches."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from saltlite.context import MinionContext
from saltlite.modules import event

_CACHES = ("files", "extrn_files", "localfiles", "file_lists", "accumulator")
"""What ``clear_cache`` removes below ``cachedir``: copies of what can be had again."""

_EXTENSIONS = (
    "clouds",
    "beacons",
    "modules",
    "states",
    "sdb",
    "grains",
    "renderers",
    "returners",
    "output",
    "utils",
    "log_handlers",
    "executors",
    "proxymodules",
    "engines",
    "thorium",
    "serializers",
    "matchers",
    "pillar",
)


# --- jobs ----------------------------------------------------------------------------------------


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
    return [job for job in running(ctx) if any(fnmatchcase(name, fun) for name in _functions(job))]


def _functions(job: Mapping[str, Any]) -> list[str]:
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


# --- what the minion has loaded ------------------------------------------------------------------


def refresh_grains(ctx: MinionContext, **kwargs: Any) -> bool:
    """Collect the grains anew.

    CLI Example:

        salt '*' saltutil.refresh_grains
    """
    if ctx.refresh_grains is not None:
        ctx.grains = ctx.refresh_grains()
    else:
        event.fire(ctx, {"force_refresh": True}, "grains_refresh")
    return True


def refresh_pillar(
    ctx: MinionContext, wait: bool = False, timeout: int = 30, clean_cache: bool = True
) -> bool:
    """Ask the master for the pillar anew; ``False`` without a minion that could.

    CLI Example:

        salt '*' saltutil.refresh_pillar
    """
    return event.fire(ctx, {"clean_cache": clean_cache}, "pillar_refresh")


def pillar_refresh(
    ctx: MinionContext, wait: bool = False, timeout: int = 30, clean_cache: bool = True
) -> bool:
    """The same as ``saltutil.refresh_pillar``."""
    return refresh_pillar(ctx, wait, timeout, clean_cache)


def refresh_modules(ctx: MinionContext, **kwargs: Any) -> bool:
    """Read changed modules again; ``False`` without a minion that could.

    CLI Example:

        salt '*' saltutil.refresh_modules
    """
    ctx.functions.reload()
    return event.fire(ctx, {}, "module_refresh")


def refresh_beacons(ctx: MinionContext) -> bool:
    """Read the beacons' configuration again; ``False`` without a minion that could.

    CLI Example:

        salt '*' saltutil.refresh_beacons
    """
    return event.fire(ctx, {}, "beacons_refresh")


def refresh_matchers(ctx: MinionContext) -> bool:
    """Read custom matchers again; ``False`` without a minion that could.

    CLI Example:

        salt '*' saltutil.refresh_matchers
    """
    return event.fire(ctx, {}, "matchers_refresh")


# --- custom code ---------------------------------------------------------------------------------


def sync_all(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
    clean_pillar_cache: bool = False,
) -> dict[str, list[str]]:
    """Fetch custom code of every kind; the names of what was fetched.

    Custom code is not loaded yet, so nothing is fetched.

    CLI Example:

        salt '*' saltutil.sync_all
    """
    return {kind: [] for kind in _EXTENSIONS}


def sync_modules(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom execution modules; see ``saltutil.sync_all``."""
    return []


def sync_states(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom state modules; see ``saltutil.sync_all``."""
    return []


def sync_grains(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
    clean_pillar_cache: bool = False,
) -> list[str]:
    """Fetch custom grains, and collect grains anew; see ``saltutil.sync_all``."""
    if refresh:
        refresh_grains(ctx)
    return []


def list_extmods() -> dict[str, list[str]]:
    """The custom code that was fetched, by kind.

    CLI Example:

        salt '*' saltutil.list_extmods
    """
    return {}


# --- keys and caches -----------------------------------------------------------------------------


def regen_keys(ctx: MinionContext) -> None:
    """Remove the minion's key, so that the next start makes a new one.

    The master has to accept that one; remove the old one there with ``salt-key -d``.

    CLI Example:

        salt '*' saltutil.regen_keys
    """
    from pathlib import Path

    from saltlite import disk

    for name in ("minion.pem", "minion.pub"):
        disk.remove(Path(ctx.config.paths.pki_dir) / name)


def revoke_auth(ctx: MinionContext, preserve_minion_cache: bool = False) -> Any:
    """Have the master remove this minion's key; ``False`` without a master.

    CLI Example:

        salt '*' saltutil.revoke_auth
    """
    if ctx.master is None:
        return False
    return ctx.master.request(
        {"cmd": "revoke_auth", "preserve_minion_cache": bool(preserve_minion_cache)}
    )


def clear_cache(ctx: MinionContext) -> bool:
    """Remove copies of the master's files.

    CLI Example:

        salt '*' saltutil.clear_cache
    """
    for name in _CACHES:
        shutil.rmtree(os.path.join(ctx.config.paths.cachedir, name), ignore_errors=True)
    return True


def clear_job_cache(ctx: MinionContext, hours: float = 24) -> bool:
    """Remove returns that were kept on the minion for longer than this.

    CLI Example:

        salt '*' saltutil.clear_job_cache hours=12
    """
    root = os.path.join(ctx.config.paths.cachedir, "minion_jobs")
    oldest_s = time.time() - float(hours) * 3600
    for name in ctx.host.names(root):
        path = os.path.join(root, name)
        if os.lstat(path).st_mtime < oldest_s:
            shutil.rmtree(path, ignore_errors=True)
    return True
