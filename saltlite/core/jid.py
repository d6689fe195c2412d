"""Job ids: the time of the job, in UTC, down to the microsecond, as 20 digits.

Source: docs/cli.md#salt-run, docs/reliability.md#time.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Final

from saltlite.core.numbers import is_digits

_MICROSECOND = timedelta(microseconds=1)

AHEAD_OF_NOW: Final = timedelta(minutes=1)
"""How far in the future a job id may be that somebody else has made: clocks differ."""

STORED_AHEAD: Final = timedelta(days=1)
"""How far ahead of the clock a stored job id may be for new ones to go on from it.

The clock may have been set back since; an id further ahead is damage, and is passed over.
"""


SHARES: Final = 100
"""Into so many shares microseconds are divided among those who do not hear of each other's ids."""


def new_jid(now: datetime, last: str | None, share: int | None = None) -> str:
    """The id of a job started at ``now`` (UTC), later than the job ``last``.

    When the clock stands still or is set back, ids go on from the last one by a microsecond each:
    they never repeat and never go backwards. A ``last`` that is no job id counts for nothing.

    Who has a ``share`` gives only ids that end with its two digits, which nobody else gives.
    """
    jid = _format_moment(_next_of_share(now, share))
    # As text: of equal length and all digits they sort as the times do.
    if last is None or jid > last[:20]:
        return jid
    try:
        return _format_moment(_next_of_share(jid_time(last) + _MICROSECOND, share))
    except (ValueError, OverflowError):
        return jid


def _next_of_share(moment: datetime, share: int | None) -> datetime:
    """The first moment of that share from this one on."""
    if share is None:
        return moment
    return moment + _MICROSECOND * ((share - moment.microsecond) % SHARES)


def usable_jid(jid: str, now: datetime, ahead: timedelta = AHEAD_OF_NOW) -> bool:
    """Whether a job id that somebody else has made is a time, and not later than ``ahead``."""
    try:
        return jid_time(jid) <= now + ahead
    except ValueError:
        return False


def latest_usable(jids: Iterable[str], now: datetime) -> str | None:
    """The first of stored job ids, latest first, from which new ones may go on."""
    return next((one for one in jids if usable_jid(one, now, STORED_AHEAD)), None)


def latest_stored(now: datetime) -> str:
    """What every believable stored job id sorts before."""
    return _format_moment(now + STORED_AHEAD + _MICROSECOND)


def _format_moment(moment: datetime) -> str:
    # Not ``%Y``, which gives early years fewer than four digits on some systems.
    return f"{moment.year:04}{moment:%m%d%H%M%S%f}"


def jid_time(jid: str) -> datetime:
    """When the job was started, in UTC; a jid may have a ``_`` and more digits after it.

    Raises:
        ValueError: it is not a job id.
    """
    digits = jid.split("_", 1)[0]
    if len(digits) != 20 or not is_digits(digits):
        raise ValueError(f"not a job id: {jid!r}")
    year, rest = int(digits[:4]), digits[4:14]
    month, day, hour, minute, second = (int(rest[at : at + 2]) for at in range(0, 10, 2))
    return datetime(year, month, day, hour, minute, second, int(digits[14:]), tzinfo=timezone.utc)
