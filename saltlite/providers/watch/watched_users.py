"""Whose logins the beacons ``wtmp`` and ``btmp`` tell, and when."""

from __future__ import annotations

import grp
import pwd
from collections.abc import Mapping
from datetime import datetime, time
from typing import Any

from saltlite.core.moments import UnreadableMoment, read_moment
from saltlite.providers.watch import settings


def check(name: str, config: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether ``users``, ``groups`` and ``defaults`` are right, and the sentence about it."""
    for option, what in (("users", "User"), ("groups", "Group"), ("defaults", "Defaults")):
        if not isinstance(config.get(option) or {}, Mapping):
            return False, f"{what} configuration for {name} beacon must be a dictionary."
    try:
        _time_range(config.get("defaults"))
        for option in ("users", "groups"):
            for each in (config.get(option) or {}).values():
                _time_range(each)
    except ValueError as error:
        return False, f"Configuration for {name} beacon: {error}."
    return settings.VALID


def is_watched(user: str, config: Mapping[str, Any], now: datetime) -> bool:
    """Whether something about this user is to be told now."""
    users, groups = config.get("users") or {}, config.get("groups") or {}
    if not users and not groups:
        return _is_within(config.get("defaults"), now)
    if user in users:
        return _is_within(users[user] or config.get("defaults"), now)
    return any(
        _is_within(options or config.get("defaults"), now)
        for group, options in groups.items()
        if _is_member(user, str(group))
    )


def _is_member(user: str, group: str) -> bool:
    try:
        found = grp.getgrnam(group)
    except KeyError:
        return False
    if user in found.gr_mem:
        return True
    try:
        return pwd.getpwnam(user).pw_gid == found.gr_gid
    except KeyError:
        return False


def _is_within(options: object, now: datetime) -> bool:
    found = _time_range(options)
    if found is None:
        return True
    start, end = found
    if start <= end:
        return start <= now.time() <= end
    return now.time() >= start or now.time() <= end


def _time_range(options: Any) -> tuple[time, time] | None:
    """``time_range`` of a user's, a group's or the default options; ``None`` for any time.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(options or {}, Mapping):
        raise ValueError(f"{options!r:.80} is no map")
    given = (options or {}).get("time_range")
    if given is None:
        return None
    if not isinstance(given, Mapping) or not {"start", "end"} <= set(given):
        raise ValueError("time_range must be a map with start and end")
    return _parse_clock(given["start"]), _parse_clock(given["end"])


def _parse_clock(text: object) -> time:
    try:
        return read_moment(str(text)).clock
    except UnreadableMoment as error:
        raise ValueError(f"{text!r:.40} is no time of day") from error
