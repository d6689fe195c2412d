"""``jobs.*``: what was published, and what came back. Source: docs/cli.md#salt-run."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from saltlite.core.ids import valid_jid
from saltlite.core.job_query import JobQuery
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError, SaltliteError
from saltlite.jobs.entries import format_start, job_entry, metadata_of, show_load
from saltlite.jobs.history import changes_of, moment_before
from saltlite.jobs.load import load_of, read_load, read_return
from saltlite.runner_context import Jobs, PublishedJob, RunnerContext

UNKNOWN = "Cannot contact returner or no job with this jid"


def lookup_jid(
    ctx: RunnerContext,
    jid: str,
    ext_source: str | None = None,
    returned: bool = True,
    missing: bool = False,
    display_progress: bool = False,
) -> dict[str, Any]:
    """Return the printout of a job that was run before.

    jid
        The job to look up.

    ext_source
        The returner to ask; without it ``ext_job_cache`` or the master's own job store.

    returned : True
        Include the minions that returned.

    missing : False
        Include the minions that did not return.

    CLI Example:

        salt-run jobs.lookup_jid 20260102030405000006
    """
    del display_progress
    jid = str(jid)
    if not valid_jid(jid):
        raise SaltliteError(f"jobs.lookup_jid: {jid[:40]!r} is no job id: it must be 20 digits")
    store = _choose_store(ctx, ext_source)
    found = {minion: read_return(ret) for minion, ret in store.returns(jid).items()}
    data: dict[str, Any] = {}
    if returned:
        data.update({minion: ret.value for minion, ret in found.items()})
    job = store.job(jid) if missing else None
    if job is not None:
        data.update({one: "Minion did not return" for one in job.minions if one not in found})
    outputters = [ret.out for ret in found.values() if isinstance(ret.out, str)]
    return {"outputter": outputters[0] if outputters else "nested", "data": data}


def list_job(
    ctx: RunnerContext, jid: str, ext_source: str | None = None, display_progress: bool = False
) -> dict[str, Any]:
    """List a specific job with its minions and their returns.

    CLI Example:

        salt-run jobs.list_job 20260102030405000006
    """
    del display_progress
    jid = str(jid)
    store = _choose_store(ctx, ext_source)
    job = store.job(jid)
    entry: dict[str, Any] = {"jid": jid}
    if job is None:
        return {**entry, "Error": UNKNOWN, "StartTime": format_start(jid), "Result": {}}
    entry.update(job_entry(job))
    if job.minions:
        entry["Minions"] = list(job.minions)
    return {**entry, "Result": _read_result(store, jid)}


def print_job(ctx: RunnerContext, jid: str, ext_source: str | None = None) -> dict[str, Any]:
    """Print a specific job under its jid, with its minions and their returns.

    CLI Example:

        salt-run jobs.print_job 20260102030405000006
    """
    entry = list_job(ctx, jid, ext_source)
    return {str(entry.pop("jid")): entry}


def list_jobs(
    ctx: RunnerContext,
    ext_source: str | None = None,
    outputter: str | None = None,
    search_metadata: Mapping[str, object] | None = None,
    search_function: str | Sequence[str] | None = None,
    search_target: str | Sequence[str] | None = None,
    start_time: str | None = None,
    end_time: str | None = None,
    display_progress: bool = False,
    search_user: str | Sequence[str] | None = None,
) -> Any:
    """List all jobs that are known, with their functions.

    search_metadata
        A dictionary; any of its pairs must be in the job's metadata.

    search_function
        A name, several names with commas between, or a list; globs are allowed.

    search_target
        Minion names likewise.

    search_user
        Names of users likewise; who used sudo is ``sudo_<name>``.

    start_time, end_time
        Only jobs started in between: ``2026, Jan 02 03:04:05``, ``2026-01-02``, ``20260102``,
        ``yesterday``, ``3 hours ago``.

    CLI Example:

        salt-run jobs.list_jobs
        salt-run jobs.list_jobs search_function='test.*,pkg.install' start_time=2026-01-02
    """
    del display_progress
    store = _choose_store(ctx, ext_source)
    jobs = store.search(JobQuery(since=_parse_since(start_time), until=_parse_since(end_time)))
    found = {
        job.jid: job_entry(job)
        for job in jobs
        if _has_any(metadata_of(job), search_metadata)
        and _matches_any(_list_functions(read_load(job).fun), search_function)
        and _matches_any(_list_targets(job), search_target)
        and _matches_any([str(job.load.get("user", ""))], search_user)
    }
    return {"outputter": outputter, "data": found} if outputter else found


def list_jobs_filter(
    ctx: RunnerContext,
    count: int,
    filter_find_job: bool = True,
    ext_source: str | None = None,
    outputter: str | None = None,
    display_progress: bool = False,
) -> Any:
    """List the newest ``count`` jobs, oldest of them first.

    filter_find_job : True
        Leave out what clients publish to find out who still works.

    CLI Example:

        salt-run jobs.list_jobs_filter 50
    """
    del display_progress
    found: list[dict[str, Any]] = []
    for job in _choose_store(ctx, ext_source).search(JobQuery(newest_first=True)):
        if len(found) >= int(count):
            break
        if not (filter_find_job and read_load(job).fun == "saltutil.find_job"):
            found.append({"JID": job.jid, **job_entry(job)})
    found.reverse()
    return {"outputter": outputter, "data": found} if outputter else found


def last_run(
    ctx: RunnerContext,
    ext_source: str | None = None,
    outputter: str | None = None,
    metadata: Mapping[str, object] | None = None,
    function: str | None = None,
    target: str | None = None,
    display_progress: bool = False,
) -> Any:
    """Return the newest job that fits, with its returns; ``False`` if there is none.

    CLI Example:

        salt-run jobs.last_run function='cmd.run' target=web1
    """
    del display_progress
    for job in _choose_store(ctx, ext_source).search(JobQuery(newest_first=True)):
        fits = (
            _has_any(metadata_of(job), metadata)
            and _matches_any(_list_functions(read_load(job).fun), function)
            and _matches_any(_list_targets(job), target)
        )
        if fits:
            printed = print_job(ctx, job.jid, ext_source)
            return {"outputter": outputter, "data": printed} if outputter else printed
    return False


def active(ctx: RunnerContext, display_progress: bool = False) -> dict[str, Any]:
    """Return a report on all jobs that run now, by jid.

    CLI Example:

        salt-run jobs.active
    """
    del display_progress
    found: dict[str, Any] = {}
    answers = ctx.local.cmd("*", "saltutil.running", timeout=ctx.config.jobs.timeout)
    for minion, running in answers.items():
        if not isinstance(running, (list, tuple)):
            continue
        for job in running:
            if isinstance(job, Mapping) and isinstance(job.get("jid"), str):
                entry = found.setdefault(job["jid"], _describe_running(job))
                entry["Running"].append({minion: job.get("pid")})
    for jid, entry in found.items():
        entry["Returned"] = sorted(ctx.jobs.returns(jid))
    return found


def exit_success(ctx: RunnerContext, jid: str, ext_source: str | None = None) -> dict[str, bool]:
    """Check of each minion whether it returned and was successful.

    CLI Example:

        salt-run jobs.exit_success 20260102030405000006
    """
    store = _choose_store(ctx, ext_source)
    job = store.job(str(jid))
    found = store.returns(str(jid))
    minions = {*(job.minions if job is not None else ()), *found}
    return {minion: _has_succeeded(found.get(minion)) for minion in sorted(minions)}


def why(ctx: RunnerContext, jid: str) -> dict[str, Any]:
    """Say of each minion that did not return a job why not, as far as can be told now.

    Its key is not accepted; it is not connected, and when it was heard of last; it received the job
    and still runs it; it died while running it; it never received it.

    CLI Example:

        salt-run jobs.why 20260102030405000006
    """
    from saltlite.jobs.why import reasons  # which this function alone needs

    jid = str(jid)
    job = ctx.jobs.job(jid)
    if job is None:
        return {"Error": UNKNOWN}
    returned = ctx.jobs.returns(jid)
    targets = [*job.minions, *_list_named_targets(job)]
    missing = [one for one in dict.fromkeys(targets) if one not in returned]
    return reasons(ctx, jid, missing)


def follow(ctx: RunnerContext, jid: str, timeout: float | None = None) -> dict[str, Any]:
    """Wait for a job until it is over, and return what came of it, by minion.

    Also of a job that is over already. ``salt-run`` prints each return as it comes, as ``salt``
    does, with a line on a terminal that shows how far the job is.

    timeout
        After so many seconds minions that are silent are asked whether they still work; without it
        the option ``timeout``.

    CLI Example:

        salt-run jobs.follow 20260102030405000006
    """
    jid = str(jid)
    job = ctx.jobs.job(jid)
    if job is None:
        raise FunctionError(f"{UNKNOWN}: {jid}")
    found = {}
    for one in ctx.local.follow(jid, job.minions, ctx.jobs, timeout):
        found.update({minion: full["ret"] for minion, full in one.items()})
    return found


def trace(ctx: RunnerContext, jid: str, minion: str = "") -> dict[str, Any]:
    """Show where the time of a job went, step by step, on the master and on one minion.

    Each step has the second at which it began, how long it took, and where that was; the longest is
    marked. Of state runs each state is a step. The master keeps its own steps of the last 2,048
    jobs, and of as many returns for each worker; what a minion says of itself is kept with its
    return, for as long as the job. Real Salt minions say nothing of themselves, but for their
    states. If the clocks of master and minion contradict each other, that is said and allowed for.

    minion
        The minion to look at; without it the one that returned last.

    CLI Example:

        salt-run jobs.trace 20260102030405000006
        salt-run jobs.trace 20260102030405000006 minion=web1 --out=json
    """
    from saltlite.jobs.trace import trace_job  # which this function alone needs

    jid = str(jid)
    store = _choose_store(ctx, None)
    job = store.job(jid)
    if job is None:
        raise FunctionError(f"{UNKNOWN}: {jid}")
    data = trace_job(Path(ctx.config.paths.cachedir), job, store.returns(jid), str(minion))
    return {"outputter": "timeline", "data": data}


def changes(
    ctx: RunnerContext, minion: str, since: str = "yesterday", until: str | None = None
) -> dict[str, Any]:
    """Tell what jobs changed on a minion, by jid, from what they returned.

    Of state runs the steps that changed something; of other functions the old and the new where
    they say so, else ``not told``. What only looks, and dry runs, are left out.

    since, until
        As ``start_time`` of ``jobs.list_jobs``.

    CLI Example:

        salt-run jobs.changes web1 since=yesterday
        salt-run jobs.changes web1 since='3 days ago'
    """
    last = f"{_parse_since(until)}~" if until else "~"
    kept = ("Function", "Arguments", "User", "StartTime")
    found = {}
    for job, ret in ctx.jobs.returns_of(str(minion), since=_parse_since(since)):
        told = changes_of(job, ret) if job.jid <= last else None
        if told is not None:
            entry = job_entry(job)
            found[job.jid] = {name: entry[name] for name in kept} | told
    return dict(sorted(found.items()))


def master(ctx: RunnerContext) -> list[Any]:
    """Return the jobs that run on the master itself: none, its work is not kept in a list.

    CLI Example:

        salt-run jobs.master
    """
    del ctx
    return []


# --- pieces --------------------------------------------------------------------------------------


def _choose_store(ctx: RunnerContext, ext_source: str | None) -> Jobs:
    """Where the jobs are: the returner that is named or configured, else the master's own store."""
    from saltlite.jobs.stored import OWN, source

    options = ctx.config.jobs
    name = ext_source or options.ext_job_cache or options.master_job_cache
    return ctx.jobs if name in OWN else source(name, ctx)


def _describe_running(job: Mapping[str, object]) -> dict[str, Any]:
    return {
        **show_load(load_of(job)),
        "StartTime": format_start(str(job["jid"])),
        "Running": [],
        "Returned": [],
    }


def _read_result(store: Jobs, jid: str) -> dict[str, Any]:
    shown = ("return", "retcode", "success", "out")
    return {
        minion: {name: ret[name] for name in shown if name in ret}
        for minion, ret in store.returns(jid).items()
    }


def _has_any(metadata: Mapping[str, object], wanted: Mapping[str, object] | None) -> bool:
    if not wanted:
        return True
    return any(name in metadata and metadata[name] == value for name, value in wanted.items())


def _matches_any(names: Iterable[str], patterns: str | Sequence[str] | None) -> bool:
    if not patterns:
        return True
    listed = patterns.split(",") if isinstance(patterns, str) else patterns
    names = list(names)
    return any(fnmatch.fnmatchcase(name, str(one).strip()) for one in listed for name in names)


def _list_functions(fun: Any) -> list[str]:
    return [fun] if isinstance(fun, str) else [str(one) for one in fun or ()]


def _list_targets(job: PublishedJob) -> list[str]:
    return [*_list_functions(job.load.get("tgt")), *job.minions]


FORMATS = (
    "%Y, %b %d %H:%M:%S.%f",
    "%Y, %b %d %H:%M:%S",
    "%Y, %b %d %H:%M",
    "%Y, %b %d",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d",
)


def _parse_since(text: str | None) -> str:
    """The beginning of a jid that stands for a moment; a jid or a part of one stands for itself."""
    if not text:
        return ""
    words = str(text).strip()
    if words.isascii() and is_digits(words):
        return words
    moment = moment_before(words, datetime.now(timezone.utc)) or _parse_moment(words)
    if moment is None:
        raise ValueError(f"not a time: {text!r}; for example 2026-01-02 03:04:05 or '2 days ago'")
    return f"{moment:%Y%m%d%H%M%S%f}"


def _parse_moment(text: str) -> datetime | None:
    moments = (_parse_moment_as(text, form) for form in FORMATS)
    return next((one for one in moments if one is not None), None)


def _parse_moment_as(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form).replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _list_named_targets(job: PublishedJob) -> list[str]:
    """Ids of a list target, which also names minions that the master does not know."""
    if job.load.get("tgt_type") != "list":
        return []
    tgt = job.load.get("tgt")
    return [one.strip() for one in tgt.split(",")] if isinstance(tgt, str) else _list_functions(tgt)


def _has_succeeded(ret: Mapping[str, object] | None) -> bool:
    return ret is not None and read_return(ret).is_good
