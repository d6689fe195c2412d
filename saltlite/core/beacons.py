"""What a minion's beacons are and when each one runs. Pure: the time is an argument.

:class:`BeaconPasses` takes what happened (a configuration, a tick of the clock, the end of a pass)
and gives what is to be done: run these beacons in that process, kill it. Processes are names here;
:mod:`saltlite.minion.beacons` makes them. Times are seconds of a monotonic clock.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field

RUN_LIMIT_S: Final = 30.0
"""One run of a beacon may take so long; then its process is killed."""

SLOW_S: Final = 2.0
"""A beacon that took longer than this has a process of its own from then on."""

RESTART_S: Final = 5.0
"""So long after its process has died a beacon runs again, at the earliest."""

PROCESSES_LIMIT: Final = 16
"""How many beacons have a process of their own, being slow or written by users."""

OURS: Final = "built-in"
THEIRS: Final = "custom"
"""The processes that the others share: ours in one, what is too much of users' in the other."""

COMMON_OPTIONS: Final = frozenset(
    {
        "beacon_module",
        "delay",
        "disable_during_state_run",
        "emitatstartup",
        "enabled",
        "interval",
        "onchangeonly",
        "run_once",
    }
)
"""Options that every beacon has."""

SWITCH: Final = "enabled"
"""The key beside the names that switches all beacons."""


class BadBeacon(ValueError):
    """A beacon's configuration cannot be read; the text is a line for people."""


@dataclass(frozen=True, slots=True)
class Beacon:
    """One configured beacon.

    ``data`` is the configuration as a list of maps, for custom code; ``options`` the same in one
    map. ``interval_s`` 0 means every pass.
    """

    name: str
    module: str
    data: tuple[Mapping[str, Any], ...]
    options: Mapping[str, Any]
    interval_s: float = 0.0
    is_enabled: bool = True
    runs_once: bool = False
    pauses_for_states: bool = False


def read_beacon(name: str, data: object) -> Beacon:
    """One entry of ``beacons``: a list of maps, or one map.

    Raises:
        BadBeacon: it is neither, or an option that all beacons share has another type.
    """
    listed = list_form(name, data)
    options = {key: value for part in listed for key, value in part.items()}
    module = options.get("beacon_module") or name
    if not isinstance(module, str):
        raise BadBeacon(f"beacon {name}: beacon_module must be a name, not {module!r:.80}")
    return Beacon(
        name=name,
        module=module,
        data=tuple(listed),
        options=options,
        interval_s=_read_seconds(name, options, "interval"),
        is_enabled=_read_switch(name, options, "enabled", default=True),
        runs_once=_read_switch(name, options, "run_once", default=False),
        pauses_for_states=_read_switch(name, options, "disable_during_state_run", default=False),
    )


def list_form(name: str, data: object) -> list[dict[str, Any]]:
    """The configuration of a beacon as a list of maps with keys that are text.

    Raises:
        BadBeacon: it is neither a list of maps nor a map.
    """
    # A map is taken too, which Salt refuses: the same options one to a map.
    parts = [{key: value} for key, value in data.items()] if isinstance(data, Mapping) else data
    if parts is None:
        return []
    if not isinstance(parts, (list, tuple)) or not all(isinstance(p, Mapping) for p in parts):
        raise BadBeacon(f"Configuration for {name} beacon must be a list of maps.")
    return [{str(key): value for key, value in part.items()} for part in parts]


def _read_seconds(name: str, options: Mapping[str, Any], option: str) -> float:
    value = options.get(option)
    if value is None:
        return 0.0
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    # ``True`` is 1 to float; NaN fails this comparison as well.
    if isinstance(value, bool) or not 0 <= seconds < math.inf:
        raise BadBeacon(f"beacon {name}: {option} must be seconds, not {value!r:.80}")
    return seconds


def _read_switch(name: str, options: Mapping[str, object], option: str, *, default: bool) -> bool:
    value = options.get(option)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise BadBeacon(f"beacon {name}: {option} must be True or False, not {value!r:.80}")
    return value


def merge_beacons(pillar: object, own: object) -> dict[str, Any]:
    """``beacons`` of the pillar and of the configuration in one map; the configuration wins."""
    parts = (part for part in (pillar, own) if isinstance(part, Mapping))
    return {str(key): value for part in parts for key, value in part.items()}


def read_beacons(merged: Mapping[str, object]) -> tuple[dict[str, Beacon], list[str]]:
    """The beacons that are to run, by name, and a line for each entry that cannot be read."""
    if not merged.get(SWITCH, True):
        return {}, []
    found: dict[str, Beacon] = {}
    wrong: list[str] = []
    for name, data in merged.items():
        if name == SWITCH:
            continue
        try:
            beacon = read_beacon(name, data)
        except BadBeacon as error:
            wrong.append(f"Beacon {name} configuration invalid, not running. {error}")
            continue
        if beacon.is_enabled:
            found[name] = beacon
    return found, wrong


# --- events and instructions -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Configured:
    """These are the beacons from now on; all that are as before keep their times.

    With ``has_new_code`` those that could not run are tried again.
    """

    beacons: Mapping[str, Beacon]
    has_new_code: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """These beacons cannot run as they are configured."""

    invalid: Collection[str]


@dataclass(frozen=True, slots=True)
class Ticked:
    """Time has passed. ``at_work`` says which beacon each busy process runs, where known."""

    state_runs: bool = False
    at_work: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passed:
    """A process has run what it was told to; some were slow, some cannot run as configured."""

    process: str
    slow: Collection[str] = ()
    invalid: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Died:
    """A process has ended by itself, or was ended by somebody."""

    process: str


@dataclass(frozen=True, slots=True)
class RunBeacons:
    """Have a process close some beacons, then run some, one after the other."""

    process: str
    run: tuple[str, ...]
    close: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kill:
    """End a process at once: a beacon hangs. ``beacons`` is that one, or all it may be."""

    process: str
    beacons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class End:
    """Let a process end: it has no beacons any more."""

    process: str


Event = Configured | Checked | Ticked | Passed | Died
Instruction = RunBeacons | Kill | End


@dataclass(slots=True)
class _Planned:
    """A beacon and when it is due; never again with infinity."""

    beacon: Beacon
    due_s: float
    is_closed: bool = False
    is_invalid: bool = False


@dataclass(slots=True)
class _Work:
    """What a process does since when, and which beacon it was last seen at."""

    names: tuple[str, ...]
    since_s: float
    at: str | None = None


class BeaconPasses:
    """When the beacons of one minion run, and in which process."""

    def __init__(self, every_s: float, built_in: Collection[str]) -> None:
        """``every_s`` is the time between two passes; ``built_in`` are the names of our modules."""
        self._every_s = every_s
        self._built_in = built_in
        self._planned: dict[str, _Planned] = {}
        self._busy: dict[str, _Work] = {}
        self._used: set[str] = set()
        self._apart: set[str] = set()
        self._ticked_s = -math.inf

    def on(self, event: Event, now_s: float) -> list[Instruction]:
        """What is to be done now that this has happened."""
        if isinstance(event, Configured):
            return self._take_configuration(event, now_s)
        if isinstance(event, Checked):
            return self._defer_invalid(event.invalid)
        if isinstance(event, Ticked):
            self._ticked_s = now_s
            return [*self._end_hanging(event.at_work, now_s), *self._start_due(event, now_s)]
        if isinstance(event, Passed):
            return self._end_pass(event, now_s)
        return self._forget_process(event.process, now_s)

    def next_s(self) -> float:
        """When to tick next; infinity if nothing is ever due."""
        dues = [each.due_s for each in self._planned.values()]
        # A busy process may hang: it is looked at in each pass.
        if self._busy:
            return self._ticked_s + self._every_s
        # Not before the pass is over, however short an interval is.
        return max(min(dues, default=math.inf), self._ticked_s + self._every_s)

    def slow_processes(self, now_s: float) -> list[str]:
        """The processes that have taken long now, of which :class:`Ticked` wants to know more."""
        return [name for name, work in self._busy.items() if now_s - work.since_s >= SLOW_S]

    # --- the configuration ---------------------------------------------------------------------

    def _take_configuration(self, event: Configured, now_s: float) -> list[Instruction]:
        beacons = event.beacons
        before = {
            name: planned
            for name, planned in self._planned.items()
            # With new code these begin anew, though their configuration is as before.
            if not (planned.is_invalid and event.has_new_code)
        }
        self._planned = {
            name: before[name]
            if name in before and before[name].beacon == beacon
            else _Planned(beacon, now_s + beacon.interval_s)
            for name, beacon in beacons.items()
        }
        # One that is not configured any more gives its place back.
        self._apart &= set(beacons)
        self._set_apart(name for name in beacons if not self._is_ours(beacons[name]))
        return self._end_unused()

    def _end_unused(self) -> list[Instruction]:
        needed = {self._process_of(each.beacon) for each in self._planned.values()}
        # A busy one ends after its pass: its events are still wanted.
        unused = sorted(self._used - needed - set(self._busy))
        self._used -= set(unused)
        return [End(process) for process in unused]

    def _process_of(self, beacon: Beacon) -> str:
        if beacon.name in self._apart:
            return f"beacon {beacon.name}"
        return OURS if self._is_ours(beacon) else THEIRS

    def _is_ours(self, beacon: Beacon) -> bool:
        return beacon.module in self._built_in

    def _set_apart(self, names: Iterable[str]) -> list[str]:
        """Give beacons a process of their own; those that had none."""
        new = [name for name in names if name in self._planned and name not in self._apart]
        # Beyond the limit they share a process: many slow beacons must not fill the machine.
        del new[max(0, PROCESSES_LIMIT - len(self._apart)) :]
        self._apart |= set(new)
        return new

    # --- passes --------------------------------------------------------------------------------

    def _start_due(self, event: Ticked, now_s: float) -> list[Instruction]:
        """Have every process that is idle run what is due; the others' beacons stay due."""
        run: dict[str, list[str]] = {}
        close: dict[str, list[str]] = {}
        for name, planned in self._planned.items():
            process = self._process_of(planned.beacon)
            # One that is late is not planned anew: it runs as soon as its process is idle.
            if planned.due_s > now_s or process in self._busy:
                continue
            if event.state_runs and planned.beacon.pauses_for_states:
                # Closed, not only left out, so that what the states change is not told afterwards.
                if not planned.is_closed and process in self._used:
                    close.setdefault(process, []).append(name)
                planned.is_closed = True
            else:
                run.setdefault(process, []).append(name)
                planned.is_closed = False
            self._plan_next(planned, now_s)
        return [
            self._start_work(process, run.get(process, ()), close.get(process, ()), now_s)
            for process in {**run, **close}
        ]

    def _start_work(
        self, process: str, run: Sequence[str], close: Sequence[str], now_s: float
    ) -> Instruction:
        self._used.add(process)
        self._busy[process] = _Work(tuple(run), now_s)
        return RunBeacons(process, tuple(run), tuple(close))

    def _plan_next(self, planned: _Planned, now_s: float) -> None:
        """The next time, in step with the first one however late this one is."""
        interval_s = planned.beacon.interval_s
        # A pause is no run: the one run is still to come.
        if planned.beacon.runs_once and not planned.is_closed:
            planned.due_s = math.inf
        elif interval_s:
            # Runs that were missed are not made up for one by one.
            missed = math.floor((now_s - planned.due_s) / interval_s)
            planned.due_s += (missed + 1) * interval_s
        else:
            planned.due_s = now_s

    def _end_pass(self, event: Passed, now_s: float) -> list[Instruction]:
        self._busy.pop(event.process, None)
        self._defer_invalid(event.invalid)
        # Closed where they were before they begin in a process of their own.
        moved = self._set_apart(event.slow)
        if moved:
            return [self._start_work(event.process, (), moved, now_s), *self._end_unused()]
        return self._end_unused()

    def _defer_invalid(self, names: Iterable[str]) -> list[Instruction]:
        for name in names:
            if name in self._planned:
                self._planned[name].due_s = math.inf
                self._planned[name].is_invalid = True
        return []

    # --- processes that hang or die ------------------------------------------------------------

    def _end_hanging(self, at_work: Mapping[str, str | None], now_s: float) -> list[Instruction]:
        found: list[Instruction] = []
        for process, work in list(self._busy.items()):
            # The name is None where the title could not be read: then the whole pass counts.
            name = at_work.get(process)
            if name is not None and name != work.at:
                if work.at is not None:  # another one took long before: this one's time is its own
                    work.since_s = now_s
                work.at = name
            if now_s - work.since_s >= RUN_LIMIT_S:
                found.append(self._kill_process(process, work, now_s))
        return found

    def _kill_process(self, process: str, work: _Work, now_s: float) -> Kill:
        # Moved to a process of its own, so that it stops the others no second time.
        hanging = work.names if work.at is None else (work.at,)
        self._set_apart(hanging)
        for name in work.names:
            # They did nothing wrong, and what they found is lost with the process.
            if name in self._planned and name not in hanging:
                self._planned[name].due_s = now_s
        del self._busy[process]
        self._used.discard(process)
        return Kill(process, hanging)

    def _forget_process(self, process: str, now_s: float) -> list[Instruction]:
        work = self._busy.pop(process, None)
        self._used.discard(process)
        for name in work.names if work is not None else ():
            planned = self._planned.get(name)
            if planned is not None:
                # Later: whichever of them ended the process would do it again at once.
                planned.due_s = max(planned.due_s, now_s + RESTART_S)
        return []


# --- what of its data goes out ---------------------------------------------------------------


class Changes:
    """Which events of one beacon go out: all, or with ``onchangeonly`` those with other data.

    ``emitatstartup`` ``False`` keeps the first ones back; with ``delay_s`` a change goes out when
    it has lasted for so long.
    """

    def __init__(self, *, onchangeonly: bool, emitatstartup: bool, delay_s: float) -> None:
        self._onchangeonly = onchangeonly
        self._emitatstartup = emitatstartup
        self._delay_s = delay_s
        self._is_first = True
        self._sent: dict[str, Any] = {}
        self._waiting: dict[str, tuple[Any, float]] = {}

    @classmethod
    def of(cls, beacon: Beacon, own: Collection[str] = ()) -> Changes:
        """As a beacon's options say, but for those that its module sees to itself (``own``).

        Raises:
            BadBeacon: one of them has another type.
        """
        # A module such as ``service`` has them for each of its parts, not for the whole beacon.
        options = {key: value for key, value in beacon.options.items() if key not in own}
        name = beacon.name
        return cls(
            onchangeonly=_read_switch(name, options, "onchangeonly", default=False),
            emitatstartup=_read_switch(name, options, "emitatstartup", default=True),
            delay_s=_read_seconds(name, options, "delay"),
        )

    def choose(self, events: Sequence[dict[str, Any]], now_s: float) -> list[dict[str, Any]]:
        """Those of a run's events that go out; ``tag`` tells them apart."""
        is_first, self._is_first = self._is_first, False
        if is_first and not self._emitatstartup:
            self._remember_events(events)
            return []
        if not self._onchangeonly:
            return list(events)
        chosen = [event for event in events if self._has_changed(event, now_s)]
        tags = {_tag_of(event) for event in events}
        # What is not told of any more is forgotten: if it comes back, that is a change.
        self._sent = {tag: sent for tag, sent in self._sent.items() if tag in tags}
        self._waiting = {tag: each for tag, each in self._waiting.items() if tag in tags}
        return chosen

    def _remember_events(self, events: Sequence[dict[str, Any]]) -> None:
        if self._onchangeonly:
            self._sent = {_tag_of(event): event for event in events}

    def _has_changed(self, event: dict[str, Any], now_s: float) -> bool:
        tag = _tag_of(event)
        if tag in self._sent and self._sent[tag] == event:
            self._waiting.pop(tag, None)
            return False
        waiting, since_s = self._waiting.get(tag, (None, now_s))
        # Another value begins its delay anew.
        if waiting != event:
            since_s = now_s
        if now_s - since_s < self._delay_s:
            self._waiting[tag] = (event, since_s)
            return False
        self._waiting.pop(tag, None)
        self._sent[tag] = event
        return True


def _tag_of(event: Mapping[str, object]) -> str:
    return str(event.get("tag", ""))
