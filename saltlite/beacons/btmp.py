"""Logins that failed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.providers.watch import logins, watched_users

PATH: Final = "/var/log/btmp"
KEPT: Final = "file"


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    return watched_users.check("btmp", config)


def beacon(ctx: BeaconContext, config: Mapping[str, object]) -> list[dict[str, Any]]:
    """Tell of every login that has failed since the last look.

    With ``users`` or ``groups`` only of those, with their ``time_range`` only within it.
    """
    if KEPT not in ctx.kept:
        ctx.kept[KEPT] = logins.LoginFile(PATH)
    now = datetime.now().astimezone()
    return [
        logins.describe(record)
        for record in ctx.kept[KEPT].records()
        if watched_users.is_watched(record.user, config, now)
    ]
