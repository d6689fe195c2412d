"""``changes.*``: what runs of states without a master have changed here, and what does not stay so.

The questions of ``salt-run changes`` and its kin, asked of what this machine keeps itself: runs of
``salt-call`` that no master heard of. Source: docs/reports.md#without-a-master.
"""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.state_reports import ReportQuery
from saltlite.jobs.report_file import StateReportFile
from saltlite.jobs.report_queries import (
    DRIFT_DAYS,
    ReportWords,
    answer_changes,
    answer_drift,
    answer_failed,
    answer_slowest,
)

OUTPUTTERS = dict.fromkeys(("list", "failed", "slowest", "drift"), "report")


@takes_options(ReportWords, test=False)
def list_(ctx: MinionContext, words: ReportWords, /) -> list[dict[str, Any]]:
    """List what states have changed on this machine, the newest first.

    since, until
        ``yesterday``, ``2h``, ``7d``, ``2026-01-02``, ``2026-01-02T03:04:05`` (UTC).

    path
        The name of the resource: a file, a package, a service. It may be a glob, as may these:

    by
        Who called; ``alice`` is found as ``sudo_alice`` too.

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

        salt-call --local changes.list since=yesterday path=/etc/motd
    """
    return _unwrap(answer_changes(_open_reports(ctx), _query_of(ctx, words), words.result))


@takes_options(ReportWords, without="result")
def failed(ctx: MinionContext, words: ReportWords, /) -> list[dict[str, Any]]:
    """List states that failed on this machine, the newest first, with what they said.

    The arguments are those of ``changes.list``.

    CLI Example:

        salt-call --local changes.failed since=2h
    """
    return _unwrap(answer_failed(_open_reports(ctx), _query_of(ctx, words)))


@takes_options(ReportWords, without="result", limit=20)
def slowest(ctx: MinionContext, words: ReportWords, /) -> list[dict[str, Any]]:
    """List the states that took longest on this machine, each once.

    Of each run the five slowest states are kept, and all that changed or failed. The arguments are
    those of ``changes.list``.

    CLI Example:

        salt-call --local changes.slowest since=7d limit=5
    """
    return _unwrap(answer_slowest(_open_reports(ctx), _query_of(ctx, words)))


@takes_options(ReportWords, "since path sls id function limit")
def drift(ctx: MinionContext, words: ReportWords, /) -> list[dict[str, Any]]:
    """List resources of this machine that are not, or do not stay, as they are declared.

    ``would change``: the last run that looked without acting (``test=True``, ``state.audit``,
    ``noop``) would change it, and no run since has found it in order. ``changed again``: a run put
    back what an earlier one had put there already, so somebody else alters it.

    since : 7d
        How far back runs are looked at. The other arguments are those of ``changes.list``.

    CLI Example:

        salt-call --local changes.drift
    """
    return _unwrap(answer_drift(_open_reports(ctx), _query_of(ctx, words, days=DRIFT_DAYS)))


def _open_reports(ctx: MinionContext) -> StateReportFile:
    return StateReportFile(Path(ctx.config.paths.cachedir))


def _query_of(ctx: MinionContext, words: ReportWords, days: float | None = None) -> ReportQuery:
    """Rows of this machine only, whoever else may have used the directory."""
    here = frozenset({ctx.config.identity.id})
    return words.to_query(datetime.now(timezone.utc), here, days=days)


def _unwrap(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries alone: a function of a minion names its outputter elsewhere."""
    entries: list[dict[str, Any]] = answer["data"]
    return entries
