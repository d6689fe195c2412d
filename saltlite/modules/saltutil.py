"""Look after the minion itself: its jobs, its grains and pillar, its keys and caches."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import time
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from saltlite.context import MinionContext, NoEvents
from saltlite.errors import FunctionError
from saltlite.loader import sync
from saltlite.modules import event

log = logging.getLogger(__name__)

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
"""The kinds that ``sync_all`` fetches, in its order."""

_DIRECTORIES = {"proxymodules": "proxy"}
"""Kinds whose directory has another name."""


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


_PILLAR_COMPLETE = "/salt/minion/minion_pillar_refresh_complete"
_BUS_ANSWERS_S = 5.0


def refresh_pillar(
    ctx: MinionContext, wait: bool = False, timeout: int = 30, clean_cache: bool = True
) -> bool:
    """Ask the master for the pillar anew; ``False`` without a minion that could.

    ``wait`` until it is there, for at most ``timeout`` seconds; ``False`` if it does not come.

    CLI Example:

        salt '*' saltutil.refresh_pillar
        salt '*' saltutil.refresh_pillar wait=True timeout=60
    """
    asked = {"clean_cache": clean_cache}
    if not wait or ctx.listen is None or isinstance(ctx.events, NoEvents):
        return event.fire(ctx, asked, "pillar_refresh")
    listener = ctx.listen(_PILLAR_COMPLETE)
    try:
        listener.connect_confirmed(_BUS_ANSWERS_S)
        if not event.fire(ctx, asked, "pillar_refresh"):
            return False
        found = listener.get(float(timeout))
    finally:
        listener.close()
    if found is None:
        log.warning("the pillar is not refreshed after %s s", timeout)
    return found is not None and found.data.get("complete") is not False


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
    """Fetch custom code of every kind; the names of what is new or has changed.

    ``saltenv`` names the environments (default: the minion's own). The lists are maps here, from
    kinds to names of files: only these, or all but these.

    CLI Example:

        salt '*' saltutil.sync_all
        salt '*' saltutil.sync_all saltenv=base,dev
        salt '*' saltutil.sync_all extmod_whitelist='{modules: [custom]}'
    """
    log.debug("Syncing all")
    found = {
        kind: _fetch(ctx, kind, saltenv, extmod_whitelist, extmod_blacklist)
        for kind in _EXTENSIONS
        if kind != "pillar" or _is_masterless(ctx)
    }
    if refresh:
        refresh_modules(ctx)
        refresh_pillar(ctx, clean_cache=clean_pillar_cache)
    return found


def sync_modules(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom execution modules from ``salt://_modules``; see ``saltutil.sync_all``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt '*' saltutil.sync_modules
        salt '*' saltutil.sync_modules saltenv=dev
    """
    return _sync(ctx, "modules", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_states(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom state modules from ``salt://_states``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "states", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_beacons(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom beacons from ``salt://_beacons``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "beacons", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_clouds(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom cloud modules from ``salt://_clouds``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "clouds", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_executors(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom executors from ``salt://_executors``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "executors", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_log_handlers(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom log handlers from ``salt://_log_handlers``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "log_handlers", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_output(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom outputters from ``salt://_output``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "output", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_renderers(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom renderers from ``salt://_renderers``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "renderers", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_returners(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom returners from ``salt://_returners``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "returners", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_serializers(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom serializers from ``salt://_serializers``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "serializers", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_tops(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom top systems from ``salt://_tops``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "tops", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_utils(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom utilities from ``salt://_utils``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "utils", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_wrapper(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom wrappers of salt-ssh from ``salt://_wrapper``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "wrapper", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_engines(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = False,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom engines from ``salt://_engines``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "engines", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_thorium(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = False,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom thorium modules from ``salt://_thorium``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "thorium", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_proxymodules(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = False,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom proxy modules from ``salt://_proxy``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "proxymodules", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_matchers(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = False,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom matchers from ``salt://_matchers``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "matchers", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_outputters(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """The same as ``saltutil.sync_output``."""
    return sync_output(ctx, saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_sdb(
    ctx: MinionContext,
    saltenv: Any = None,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> list[str]:
    """Fetch custom sdb modules from ``salt://_sdb``; see ``saltutil.sync_modules``."""
    return _sync(ctx, "sdb", saltenv, False, extmod_whitelist, extmod_blacklist)


def sync_grains(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
    clean_pillar_cache: bool = False,
) -> list[str]:
    """Fetch custom grains from ``salt://_grains``, and collect grains and pillar anew.

    See ``saltutil.sync_modules``.

    CLI Example:

        salt '*' saltutil.sync_grains
    """
    found = _fetch(ctx, "grains", saltenv, extmod_whitelist, extmod_blacklist)
    if refresh:
        if ctx.refresh_grains is not None:
            ctx.grains = ctx.refresh_grains()
        refresh_modules(ctx)
        refresh_pillar(ctx, clean_cache=clean_pillar_cache)
    return found


def sync_pillar(
    ctx: MinionContext,
    saltenv: Any = None,
    refresh: bool = True,
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
    clean_pillar_cache: bool = False,
) -> list[str]:
    """Fetch custom sources of pillar from ``salt://_pillar``, where there is no master.

    See ``saltutil.sync_modules``.
    """
    if not _is_masterless(ctx):
        raise FunctionError("Pillar modules can only be synced to masterless minions")
    found = _fetch(ctx, "pillar", saltenv, extmod_whitelist, extmod_blacklist)
    if refresh:
        refresh_modules(ctx)
        refresh_pillar(ctx, clean_cache=clean_pillar_cache)
    return found


def list_extmods(ctx: MinionContext) -> dict[str, list[str]]:
    """The custom code that was fetched: names of files by kind.

    CLI Example:

        salt '*' saltutil.list_extmods
    """
    return sync.list_synced(ctx.config)


def mmodule(ctx: MinionContext, saltenv: str, fun: str, *args: Any, **kwargs: Any) -> Any:
    """Call a function of this minion; the environment's modules are those that were fetched.

    CLI Example:

        salt '*' saltutil.mmodule base test.ping
    """
    return ctx.functions.call(
        fun, *args, **{key: kwargs[key] for key in kwargs if not key.startswith("__")}
    )


def _sync(
    ctx: MinionContext, kind: str, saltenv: Any, refresh: bool, only: Any, never: Any
) -> list[str]:
    found = _fetch(ctx, kind, saltenv, only, never)
    if refresh:
        refresh_modules(ctx)
    return found


def _fetch(ctx: MinionContext, kind: str, saltenv: Any, only: Any, never: Any) -> list[str]:
    extra = ctx.config.extra
    choice = sync.Choice(
        sync.listed(only if only is not None else extra.get("extmod_whitelist"), kind),
        sync.listed(never if never is not None else extra.get("extmod_blacklist"), kind) or (),
    )
    return sync.sync(ctx, _DIRECTORIES.get(kind, kind), saltenv, choice)


def _is_masterless(ctx: MinionContext) -> bool:
    return ctx.master is None or ctx.config.files.file_client == "local"


# --- on the master's own machine -----------------------------------------------------------------


def runner(
    ctx: MinionContext,
    name: str,
    arg: Any = None,
    kwarg: Mapping[str, Any] | None = None,
    full_return: bool = False,
    saltenv: str = "base",
    jid: str | None = None,
    **kwargs: Any,
) -> Any:
    """Run a runner: here, on the machine of a master; else by the master, if ``peer_run`` lets us.

    CLI Example:

        salt master_minion saltutil.runner jobs.list_jobs
        salt master_minion saltutil.runner test.arg arg="['baz']" kwarg="{'foo': 'bar'}"
    """
    del saltenv, jid
    args = [] if arg is None else list(arg) if isinstance(arg, (list, tuple)) else [arg]
    keywords = {**(kwarg or {}), **_own(kwargs)}
    if _has_master(ctx):
        found = _run_here(ctx, "runner", name, args, keywords)
        told = {"jid": found.get("jid"), "user": found.get("user"), "fun": f"runner.{name}"}
        return {**told, **found} if full_return else found["return"]
    if ctx.master is None:
        raise FunctionError("saltutil.runner needs the machine of a master, or a master")
    words = [*args, {**keywords, "__kwarg__": True}] if keywords else args
    return ctx.master.request({"cmd": "minion_runner", "fun": name, "arg": words, "no_parse": []})


def wheel(ctx: MinionContext, name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Run a wheel function, on the machine of a master.

    CLI Example:

        salt master_minion saltutil.wheel key.accept jerry
    """
    if not _has_master(ctx):
        raise FunctionError("saltutil.wheel needs the machine of a master")
    keywords = {**_own(kwargs), **(kwargs.get("kwarg") or {})}
    keywords = {key: value for key, value in keywords.items() if key not in ("arg", "kwarg")}
    listed = [*args, *(kwargs.get("arg") or [])]
    found = _run_here(ctx, "wheel", name, listed, keywords)
    return {"fun": f"wheel.{name}", **found}


def cmd(
    ctx: MinionContext,
    tgt: Any,
    fun: str,
    arg: Any = (),
    timeout: float | None = None,
    tgt_type: str = "glob",
    ret: str = "",
    kwarg: Mapping[str, Any] | None = None,
    ssh: bool = False,
    **kwargs: Any,
) -> Any:
    """Publish a job and wait for it, on the machine of a master; full returns by minion.

    CLI Example:

        salt master_minion saltutil.cmd '*' test.ping
    """
    if ssh or not _has_master(ctx):
        raise FunctionError("saltutil.cmd needs the machine of a master, and no ssh")
    request = {
        "tgt": tgt, "fun": fun, "arg": [arg] if isinstance(arg, str) else list(arg),
        "timeout": timeout, "tgt_type": tgt_type, "ret": ret, "full_return": True,
        "kwarg": {**(kwarg or {}), **_own(kwargs)},
    }  # fmt: skip
    return _run_here(ctx, "local", fun, [], request)["return"]


def cmd_iter(
    ctx: MinionContext,
    tgt: Any,
    fun: str,
    arg: Any = (),
    timeout: float | None = None,
    tgt_type: str = "glob",
    ret: str = "",
    kwarg: Mapping[str, Any] | None = None,
    ssh: bool = False,
    **kwargs: Any,
) -> list[dict[str, Any]]:
    """As ``saltutil.cmd``, a list with one map per minion.

    CLI Example:

        salt master_minion saltutil.cmd_iter '*' test.ping
    """
    found = cmd(ctx, tgt, fun, arg, timeout, tgt_type, ret, kwarg, ssh, **kwargs)
    return [{minion: value} for minion, value in found.items()]


def received(ctx: MinionContext, jid: str) -> bool:
    """Whether this minion has ever received a job; for ``jobs.why``. Not in Salt.

    CLI Example:

        salt '*' saltutil.received <job id>
    """
    path = os.path.join(ctx.config.paths.cachedir, "minion_jids")
    return str(jid) in (ctx.host.read_text(path) or "").splitlines()


def _own(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if not name.startswith("__")}


def _master_dir(ctx: MinionContext) -> str:
    return os.path.dirname(ctx.config.paths.conf_file)


def _has_master(ctx: MinionContext) -> bool:
    """Whether a master is configured beside this minion."""
    return ctx.host.exists(os.path.join(_master_dir(ctx), "master"))


def _run_here(
    ctx: MinionContext, kind: str, fun: str, arg: list[Any], kwarg: Mapping[str, Any]
) -> dict[str, Any]:
    """Run it with the master's configuration, in a process of its own."""
    import json
    import sys

    asked = {"config_dir": _master_dir(ctx), "kind": kind, "fun": fun, "arg": arg, "kwarg": kwarg}
    command = [sys.executable, "-m", "saltlite.cli.run_for_minion"]
    done = ctx.host.run(command, stdin=json.dumps(asked, default=str))
    if done.exit_code:
        raise FunctionError(f"{kind} {fun}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    if "error" in found:
        raise FunctionError(str(found["error"]))
    return found


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
