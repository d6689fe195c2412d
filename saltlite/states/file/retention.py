"""Which of many copies in a directory are kept: the latest ones, the first of each day ..."""

from __future__ import annotations

import calendar
import datetime
import os
import time
from collections.abc import Callable, Mapping, Sequence

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, Resource, Step
from saltlite.states.file._checks import failure
from saltlite.states.file.cleaning import remove_paths

Moment = datetime.datetime

_PERIODS: Mapping[str, Callable[[Moment], tuple[int, ...]]] = {
    "first_of_hour": lambda at: (at.year, at.month, at.day, at.hour),
    "first_of_day": lambda at: (at.year, at.month, at.day),
    # as Salt counts: the week of the ISO calendar, but the year of the common one
    "first_of_week": lambda at: (at.year, at.isocalendar().week),
    "first_of_month": lambda at: (at.year, at.month),
    "first_of_year": lambda at: (at.year,),
}
MOST_RECENT = "most_recent"


def retention_schedule(
    ctx: MinionContext,
    name: str,
    retain: object,
    strptime_format: object = None,
    timezone: object = None,
) -> Declared:
    """A directory with no more copies than the rules in ``retain`` keep."""
    name = os.path.expanduser(name)
    if not os.path.isdir(name):
        return failure("Name provided to file.retention must be a directory")
    return Retention(
        name=name, rules=_parse_rules(retain), form=str(strptime_format or ""),
        zone=_zone_of(timezone),
    )  # fmt: skip


def _parse_rules(retain: object) -> dict[str, int | None]:
    """The rules with their counts, ``None`` for all; raises FunctionError for an unknown rule."""
    if not isinstance(retain, Mapping):
        raise FunctionError("retain must be a map of rules and counts")
    rules: dict[str, int | None] = {}
    for rule, count in retain.items():
        if rule not in _PERIODS and rule != MOST_RECENT:
            known = ", ".join([MOST_RECENT, *_PERIODS])
            raise FunctionError(f"retain: there is no rule {rule} (there are {known})")
        if str(count) == "all":
            rules[rule] = None
            continue
        try:
            rules[rule] = int(count)
        except (TypeError, ValueError):
            raise FunctionError(f"retain: {rule}: {count!r} is no number and not all") from None
    return rules


def _zone_of(name: object) -> datetime.tzinfo | None:
    """The time zone of this name, that of the machine without one; raises FunctionError."""
    if not name:
        return None
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(str(name).upper() if str(name).lower() == "utc" else str(name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise FunctionError(f"timezone: there is no {name}") from error


@dataclass(frozen=True, slots=True)
class Copies:
    """The names in a directory: kept, to be deleted, and of no concern; latest name first."""

    kept: Sequence[str]
    spare: Sequence[str]
    ignored: Sequence[str]


def _choose_kept(
    dated: Mapping[str, Moment], rules: Mapping[str, int | None]
) -> tuple[list[str], list[str]]:
    """Names to keep and to delete. Pure."""
    latest = sorted(dated, key=lambda name: (dated[name], name), reverse=True)
    kept: set[str] = set()
    for rule, most in rules.items():
        count = most
        if rule == MOST_RECENT:
            kept.update(latest[:count])
            continue
        first: dict[tuple[int, ...], str] = {}
        for name in latest:
            first[_PERIODS[rule](dated[name])] = name  # an earlier one takes its place
        if count is not None and rule == "first_of_week":
            count += 1  # Salt keeps one more of these
        kept.update(first[period] for period in sorted(first, reverse=True)[:count])
    names = sorted(dated, reverse=True)
    return [name for name in names if name in kept], [name for name in names if name not in kept]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention(Resource[Copies]):
    """A directory with no more copies than the rules keep.

    ``form`` reads the time from a name as ``strptime`` does; names that it does not fit stay.
    Without it the time of the last change counts, in ``zone``.
    """

    name: str
    rules: Mapping[str, int | None]
    form: str = ""
    zone: datetime.tzinfo | None = None

    def read(self, ctx: MinionContext) -> Copies:
        names = os.listdir(self.name)
        dated = {name: at for name in names if (at := self._parse_moment(name)) is not None}
        kept, spare = _choose_kept(dated, self.rules)
        ignored = [name for name in [".", "..", *names] if name not in dated]
        return Copies(kept, spare, sorted(ignored, reverse=True))

    def _parse_moment(self, name: str) -> Moment | None:
        if self.form:
            try:
                seconds = calendar.timegm(time.strptime(name, self.form))
            except ValueError:
                return None
            return Moment.fromtimestamp(seconds, datetime.timezone.utc)
        changed = os.lstat(os.path.join(self.name, name)).st_mtime
        return Moment.fromtimestamp(changed, datetime.timezone.utc).astimezone(self.zone)

    def plan(self, now: Copies) -> Sequence[Step]:
        if not now.spare:
            return ()
        paths = [os.path.join(self.name, name) for name in now.spare]
        changes = {"retained": now.kept, "deleted": now.spare, "ignored": now.ignored}
        step = Step(
            would=f"{len(paths)} backups would have been removed from {self.name}.\n",
            did=f"{len(paths)} backups were removed from {self.name}.\n",
            changes={part: list(names) for part, names in changes.items()},
            run=lambda ctx: remove_paths(paths),
        )
        return (step,)

    def would_leave(self, now: Copies) -> str:
        return f"0 backups would have been removed from {self.name}.\n"

    def comment_unchanged(self, now: Copies) -> str:
        return f"0 backups were removed from {self.name}.\n"
