"""Who logs in and out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.providers.watch import logins, watched_users

PATH: Final = "/var/log/wtmp"
KEPT: Final = "file"
LINES: Final = "lines"


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    return watched_users.check("wtmp", config)


def beacon(ctx: BeaconContext, config: Mapping[str, object]) -> list[dict[str, Any]]:
    """Tell of every new record: a login, a logout, a start of the machine.

    With ``users`` or ``groups`` only of those, with their ``time_range`` only within it.
    """
    if KEPT not in ctx.kept:
        ctx.kept[KEPT] = logins.LoginFile(PATH)
        ctx.kept[LINES] = {}
    now, found = datetime.now().astimezone(), []
    for record in ctx.kept[KEPT].records():
        event = logins.describe(record)
        event |= _describe_action(record, event, ctx.kept[LINES])
        if watched_users.is_watched(str(event["user"]), config, now):
            found.append(event)
    return found


def _describe_action(
    record: logins.Record, event: Mapping[str, object], lines: dict[str, str]
) -> dict[str, Any]:
    """What a record is about. That of a logout has no name: it is whose login is at its line."""
    if record.type == logins.LOGIN:
        lines[record.line] = record.user
        return {"action": "login"}
    if record.type == logins.LOGOUT:
        return {"user": lines.pop(record.line, record.user), "action": "logout"}
    return {}
