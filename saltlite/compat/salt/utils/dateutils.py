"""``salt.utils.dateutils``."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from saltlite.core.numbers import is_digits

_FORMATS = (
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d",
    "%Y%m%d",
)


def date_cast(date: Any) -> datetime:
    """A moment from what people write for one; ``None`` is now.

    Raises:
        ValueError: it is none.
    """
    if date is None:
        return datetime.now()  # noqa: DTZ005 - Salt's are without a zone
    if isinstance(date, datetime):
        return date
    if is_digits(str(date)) and len(str(date)) != 8:
        return datetime.fromtimestamp(int(date))  # noqa: DTZ006 - Salt's are without a zone
    if isinstance(date, (int, float)):
        return datetime.fromtimestamp(date)  # noqa: DTZ006 - Salt's are without a zone
    for form in _FORMATS:
        try:
            return datetime.strptime(str(date), form)  # noqa: DTZ007 - Salt's are without a zone
        except ValueError:  # noqa: PERF203 - one of few forms
            continue
    raise ValueError(f"Unable to parse {date!r}")


def strftime(date: object = None, format: str = "%Y-%m-%d") -> str:
    """A moment as text; now without one."""
    return date_cast(date).strftime(format)


def total_seconds(td: timedelta) -> float:
    """The seconds of a time."""
    return td.total_seconds()
