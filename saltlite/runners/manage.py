"""``manage.*``: which minions answer, are connected, or are out of date.

Source: docs/cli.md#salt-run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timezone
from typing import Any, Final

from saltlite.core.jid import jid_time
from saltlite.core.job_query import JobQuery
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError
from saltlite.jobs.load import read_load, read_return
from saltlite.runner_context import RunnerContext
from saltlite.version import SALT_COMPATIBLE

_JOBS_LOOKED_AT: Final = 10
"""The newest jobs, whose returns show who was there a moment ago."""

_STATE_RETURNS_READ: Final = 2000
"""Returns of state runs that an overview reads beyond one of each minion."""


def status(
    ctx: RunnerContext,
    output: bool = True,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    timeout: float | None = None,
    gather_job_timeout: float | None = None,
) -> dict[str, list[str]]:
    """Ping minions; print which answer and which do not.

    CLI Example:

        salt-run manage.status
        salt-run manage.status tgt="webservers" tgt_type="nodegroup"
    """
    del output, gather_job_timeout
    present, missing = _ping_minions(ctx, tgt, tgt_type, timeout)
    return {"up": present, "down": missing}


def _ping_minions(
    ctx: RunnerContext, tgt: str | list[str], tgt_type: str, timeout: float | None
) -> tuple[list[str], list[str]]:
    """Those that answer, and those that do not, sorted."""
    expected = ctx.expected(tgt, tgt_type)
    answers = ctx.local.cmd(tgt, "test.ping", tgt_type=tgt_type, timeout=timeout)
    present = sorted(minion for minion in answers if minion in expected)
    return present, sorted(set(expected) - set(present))


def up(
    ctx: RunnerContext,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    timeout: float | None = None,
    gather_job_timeout: float | None = None,
) -> list[str]:
    """Print the minions that answer a ping.

    CLI Example:

        salt-run manage.up
    """
    del gather_job_timeout
    return _ping_minions(ctx, tgt, tgt_type, timeout)[0]


def down(
    ctx: RunnerContext,
    removekeys: bool = False,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    timeout: float | None = None,
    gather_job_timeout: float | None = None,
) -> list[str]:
    """Print the minions that do not answer a ping.

    removekeys : False
        Delete their keys. A minion that is only busy or slow loses its key too.

    CLI Example:

        salt-run manage.down
        salt-run manage.down removekeys=True
    """
    del gather_job_timeout
    _present, missing = _ping_minions(ctx, tgt, tgt_type, timeout)
    for minion in missing if removekeys else ():
        ctx.keys.delete(minion, "minions")
    return missing


def versions(ctx: RunnerContext) -> dict[str, Any]:
    """Compare the minions' versions with the master's.

    CLI Example:

        salt-run manage.versions
    """
    found: dict[str, Any] = {"Master": SALT_COMPATIBLE}
    answers = ctx.local.cmd("*", "test.version")
    ours = _parse_version(SALT_COMPATIBLE)
    for minion in sorted(ctx.accepted()):
        version = answers.get(minion)
        if not isinstance(version, str):
            found.setdefault("Minion offline", {})[minion] = False
            continue
        theirs = _parse_version(version)
        group = "Up to date"
        if theirs != ours:
            group = "Minion requires update" if theirs < ours else "Minion newer than master"
        found.setdefault(group, {})[minion] = version
    return found


def list_state(
    ctx: RunnerContext, subset: list[str] | None = None, show_ip: bool = False
) -> list[str] | dict[str, str]:
    """Print the minions that are connected, by the master's own knowledge; nothing is sent.

    ``present``, ``alived``, ``reaped``, ``joined`` and ``allowed`` are other names of it.

    subset
        Only of these minions.

    show_ip : False
        Also the address each is connected from.

    CLI Example:

        salt-run manage.list_state
    """
    wanted = _split_subset(subset)
    found = {one: ip for one, ip in ctx.connected().items() if wanted is None or one in wanted}
    return dict(sorted(found.items())) if show_ip else sorted(found)


def list_not_state(
    ctx: RunnerContext, subset: list[str] | None = None, show_ip: bool = False
) -> list[str]:
    """Print the accepted minions that are not connected, by the master's own knowledge.

    ``not_present``, ``not_alived``, ``not_reaped``, ``not_joined`` and ``not_allowed`` are others.

    CLI Example:

        salt-run manage.list_not_state
    """
    del show_ip  # of a minion that is not connected there is none
    wanted = _split_subset(subset)
    missing = set(ctx.accepted()) - set(ctx.connected())
    return sorted(one for one in missing if wanted is None or one in wanted)


present = alived = reaped = joined = allowed = list_state
not_present = not_alived = not_reaped = not_joined = not_allowed = list_not_state


def overview(ctx: RunnerContext) -> dict[str, dict[str, Any]]:
    """Print what the master knows of each accepted minion; nothing is sent.

    Of each: whether it is ``connected``; ``last_heard``, when it last sent its grains or was given
    a job that it returned (seconds since the epoch, null for never); ``version`` and ``os`` from
    its grains; and ``states``, the newest state run that was no test, with its ``jid``, ``fun``,
    ``success`` and how many states there were, changed something, and failed.

    CLI Example:

        salt-run manage.overview
    """
    accepted, connected = ctx.accepted(), ctx.connected()
    heard, states = _last_heard(ctx), _last_states(ctx, accepted)
    found = {}
    for minion in accepted:
        grains = ctx.cache.fetch("grains", minion) or {}
        stored_s = ctx.cache.mtime_s("grains", minion)
        moments = [one for one in (stored_s, heard.get(minion)) if one is not None]
        found[minion] = {
            "connected": minion in connected,
            "last_heard": max(moments, default=None),
            "version": grains.get("saltversion"),
            "os": grains.get("osfinger") or grains.get("os"),
            "states": states.get(minion),
        }
    return found


def safe_accept(ctx: RunnerContext, target: str, tgt_type: str = "glob") -> None:
    """Refuse: comparing a key over ssh before it is accepted needs salt-ssh, which is not here.

    Compare ``salt-key -f <id>`` with ``salt-call --local key.finger`` on the minion instead.

    CLI Example:

        salt-run manage.safe_accept my_minion
    """
    del ctx, target, tgt_type
    raise FunctionError(
        "manage.safe_accept needs salt-ssh, which saltlite does not have; compare the fingerprints "
        "of salt-key -f and, on the minion, salt-call --local key.finger"
    )


def _last_heard(ctx: RunnerContext) -> dict[str, float]:
    """When the newest job was published that each minion returned, of the newest few jobs."""
    heard: dict[str, float] = {}
    for job in ctx.jobs.search(JobQuery(newest_first=True, limit=_JOBS_LOOKED_AT)):
        for minion in ctx.jobs.returns(job.jid):
            heard.setdefault(minion, _publication_time_s(job.jid))
    return heard


def _last_states(ctx: RunnerContext, minions: Collection[str]) -> dict[str, dict[str, Any]]:
    """Each minion's newest state run that was no test.

    Returns of states are large: after so many no older ones are read, whoever is still missing.
    """
    found: dict[str, dict[str, Any]] = {}
    left = _STATE_RETURNS_READ + len(minions)
    for job in ctx.jobs.search(JobQuery(fun="state.*", newest_first=True)):
        for minion, ret in ctx.jobs.returns(job.jid).items():
            left -= 1
            stored = read_return(ret)
            run = None if minion in found else _summarise_states(stored.value)
            if run is not None:
                failed = bool(stored.retcode) or stored.success is False
                fun = read_load(job).fun
                found[minion] = {"jid": job.jid, "fun": fun, "success": not failed, **run}
        if left <= 0 or found.keys() >= set(minions):
            break
    return found


def _publication_time_s(jid: str) -> float:
    try:
        return jid_time(jid).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return 0.0


def _summarise_states(value: object) -> dict[str, int] | None:
    """Return ``{"total", "changed", "failed"}`` of a state run, ``None`` for a test or another."""
    chunks = list(value.values()) if isinstance(value, Mapping) else []
    run = [one for one in chunks if isinstance(one, Mapping) and "__run_num__" in one]
    if not run or len(run) != len(chunks) or any(one.get("result") is None for one in run):
        return None
    return {
        "total": len(run),
        "changed": sum(1 for one in run if one.get("changes") and one.get("result")),
        "failed": sum(1 for one in run if one.get("result") is False),
    }


def _split_subset(subset: str | list[str] | None) -> list[str] | None:
    if subset is None:
        return None
    return [one.strip() for one in subset.split(",")] if isinstance(subset, str) else subset


def _parse_version(version: str) -> tuple[int, ...]:
    head = version.partition("+")[0].partition("-")[0]
    return tuple(int(part) for part in head.split(".") if is_digits(part))
