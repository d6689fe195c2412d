"""``changes.*``: what runs of states have changed on the minions, and what does not stay so.

Every run of states leaves a report on the master; these read them, and send nothing. The short
forms ``salt-run changes``, ``failed``, ``slowest`` and ``drift`` are the same functions.

Source: docs/reports.md.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from saltlite.errors import FunctionError
from saltlite.jobs.report_queries import (
    LIMIT,
    ReportWords,
    answer_changes,
    answer_drift,
    answer_failed,
    answer_slowest,
    recent_days,
)
from saltlite.runner_context import RunnerContext


def list_(
    ctx: RunnerContext,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    since: object = None,
    until: object = None,
    path: str | None = None,
    by: str | None = None,
    sls: str | None = None,
    id: str | None = None,
    function: str | None = None,
    jid: str | None = None,
    result: object = None,
    test: object = False,
    limit: int = LIMIT,
) -> dict[str, Any]:
    """List what states have changed, the newest first.

    since, until
        ``yesterday``, ``2h``, ``7d``, ``2026-01-02``, ``2026-01-02T03:04:05`` (UTC).

    path
        The name of the resource: a file, a package, a service. It may be a glob, as may these:

    by
        Who ran the job; ``alice`` is found as ``sudo_alice`` too.

    sls, id, function
        Where it is declared, and the state function: ``file.managed``.

    result
        ``True`` for what went well, ``False`` for what failed, ``would`` for what a run without
        acting would have changed.

    test : False
        ``True`` for test runs and audits, ``all`` for these and real ones.

    limit : 100
        At most so many states.

    CLI Example:

        salt-run changes '*' since=yesterday path=/etc/motd
        salt-run changes.list by=alice since=7d
    """
    now = datetime.now(timezone.utc)
    asked = ReportWords(
        since=since,
        until=until,
        path=path,
        by=by,
        sls=sls,
        ident=id,
        function=function,
        jid=jid,
        test="all" if str(result).lower() == "would" else test,
        limit=limit,
    )
    query = asked.to_query(now, _find_minions(ctx, tgt, tgt_type))
    return answer_changes(ctx.reports(), query, result)


def failed(
    ctx: RunnerContext,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    since: object = None,
    until: object = None,
    path: str | None = None,
    by: str | None = None,
    sls: str | None = None,
    id: str | None = None,
    function: str | None = None,
    jid: str | None = None,
    test: object = "all",
    limit: int = LIMIT,
) -> dict[str, Any]:
    """List states that failed, the newest first, with what they said.

    The arguments are those of ``changes.list``.

    CLI Example:

        salt-run failed since=2h
        salt-run changes.failed 'web*' sls='nginx*'
    """
    now = datetime.now(timezone.utc)
    asked = ReportWords(
        since=since,
        until=until,
        path=path,
        by=by,
        sls=sls,
        ident=id,
        function=function,
        jid=jid,
        test=test,
        limit=limit,
    )
    return answer_failed(ctx.reports(), asked.to_query(now, _find_minions(ctx, tgt, tgt_type)))


def slowest(
    ctx: RunnerContext,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    since: object = None,
    until: object = None,
    path: str | None = None,
    by: str | None = None,
    sls: str | None = None,
    id: str | None = None,
    function: str | None = None,
    jid: str | None = None,
    test: object = "all",
    limit: int = 20,
) -> dict[str, Any]:
    """List the states that took longest, each once for a minion.

    Of each run the five slowest states are kept, and all that changed or failed. The arguments are
    those of ``changes.list``.

    CLI Example:

        salt-run slowest since=7d
        salt-run changes.slowest 'web*' limit=5
    """
    now = datetime.now(timezone.utc)
    asked = ReportWords(
        since=since,
        until=until,
        path=path,
        by=by,
        sls=sls,
        ident=id,
        function=function,
        jid=jid,
        test=test,
        limit=limit,
    )
    return answer_slowest(ctx.reports(), asked.to_query(now, _find_minions(ctx, tgt, tgt_type)))


def drift(
    ctx: RunnerContext,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    since: object = None,
    path: str | None = None,
    sls: str | None = None,
    id: str | None = None,
    function: str | None = None,
    limit: int = LIMIT,
) -> dict[str, Any]:
    """List resources that are not, or do not stay, as they are declared.

    ``would change``: the last run that looked without acting (``test=True``, ``state.audit``,
    ``noop``) would change it, and no run since has found it in order. ``changed again``: a run put
    back what an earlier one had put there already, so somebody else alters it.

    since : 7d
        How far back runs are looked at. The other arguments are those of ``changes.list``.

    CLI Example:

        salt-run drift
        salt-run changes.drift 'web*' since=30d path='/etc/*'
    """
    now = datetime.now(timezone.utc)
    asked = ReportWords(
        since=datetime.fromtimestamp(recent_days(now), timezone.utc) if since is None else since,
        path=path,
        sls=sls,
        ident=id,
        function=function,
        test="all",
        limit=limit,
    )
    return answer_drift(ctx.reports(), asked.to_query(now, _find_minions(ctx, tgt, tgt_type)))


def _find_minions(ctx: RunnerContext, tgt: str | list[str], tgt_type: str) -> frozenset[str] | None:
    """The minions that a target means; ``None`` for all, also those that are gone meanwhile.

    Raises:
        FunctionError: it means none.
    """
    if tgt == "*" and tgt_type == "glob":
        return None
    found = ctx.expected(tgt, tgt_type)
    if not found:
        raise FunctionError(f"no accepted minion matches {tgt_type} {tgt}")
    return frozenset(found)
