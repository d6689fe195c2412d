"""Job ids: the time of the job, in UTC, down to the microsecond, as 20 digits.

Source: cli.md 8, reliability.md 8.1.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

_MICROSECOND = timedelta(microseconds=1)


def new_jid(now: datetime, last: str | None) -> str:
    """The id of a job started at ``now`` (UTC), later than the job ``last``.

    When the clock stands still or is set back, ids go on from the last one by a microsecond each:
    they never repeat and never go backwards.
    """
    jid = _text(now)
    if last is None or jid > last[:20]:
        return jid
    return _text(jid_time(last) + _MICROSECOND)


def _text(moment: datetime) -> str:
    return f"{moment.year:04}{moment:%m%d%H%M%S%f}"


def jid_time(jid: str) -> datetime:
    """When the job was started, in UTC; a jid may have a ``_`` and more digits after it.

    Raises:
        ValueError: it is not a job id.
    """
    digits = jid.split("_", 1)[0]
    if len(digits) != 20 or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"not a job id: {jid!r}")
    year, rest = int(digits[:4]), digits[4:14]
    month, day, hour, minute, second = (int(rest[at : at + 2]) for at in range(0, 10, 2))
    return datetime(year, month, day, hour, minute, second, int(digits[14:]), tzinfo=timezone.utc)
