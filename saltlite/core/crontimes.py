"""Times as cron writes them, in the ``cron`` of a schedule: ``*/5 8-17 * * mon-fri``.

Local times without a zone. Pure. Source: crontab(5); the answers are those of croniter.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Final

from saltlite.core.dataclasses import dataclass
from saltlite.core.moments import UnreadableMoment

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ALL: Final = ("*", "?")
_SEARCHED_DAYS: Final = 366 * 50
"""How far ahead a day is looked for: every date is there by then, also a 29 February on Sunday."""


@dataclass(frozen=True, slots=True)
class _Field:
    """What a field may hold, and after how many it begins anew."""

    lowest: int
    highest: int
    size: int
    names: tuple[str, ...] = ()


_FIELDS: Final = (
    _Field(0, 59, 60),
    _Field(0, 23, 24),
    _Field(1, 31, 31),
    _Field(1, 12, 12, _MONTHS),
    # 0 and 7 are both Sunday, and 5-1 goes over the end of the week.
    _Field(0, 7, 7, _DAYS),
)


@dataclass(frozen=True, slots=True)
class CronTimes:
    """What five fields say; ``either``: a day is meant by its date or by its weekday."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool

    @property
    def is_hourly(self) -> bool:
        """Whether it is about every hour of a day, and so also of one with 23 or 25."""
        return len(self.hours) == 24

    def after(self, now: datetime) -> datetime | None:
        """The first such time later than ``now``; ``None`` if there is none, as 31 June."""
        # Cron has no seconds: the earliest is the next full minute.
        start = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
        for ahead in range(_SEARCHED_DAYS):
            day = start.date() + timedelta(days=ahead)
            if not self._has_day(day.month, day.day, day.isoweekday() % 7):
                continue
            for hour in sorted(self.hours):
                for minute in sorted(self.minutes):
                    found = datetime.combine(day, time(hour, minute))
                    # Only on the first day can a time be over already.
                    if found >= start:
                        return found
        return None

    def _has_day(self, month: int, day: int, weekday: int) -> bool:
        if month not in self.months:
            return False
        by_date, by_weekday = day in self.days, weekday in self.weekdays
        return by_date or by_weekday if self.either else by_date and by_weekday


def read_cron(text: object) -> CronTimes:
    """Read five fields, or a name such as ``@daily``.

    Raises:
        UnreadableMoment: they cannot be understood.
    """
    if not isinstance(text, str):
        raise UnreadableMoment(f"{text!r} is not a cron expression")
    fields = _NICKNAMES.get(text.strip().lower(), text).lower().split()
    if len(fields) != len(_FIELDS):
        raise UnreadableMoment(f"{text!r} is not a cron expression: it takes five fields")
    try:
        minutes, hours, days, months, weekdays = map(_read_numbers, fields, _FIELDS)
    except ValueError as error:
        raise UnreadableMoment(f"{text!r} is not a cron expression: {error}") from None
    return CronTimes(
        minutes,
        hours,
        days,
        months,
        frozenset(weekday % 7 for weekday in weekdays),
        # crontab(5): with both days restricted one of them is enough.
        either=fields[2] not in _ALL and fields[4] not in _ALL,
    )


def _read_numbers(text: str, field: _Field) -> frozenset[int]:
    """What ``1-5,*/10`` means; raises ValueError."""
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        first, dash, last = span.partition("-")
        step = _read_digits(step_text) if slash else 1
        if span in _ALL:
            start, end = field.lowest, field.highest
        else:
            start = _read_number(first, field)
            # ``5/15`` is 5, 20, 35 and so on: a step without an end goes to the last.
            end = _read_number(last, field) if dash else field.highest if slash else start
        if step < 1 or not all(field.lowest <= each <= field.highest for each in (start, end)):
            raise ValueError(f"{part!r} is not within {field.lowest}-{field.highest}")
        if start > end:  # 22-2: to the end and on from the beginning
            end += field.size
        found.update(
            each if each <= field.highest else each - field.size
            for each in range(start, end + 1, step)
        )
    return frozenset(found)


def _read_number(text: str, field: _Field) -> int:
    if text in field.names:
        return field.names.index(text) + field.lowest
    return _read_digits(text)


def _read_digits(text: str) -> int:
    # ``int`` would take a sign, blanks and digits of other scripts.
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{text!r} is not a number")
    return int(text)
