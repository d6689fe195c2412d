"""What an audit found, as an event for the master."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final

from saltlite.context import MinionContext
from saltlite.core.state_reports import StateRow, StateRun, read_runs
from saltlite.errors import SaltliteError

log = logging.getLogger(__name__)

LISTED: Final = 50
"""Resources that one event lists; it says how many there are."""


def tell_audit(ctx: MinionContext, answers: object) -> None:
    """Fire the event of an audit; what it is about stays true if nobody can be told."""
    given = {"fun": "state.audit", "return": answers}
    minion = ctx.config.identity.id
    run = next(read_runs(given, jid=ctx.jid, minion=minion, user="", now_s=0.0), None)
    tag, data = describe_audit(minion, ctx.jid, run)
    try:
        ctx.functions.call("event.fire_master", data, tag)
    except SaltliteError as error:
        log.warning("event %s was not fired: %s", tag, error)


def describe_audit(minion: str, jid: str, run: StateRun | None) -> tuple[str, dict[str, Any]]:
    """The tag and the data of an audit; ``None`` for one that could not begin."""
    if run is None:
        return f"salt/audit/{minion}/failed", {"jid": jid, "checked": 0, "drift": 0, "failed": 0}
    word = "drift" if run.changed else "failed" if run.failed else "clean"
    data = {
        "jid": jid,
        "checked": run.total,
        "drift": run.changed,
        "failed": run.failed,
        "resources": list(_list_resources(run))[:LISTED],
    }
    return f"salt/audit/{minion}/{word}", data


def _list_resources(run: StateRun) -> Iterator[dict[str, Any]]:
    for row in run.rows:
        if row.result is not True:
            yield _describe_row(row)


def _describe_row(row: StateRow) -> dict[str, Any]:
    return {
        "id": row.ident,
        "sls": row.sls,
        "function": row.function,
        "name": row.name,
        "result": row.result,
        "properties": [one.property for one in row.changes],
    }
