"""Times as people write them in a schedule: ``5:00pm``, ``Monday 8am``, ``2030-01-02 17:00``.

Local times without a zone. Pure: what "today" is comes with each question.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
# In the end neither a word nor a colon may follow, so that ``5:00px`` is no time.
_CLOCK = regex(
    r"\b(?P<hour>\d{1,2})(?:(?::(?P<minute>\d{2}))(?::(?P<second>\d{2}))?\s*(?P<half>[ap]m)?"
    r"|\s*(?P<bare_half>[ap]m))(?![\w:])",
    re.ASCII,
)
_ISO_DATE = regex(r"\b(\d{4})-(\d{1,2})-(\d{1,2})(?:t(?=\d))?", re.ASCII)
_SLASHED_DATE = regex(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b", re.ASCII)


class UnreadableMoment(ValueError):
    """Not a time that anybody here can read."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What a text says: a clock time, and a weekday, a date, or every day."""

    clock: time
    weekday: int | None = None
    day: tuple[int | None, int, int] | None = None

    def near(self, now: datetime) -> datetime:
        """That time of today, of the weekday that is today or comes next, or of that date.

        Raises:
            UnreadableMoment: there is no such date.
        """
        if self.day is not None:
            year, month, day = self.day
            try:
                return datetime.combine(date(year or now.year, month, day), self.clock)
            except ValueError as error:
                raise UnreadableMoment(str(error)) from None
        ahead = 0 if self.weekday is None else (self.weekday - now.weekday()) % 7
        return datetime.combine(now.date() + timedelta(days=ahead), self.clock)

    def after(self, now: datetime) -> datetime | None:
        """The first such time later than ``now``; ``None`` if it was once and is over."""
        found = self.near(now)
        if found > now:
            return found
        if self.day is None:
            return found + timedelta(days=1 if self.weekday is None else 7)
        return None


def read_moment(text: object) -> Moment:
    """Read a text, or a time that YAML has read already.

    Raises:
        UnreadableMoment: it is none.
    """
    if isinstance(text, datetime):
        return Moment(text.time(), day=(text.year, text.month, text.day))
    if not isinstance(text, str):
        raise UnreadableMoment(f"{text!r} is not a time")
    rest = " ".join(text.lower().replace(",", " ").split())
    # Before the clock time, which the ``t`` between the two would hide.
    rest, day = _take_date(rest)
    rest, clock = _take_clock(rest)
    words = [word for word in rest.split() if word not in ("at", "on")]
    weekday: int | None = None
    if day is None and words and _find_name(_DAYS, words[0]) is not None:
        weekday = _find_name(_DAYS, words.pop(0))
    if words or (clock is None and weekday is None and day is None):
        raise UnreadableMoment(f"{text!r} is not a time")
    return Moment(clock or time(), weekday, day)


def _take_date(text: str) -> tuple[str, tuple[int | None, int, int] | None]:
    found = _ISO_DATE.search(text)
    if found:
        year, month, day = map(int, found.groups())
        return _cut_out(text, found), (year, month, day)
    found = _SLASHED_DATE.search(text)
    if found:
        month, day, year = map(int, found.groups())
        return _cut_out(text, found), (year, month, day)
    words = text.split()
    for at, word in enumerate(words[:-1]):
        month_index = _find_name(_MONTHS, word)
        if month_index is not None and re.fullmatch(r"[0-9]{1,2}(st|nd|rd|th)?", words[at + 1]):
            named_year = words[at + 2] if len(words) > at + 2 else ""
            has_year = re.fullmatch(r"[0-9]{4}", named_year) is not None
            # Cut out by words: what is left may still be a time, or is refused.
            rest = words[:at] + words[at + 2 + has_year :]
            day = int(re.sub(r"\D", "", words[at + 1]))
            return " ".join(rest), (int(named_year) if has_year else None, month_index + 1, day)
    return text, None


def _take_clock(text: str) -> tuple[str, time | None]:
    found = _CLOCK.search(text)
    if found is None:
        return text, None
    hour, half = int(found["hour"]), found["half"] or found["bare_half"]
    if half and not 1 <= hour <= 12:
        raise UnreadableMoment(f"{found[0]!r} is not a time")
    if half:
        # 12am is midnight, 12pm is noon.
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        clock = time(hour, int(found["minute"] or 0), int(found["second"] or 0))
    except ValueError:
        raise UnreadableMoment(f"{found[0]!r} is not a time") from None
    return _cut_out(text, found), clock


def _cut_out(text: str, found: re.Match[str]) -> str:
    return f"{text[: found.start()]} {text[found.end() :]}"


def _find_name(names: tuple[str, ...], word: str) -> int | None:
    """Of a full name, or its beginning of at least three letters."""
    if len(word) < 3:
        return None
    return next((at for at, name in enumerate(names) if name.startswith(word.rstrip("."))), None)
