"""When the jobs of a schedule are due. Pure but for the machine's zone: the time is an argument.

Jobs with an interval are due so long after the last time; all others at times on the clock, which
changes twice a year (:mod:`saltlite.core.localtime`).

An entry is a map as in ``schedule:``; :func:`timing_of` reads the part of it that is about time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from saltlite.core.crontimes import CronTimes, read_cron
from saltlite.core.dataclasses import dataclass, replace
from saltlite.core.fields import read_fields
from saltlite.core.localtime import clock_of, first_after, first_after_each, point_of
from saltlite.core.moments import Moment, UnreadableMoment, read_moment

INTERVALS: Final = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
"""The options that add up to an interval, and their seconds."""

SHORTEST_S: Final = 1.0
"""An interval that is shorter counts as this: each run costs a process and a place in the store."""

LONGEST_S: Final = 36525 * 86400.0
"""A hundred years: what is longer does not end before the calendar does."""

DEFAULTS: Final = {"enabled": True, "jid_include": True, "maxrunning": 1}
"""What an entry means that does not say so; one that :func:`entry_of` makes says it."""

TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%S"

MIXED_TEXT: Final = (
    'Unable to use "seconds", "minutes", "hours", or "days" with "when" or "cron" options.'
)
WHEN_AND_CRON_TEXT: Final = 'Unable to use "when" and "cron" options together.  Ignoring.'


FUNCTION_KEYS: Final = ("function", "func", "fun")
"""How an entry may call what it runs; the first one that is there counts."""


class BadSchedule(ValueError):
    """An entry cannot be understood; the text says what of it, and is a line for people."""


_KEPT: Final = (
    "after", "cron", "days", "hours", "metadata", "minutes", "once", "once_fmt", "range",
    "return_config", "return_job", "return_kwargs", "returner", "run_after_skip_range",
    "run_on_start", "seconds", "skip_during_range", "splay", "until", "when",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class EntryArguments:
    """What ``schedule.add`` is given of a job, beside what is kept as it is."""

    function: Any = None
    when: Any = None
    cron: Any = None
    maxrunning: Any = 1
    enabled: Any = True
    jid_include: Any = True


def entry_of(name: str, given: Mapping[str, object]) -> dict[str, Any]:
    """The entry that the arguments of ``schedule.add`` and ``schedule.present`` make.

    Raises:
        BadSchedule: they contradict one another, or lack something.
    """
    wanted = read_fields(EntryArguments, given)
    has_interval = any(given.get(option) for option in INTERVALS)
    if has_interval and (wanted.when or wanted.cron):
        raise BadSchedule(MIXED_TEXT)
    if wanted.when and wanted.cron:
        raise BadSchedule(WHEN_AND_CRON_TEXT)
    if not name:
        raise BadSchedule("Job name is required.")
    if not wanted.function:
        raise BadSchedule(f"Job {name} needs a function.")
    for option, kind, kind_name in (("job_args", list, "list"), ("job_kwargs", dict, "dict")):
        if not isinstance(given.get(option, kind()), kind):
            raise BadSchedule(f"{option} is not a {kind_name}. please correct and try again.")
    # The functions have other names for them than an entry of the schedule.
    renamed = {"args": "job_args", "kwargs": "job_kwargs"}
    return {
        "function": wanted.function,
        **{option: given[key] for option, key in renamed.items() if key in given},
        "maxrunning": wanted.maxrunning,
        "name": name,
        "enabled": wanted.enabled,
        "jid_include": bool(wanted.jid_include),
        **{option: given[option] for option in _KEPT if option in given},
    }


def stamp_metadata(metadata: Mapping[str, object], now: datetime) -> dict[str, Any]:
    """The ``metadata`` of a job, with when it began: offset of the zone, time, and time again."""
    return {
        **metadata,
        "_TOS": f"{now:%z}",
        "_TS": now.ctime(),
        # With the month at its end, as Salt writes it.
        "_TT": f"{now:%Y %B %d %a %H %m}",
    }


@dataclass(frozen=True, slots=True)
class Window:
    """From ``start`` to ``end``, also over midnight; with ``invert`` the rest of the time."""

    start: Moment
    end: Moment
    invert: bool = False

    def has(self, at: datetime) -> bool:
        """Whether that time is in it."""
        start, end = self.start.near(at), self.end.near(at)
        if self.invert:  # the bounds belong to both
            return at <= start or at >= end if start <= end else end <= at <= start
        return start <= at <= end if start <= end else at >= start or at <= end


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What an entry says about time. ``splay`` are the fewest and the most seconds of delay."""

    every: timedelta | None = None
    whens: tuple[Moment, ...] = ()
    cron: CronTimes | None = None
    once: datetime | None = None
    explicit: tuple[datetime, ...] = ()
    skipped: frozenset[datetime] = frozenset()
    run_on_start: bool = False
    splay: tuple[float, float] = (0, 0)
    range: Window | None = None
    skip_during: Window | None = None
    run_after_skip: bool = False
    after: Moment | None = None
    until: Moment | None = None


def next_fire(timing: Timing, now: datetime, last: datetime | None) -> datetime | None:
    """When a job is due next, a point in time as ``now`` and ``last``; ``None`` never.

    A time on the clock that comes twice in autumn counts the first time; one that the clock jumps
    over in spring when it jumps. ``last`` is when it was due last, ``None`` before the first time.
    However many times an interval has passed since, it is due once, now. A clock that was set back
    never makes it wait longer than one interval.
    """
    found = [first_after(now, moment.after) for moment in timing.whens]
    fixed = [point_of(each) for each in (timing.once, *timing.explicit) if each is not None]
    found += [point for point in fixed if point > now]
    if timing.cron is not None:
        # Every hour means both hours of autumn that have one name; a certain hour only the first.
        search = first_after_each if timing.cron.is_hourly else first_after
        found.append(search(now, timing.cron.after))
    if timing.every is not None:
        found.append(_next_interval(timing.every, now, last, at_once=timing.run_on_start))
    elif timing.run_on_start and last is None:
        found.append(now)
    due = min((each for each in found if each is not None), default=None)
    if due is None or _is_over(timing, due, now):
        return None
    return due.astimezone()


def _is_over(timing: Timing, due: datetime, now: datetime) -> bool:
    return timing.until is not None and clock_of(due) >= timing.until.near(clock_of(now))


def _next_interval(
    every: timedelta, now: datetime, last: datetime | None, *, at_once: bool
) -> datetime:
    if last is None:
        return now if at_once else now + every
    # Once for all that was missed; one interval at most after the clock was set back.
    return min(max(last + every, now), now + every)


def why_not(timing: Timing, at: datetime) -> str:
    """Salt's word for why a job that is due at a time on the clock is not to be run, else empty."""
    # Times to skip are written without fractions.
    if at.replace(microsecond=0) in timing.skipped:
        return "skip_explicit"
    if timing.range is not None and not timing.range.has(at):
        return "not_in_range"
    if timing.skip_during is not None and timing.skip_during.has(at):
        return "in_skip_range"
    if timing.after is not None and at <= timing.after.near(at):
        return "after_not_passed"
    return ""


def skip_ends(timing: Timing, at: datetime) -> datetime | None:
    """When a run that ``skip_during_range`` has prevented is to be made up for."""
    if timing.skip_during is None or not timing.run_after_skip:
        return None
    end = timing.skip_during.end.after(at)
    # The end itself is still in the range.
    return None if end is None else end + timedelta(seconds=1)


def with_explicit(timing: Timing, at: datetime) -> Timing:
    """The same with one more run at that time."""
    return replace(timing, explicit=(*timing.explicit, at))


def timing_of(name: str, entry: Mapping[str, object], whens: Mapping[str, object]) -> Timing:
    """Read an entry; ``whens`` are names for times.

    Raises:
        BadSchedule: it cannot be understood.
    """
    intervals = [option for option in INTERVALS if option in entry]
    if intervals and ("when" in entry or "cron" in entry):
        raise BadSchedule(f"{MIXED_TEXT} Ignoring.")
    if "when" in entry and "cron" in entry:
        raise BadSchedule(WHEN_AND_CRON_TEXT)
    if "once" in entry and ("when" in entry or "cron" in entry):
        raise BadSchedule('Unable to use "once" and "when" or "cron" options together.  Ignoring.')
    if not isinstance(entry.get("function"), (str, list)) or not entry["function"]:
        raise BadSchedule(f"schedule job {name} has no function")
    try:
        return _read_timing(entry, intervals, whens)
    except UnreadableMoment as error:
        raise BadSchedule(
            f"Date string could not be parsed: {error}. Ignoring job {name}."
        ) from None
    # Entries come out of pillar and files: a value may be of any kind.
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise BadSchedule(f"schedule job {name}: {error}. Ignoring.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryTimes:
    """What an entry says of times, unread."""

    when: object = None
    cron: Any = None
    once: object = None
    once_fmt: str | None = None
    run_on_start: object = False
    splay: object = None
    range: object = None
    skip_during_range: object = None
    run_after_skip_range: object = False
    after: object = None
    until: object = None


def _read_timing(
    given: Mapping[str, object], intervals: Sequence[str], whens: Mapping[str, object]
) -> Timing:
    entry = read_fields(EntryTimes, given)
    return Timing(
        every=_read_interval(given, intervals),
        whens=tuple(_read_named_moment(text, whens) for text in _as_list(entry.when)),
        cron=read_cron(entry.cron) if "cron" in given else None,
        once=_read_once(entry),
        explicit=tuple(_read_moments(given, "run_explicit")),
        skipped=frozenset(_read_moments(given, "skip_explicit")),
        run_on_start=bool(entry.run_on_start),
        splay=_read_splay(entry.splay),
        range=_read_window(entry.range, whens),
        skip_during=_read_window(entry.skip_during_range, whens),
        run_after_skip=bool(entry.run_after_skip_range),
        after=_read_named_moment(entry.after, whens) if entry.after else None,
        until=_read_named_moment(entry.until, whens) if entry.until else None,
    )


def _read_interval(entry: Mapping[str, object], intervals: Sequence[str]) -> timedelta | None:
    if not intervals:
        return None
    seconds = sum(_read_number(entry[option]) * INTERVALS[option] for option in intervals)
    # NaN, which YAML can say, fails this too.
    if not 0 < seconds <= LONGEST_S:
        raise ValueError("the interval must be more than 0 seconds and at most a hundred years")
    return timedelta(seconds=max(seconds, SHORTEST_S))


def _read_number(value: Any) -> float:
    """A number, ``None`` is 0; texts of digits that are not ASCII's are none."""
    if isinstance(value, str) and not value.isascii():
        raise ValueError(f"{value!r} is not a number")
    return float(value or 0)


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _read_named_moment(text: object, whens: Mapping[str, object]) -> Moment:
    return read_moment(whens.get(text, text) if isinstance(text, str) else text)


def _read_once(entry: EntryTimes) -> datetime | None:
    once = entry.once
    # YAML reads such a text as a time by itself.
    if once is None or isinstance(once, datetime):
        return once
    return datetime.strptime(str(once), entry.once_fmt or TIME_FORMAT)  # noqa: DTZ007 - local


def _read_moments(entry: Mapping[str, object], option: str) -> list[datetime]:
    return [_explicit_time(each) for each in _as_list(entry.get(option))]


def _explicit_time(each: object) -> datetime:
    text, fmt = (each["time"], each.get("time_fmt")) if isinstance(each, Mapping) else (each, None)
    if isinstance(text, datetime):
        return text
    return datetime.strptime(str(text), fmt or TIME_FORMAT)  # noqa: DTZ007 - local


def _read_splay(value: object) -> tuple[float, float]:
    if isinstance(value, Mapping):
        bounds = (_read_number(value["start"]), _read_number(value["end"]))
    else:
        bounds = (0.0, _read_number(value))
    if not 0 <= bounds[0] <= bounds[1] <= LONGEST_S:
        raise ValueError("splay needs an end that is larger than its start")
    return bounds


def _read_window(value: object, whens: Mapping[str, object]) -> Window | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ValueError("range must be a map with start and end")
    start, end = _read_named_moment(value["start"], whens), _read_named_moment(value["end"], whens)
    return Window(start, end, bool(value.get("invert", False)))
