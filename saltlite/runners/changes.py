"""``changes.*``: what runs of states have changed on the minions, and what does not stay so.

Every run of states leaves a report on the master; these read them, and send nothing. The short
forms ``salt-run changes``, ``failed``, ``slowest`` and ``drift`` are the same functions.

Source: docs/reports.md.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from saltlite.core.arguments import takes_options
from saltlite.core.state_reports import ReportQuery
from saltlite.errors import FunctionError
from saltlite.jobs.report_queries import (
    DRIFT_DAYS,
    ReportWords,
    answer_changes,
    answer_drift,
    answer_failed,
    answer_slowest,
)
from saltlite.runner_context import RunnerContext


@takes_options(ReportWords, test=False)
def list_(
    ctx: RunnerContext, words: ReportWords, /, tgt: str | list[str] = "*", tgt_type: str = "glob"
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
    query = _query_of(ctx, words, tgt, tgt_type)
    return answer_changes(ctx.reports(), query, words.result)


@takes_options(ReportWords, without="result")
def failed(
    ctx: RunnerContext, words: ReportWords, /, tgt: str | list[str] = "*", tgt_type: str = "glob"
) -> dict[str, Any]:
    """List states that failed, the newest first, with what they said.

    The arguments are those of ``changes.list``.

    CLI Example:

        salt-run failed since=2h
        salt-run changes.failed 'web*' sls='nginx*'
    """
    query = _query_of(ctx, words, tgt, tgt_type)
    return answer_failed(ctx.reports(), query)


@takes_options(ReportWords, without="result", limit=20)
def slowest(
    ctx: RunnerContext, words: ReportWords, /, tgt: str | list[str] = "*", tgt_type: str = "glob"
) -> dict[str, Any]:
    """List the states that took longest, each once for a minion.

    Of each run the five slowest states are kept, and all that changed or failed. The arguments are
    those of ``changes.list``.

    CLI Example:

        salt-run slowest since=7d
        salt-run changes.slowest 'web*' limit=5
    """
    query = _query_of(ctx, words, tgt, tgt_type)
    return answer_slowest(ctx.reports(), query)


@takes_options(ReportWords, "since path sls id function limit")
def drift(
    ctx: RunnerContext, words: ReportWords, /, tgt: str | list[str] = "*", tgt_type: str = "glob"
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
    query = _query_of(ctx, words, tgt, tgt_type, days=DRIFT_DAYS)
    return answer_drift(ctx.reports(), query)


def _query_of(
    ctx: RunnerContext,
    words: ReportWords,
    tgt: str | list[str],
    tgt_type: str,
    days: float | None = None,
) -> ReportQuery:
    now = datetime.now(timezone.utc)
    return words.to_query(now, _find_minions(ctx, tgt, tgt_type), days=days)


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
