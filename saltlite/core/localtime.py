"""Times on the clock of this place and points in time: what a change of the clock does to them.

A point in time has an offset; points compare and add up whatever their offsets. A time on the
clock has none: in autumn there may be two points for it, in spring none. The zone is the machine's
(``TZ``, ``/etc/localtime``).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

_SECOND = timedelta(seconds=1)

NextTime = Callable[[datetime], datetime | None]
"""Gives the first time on the clock after another one; ``None`` if there is none."""


def clock_of(point: datetime) -> datetime:
    """What the clock shows at a point in time."""
    return point.astimezone().replace(tzinfo=None)


def points_of(local: datetime) -> tuple[datetime, ...]:
    """When the clock shows a time: once, twice in the hour that comes again, else never."""
    first, second = _resolve_fold(local, 0), _resolve_fold(local, 1)
    # Both folds give the same point, except where the clock changes.
    if first == second:
        return (first,)
    # Where the clock jumps ahead the folds are the wrong way round.
    return (first, second) if first < second else ()


def point_of(local: datetime) -> datetime:
    """When the clock shows a time first; if never, when it jumps over it."""
    if local.tzinfo is not None:
        return local.astimezone()
    points = points_of(local)
    if points:
        return points[0]
    # the offsets of before and after the jump give points on both sides of it
    return _change_between(_resolve_fold(local, 1), _resolve_fold(local, 0))


def _resolve_fold(local: datetime, fold: int) -> datetime:
    # timestamp() keeps to PEP 495 for a time that the clock jumps over, astimezone() does not
    seconds = local.replace(fold=fold).timestamp()
    return datetime.fromtimestamp(seconds, timezone.utc).astimezone()


def _change_between(start: datetime, end: datetime) -> datetime:
    """The first second with the offset that ``end`` has."""
    while end - start > _SECOND:
        middle = (start + (end - start) / 2).astimezone().replace(microsecond=0)
        if middle.utcoffset() == end.utcoffset():
            end = middle
        else:
            start = middle
    return end


def first_after(now: datetime, next_time: NextTime) -> datetime | None:
    """The first point later than ``now``; a time that comes twice counts the first time only."""
    local: datetime | None = clock_of(now)
    while local is not None and (local := next_time(local)) is not None:
        point = point_of(local)
        if point > now:
            return point
    return None


def first_after_each(now: datetime, next_time: NextTime) -> datetime | None:
    """The same for what happens every hour: in both of two, and nothing is made up for."""
    local: datetime | None = clock_of(now)
    while local is not None and (local := next_time(local)) is not None:
        later = [point for point in points_of(local) if point > now]
        if later:
            return _before_the_clock_goes_back(now, later[0], next_time)
    return None


def _before_the_clock_goes_back(now: datetime, found: datetime, next_time: NextTime) -> datetime:
    """``found``, or an earlier point in the hour that comes again between now and then."""
    before, after = now.astimezone().utcoffset(), found.utcoffset()
    if before is None or after is None or before <= after:
        return found
    change = _change_between(now.astimezone(), found)
    again = next_time(clock_of(change) - timedelta(microseconds=1))
    points = points_of(again) if again is not None else ()
    return min([found, *(point for point in points if point >= change)])
