"""Where the time of a job went: its marks, put in order and into words. Pure.

What is known comes from two clocks: the master's and the minion's. The way of the job to the minion
and the way of the return back are taken for equally long where the clocks contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timezone
from itertools import accumulate, pairwise
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, replace
from saltlite.core.jid import jid_time
from saltlite.core.job_times import JobTimes, MasterRequests
from saltlite.jobs import marks
from saltlite.jobs.marks import Mark

DAY_US: Final = 86_400_000_000
ZONE_US: Final = 900_000_000
"""Zones of time differ by quarters of an hour; states say the time of day on their machine."""

ASKED_FOR: Final[Mapping[str, str]] = {
    "_pillar": "pillar compiled and sent by the master",
    "_file_list": "lists of files from the master",
    "_file_hash": "hashes of files from the master",
    "_file_find": "places of files from the master",
    "_file_envs": "environments from the master",
    "_serve_file": "files from the master",
    "_master_opts": "options from the master",
    "_master_tops": "tops from the master",
    "_mine_get": "mine of the master",
    "minion_pub": "a job of its own",
}
"""What a minion waits for when it asks the master, by the command."""


BEFORE_STATES: Final = "SLS files fetched, rendered and compiled"


@dataclass(frozen=True, slots=True)
class Span:
    """What happened from one moment to the next. ``inner``: within the spans around it."""

    begin_us: int
    end_us: int
    where: str
    what: str
    inner: bool = False

    @property
    def took_us(self) -> int:
        """How long it took."""
        return max(0, self.end_us - self.begin_us)


@dataclass(frozen=True, slots=True)
class MasterTimes:
    """What a master has noted of one job and one minion; 0 is not known."""

    asked_us: int = 0
    came_us: int = 0
    taken_us: int = 0
    stored_us: int = 0
    handed_us: int = 0
    sent_us: int = 0
    return_came_us: int = 0
    return_taken_us: int = 0
    return_stored_us: int = 0
    fired_us: int = 0
    seen_us: int = 0
    worker: str = "MWorker"
    return_worker: str = "MWorker"


@dataclass(frozen=True, slots=True)
class State:
    """One state of a run: when it began by the time of day on its machine, and how long it took."""

    name: str
    order: int
    of_day_us: int
    took_us: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The spans in order, and what is to be said of them."""

    spans: Sequence[Span]
    notes: Sequence[str] = ()
    ahead_us: int = 0
    """How much the minion's clock is ahead of the master's; its times here are moved."""

    @property
    def longest(self) -> int:
        """The number of the span in which most time went, without what inner ones explain."""
        times = [_own_us(one, self.spans) for one in self.spans]
        return times.index(max(times)) if times else -1

    @property
    def total_us(self) -> int:
        """From the first moment to the last."""
        if not self.spans:
            return 0
        return max(one.end_us for one in self.spans) - self.spans[0].begin_us


def _own_us(span: Span, spans: Sequence[Span]) -> int:
    """Its time without that of the spans within it; ``spans`` are in order."""
    if span.inner:
        return span.took_us
    left_us, at_us = span.took_us, span.begin_us
    for one in spans:
        begin_us, end_us = max(at_us, one.begin_us), min(span.end_us, one.end_us)
        if one.inner and begin_us < end_us:
            left_us -= end_us - begin_us
            at_us = end_us
    return left_us


def master_times(found: Iterable[Mark], jid: str, minion: str) -> MasterTimes:
    """What the marks of a job say, with those of one minion's return."""
    number = marks.number_of(minion)
    times = MasterTimes(stored_us=_of_jid(jid))
    for mark in found:
        first, second, third, fourth, fifth = mark.times_us
        if mark.kind == marks.JOB:
            times = replace(
                times, asked_us=first, came_us=second, taken_us=third, stored_us=fourth,
                handed_us=fifth, worker=mark.process,
            )  # fmt: skip
        elif mark.kind == marks.SENT:
            # After a restart it is sent once more, to those who had it before as well.
            times = replace(times, sent_us=min(first, times.sent_us or first))
        elif mark.minion != number:
            continue
        elif mark.kind == marks.RETURN:
            times = replace(
                times, return_came_us=first, return_taken_us=second, return_stored_us=third,
                fired_us=fourth, return_worker=mark.process,
            )  # fmt: skip
        elif mark.kind == marks.SEEN:
            times = replace(times, seen_us=first)
    return times


def _of_jid(jid: str) -> int:
    try:
        return round(jid_time(jid).replace(tzinfo=timezone.utc).timestamp() * 1e6)
    except ValueError:
        return 0


def read_states(value: object) -> list[State]:
    """The states of a run, from what it returned; none of another function."""
    if not isinstance(value, Mapping):
        return []
    found = [_read_state(key, one) for key, one in value.items() if isinstance(one, Mapping)]
    ordered = sorted((one for one in found if one is not None), key=lambda state: state.order)
    return _over_midnight(ordered)


def _over_midnight(states: Sequence[State]) -> list[State]:
    """The same with times that go on rising where a day ends among them."""
    found: list[State] = []
    day_us = 0
    for state in states:
        # Parallel states may begin a little before the one that is listed before them.
        if found and state.of_day_us + day_us < found[-1].of_day_us - DAY_US // 2:
            day_us += DAY_US
        found.append(replace(state, of_day_us=state.of_day_us + day_us))
    return found


def _read_state(key: object, ret: Mapping[str, Any]) -> State | None:
    of_day = _read_time_of_day(ret.get("start_time"))
    took, order = ret.get("duration"), ret.get("__run_num__")
    if of_day is None or not isinstance(took, (int, float)) or not isinstance(order, int):
        return None
    parts = str(key).split("_|-")
    fun = f"{parts[0]}.{parts[-1]}" if len(parts) > 1 else str(key)
    return State(f"{fun} {ret.get('__id__') or ret.get('name') or ''}".strip(), order, of_day,
                 int(took * 1000))  # fmt: skip


def _read_time_of_day(text: object) -> int | None:
    parts = str(text).replace(".", ":").split(":")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    hour, minute, second, micro = map(int, parts)
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + micro


def timeline(
    minion: str, master: MasterTimes, own: JobTimes | None, states: Sequence[State] = ()
) -> Timeline:
    """The way of one job to one minion and back; ``own`` is what the minion says, if it does."""
    ahead_us = _find_ahead(master, own)
    notes = _describe_gaps(minion, master, own, ahead_us)
    if own is not None and own.received_us and ahead_us:
        own = _shift(own, -ahead_us)
    moments = [
        *_way_out(minion, master),
        *(_on_minion(minion, master, own) if own is not None else ()),
        *_way_back(minion, master, own),
    ]
    spans = _between(moments)
    inner = [*_requests(minion, own), *_place_states(minion, master, own, states)]
    ordered = sorted([*spans, *inner], key=lambda one: (one.begin_us, one.inner))
    return Timeline(ordered, notes, ahead_us)


# --- moments -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moment:
    """When something had happened; ``where`` and ``what`` say what led to it."""

    at_us: int
    where: str
    what: str


def _way_out(minion: str, master: MasterTimes) -> list[Moment]:
    return [
        Moment(master.asked_us, "salt", "asks"),
        Moment(master.came_us, "salt", "request on its way to the master"),
        Moment(master.taken_us, "ReqServer", "request waits for a free worker"),
        Moment(master.stored_us, master.worker, "rights and target checked, job put on record"),
        Moment(master.handed_us, master.worker, "job given to Publisher"),
        Moment(master.sent_us, "Publisher", "job sealed, signed and sent"),
    ]


def _on_minion(minion: str, master: MasterTimes, own: JobTimes) -> list[Moment]:
    return [
        Moment(own.received_us, minion, "job on its way to the minion, opened"),
        Moment(own.begun_us, minion, "matched, noted, a place waited for, process forked"),
        Moment(own.found_us, minion, "function found, its module loaded"),
        Moment(own.ended_us, minion, "function ran"),
        Moment(own.made_us, minion, "return noted for returners"),
    ]


def _way_back(minion: str, master: MasterTimes, own: JobTimes | None) -> list[Moment]:
    way = "return spooled, sealed and on its way to the master"
    if own is None:
        way = "job on its way, run by the minion, return on its way back"
    return [
        Moment(master.return_came_us, minion, way),
        Moment(master.return_taken_us, "ReqServer", "return waits for a free worker"),
        Moment(master.return_stored_us, master.return_worker, "return put on record"),
        Moment(master.fired_us, master.return_worker, "event given to the bus"),
        Moment(master.seen_us, "salt", "return collected and printed"),
    ]


def _between(moments: Iterable[Moment]) -> list[Span]:
    """Spans from each moment that is known to the next one, without gap or overlap."""
    known = [one for one in moments if one.at_us]
    # A process may say what it has done when the next one is already at it.
    reached = list(accumulate((one.at_us for one in known), max))
    return [
        Span(begin_us, end_us, after.where, after.what)
        for (begin_us, end_us), after in zip(pairwise(reached), known[1:], strict=True)
    ]


def _requests(minion: str, own: JobTimes | None) -> list[Span]:
    """What the job asked the master for; where several of a kind, in one."""
    return [] if own is None else [_describe_request(minion, one) for one in own.asked.values()]


def _describe_request(minion: str, asked: MasterRequests) -> Span:
    what = ASKED_FOR.get(asked.cmd, f"{asked.cmd} of the master")
    times = f" ({asked.count} requests, together)" if asked.count > 1 else ""
    return Span(
        asked.first_us, asked.first_us + asked.spent_us, minion, f"{what}{times}", inner=True
    )


def _place_states(
    minion: str, master: MasterTimes, own: JobTimes | None, states: Sequence[State]
) -> list[Span]:
    """The states of a run, between the beginning and the end of their function."""
    if not states:
        return []
    if own is not None and own.ended_us:
        # They say the time of day, in a zone that is not said.
        shift_us = _round_to_zone(own.ended_us % DAY_US - _end_of_day(states))
        day_us = own.ended_us - own.ended_us % DAY_US
        base_us = day_us + shift_us
    elif master.return_came_us or master.return_taken_us:
        base_us = (master.return_came_us or master.return_taken_us) - _end_of_day(states)
    else:
        return []
    found = []
    for state in states:
        begin_us = base_us + state.of_day_us
        found.append(Span(begin_us, begin_us + state.took_us, minion, state.name, inner=True))
    if own is not None and own.found_us:
        first_us = min(one.begin_us for one in found)
        before = Span(own.found_us, max(own.found_us, first_us), minion, BEFORE_STATES, inner=True)
        found.insert(0, before)
    return found


def _end_of_day(states: Sequence[State]) -> int:
    return max(one.of_day_us + one.took_us for one in states)


def _round_to_zone(difference_us: int) -> int:
    return round(difference_us / ZONE_US) * ZONE_US


# --- two clocks ----------------------------------------------------------------------------------


def _find_ahead(master: MasterTimes, own: JobTimes | None) -> int:
    """How far the minion's clock is ahead of the master's, 0 where nothing contradicts that."""
    if own is None or not own.received_us or not own.made_us:
        return 0
    # Not when it was handed over: that is noted behind it, and the minion may have it by then.
    sent_us = master.sent_us or master.stored_us
    back_us = master.return_came_us or master.return_taken_us
    if not sent_us or not back_us:
        return 0
    out, back = own.received_us - sent_us, back_us - own.made_us
    if out >= 0 and back >= 0:
        return 0
    return (out - back) // 2


def _shift(own: JobTimes, by_us: int) -> JobTimes:
    moved = {name: replace(one, first_us=one.first_us + by_us) for name, one in own.asked.items()}
    return JobTimes(
        received_us=own.received_us + by_us,
        begun_us=own.begun_us and own.begun_us + by_us,
        found_us=own.found_us and own.found_us + by_us,
        ended_us=own.ended_us and own.ended_us + by_us,
        made_us=own.made_us + by_us,
        asked=moved,
    )


def _describe_gaps(
    minion: str, master: MasterTimes, own: JobTimes | None, ahead_us: int
) -> list[str]:
    notes = []
    if ahead_us:
        side = "ahead of" if ahead_us > 0 else "behind"
        notes.append(
            f"The clock of {minion} is about {abs(ahead_us) / 1e6:.3f} s {side} the master's. Its "
            "times are moved so that the way there and the way back take equally long."
        )
    if own is None:
        notes.append(
            f"{minion} says nothing of its own steps (no saltlite minion, or it has not returned)."
        )
    if not master.sent_us:
        notes.append(
            "The master keeps its own steps of the last jobs and returns only; of this one they "
            "are gone, or another master sent it."
        )
    return notes
