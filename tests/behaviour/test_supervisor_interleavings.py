"""The master's first process, with whatever may come before each of its system calls.

Each property holds for all moments, and does not once its mend is taken out.
Source: docs/reliability.md#interleavings.
"""

from __future__ import annotations

import itertools
import logging
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pytest
from virtual_kernel import PAUSE_S, READY_S, Event, Kernel, Process

from saltlite.master import supervisor as module
from saltlite.master.child import EXIT_CANNOT_START
from saltlite.master.supervisor import Child, ChildSpec, Supervisor, WatchClock

GRACE_S = 1.0
SILENT_S = 4.0
READY_WITHIN_S = 4.0
TERM_AT_S = 16.0
CALM_FROM_S = 6.0
"""Nothing comes any more, but the end: by then all must be as if nothing had been."""

SOON_S = 0.3
"""Some dozens of calls, or one look at a descriptor."""

BEGUN = 3
"""The first call after the handlers of signals are set; before it a signal just ends the process.
"""

SPECS = (
    ChildSpec("worker", lambda life: None, stop_group=0, grace_s=GRACE_S),
    ChildSpec("engine", lambda life: None, stop_group=0, grace_s=GRACE_S, polls=False),
    ChildSpec("bus", lambda life: None, stop_group=1, grace_s=GRACE_S),
)
CHILDREN = range(len(SPECS))

ENDS = [Event("end", child, code) for child in CHILDREN for code in (0, 1, -signal.SIGSEGV)]
STRANGE = [Event(what, child) for child in CHILDREN for what in ("hang", "deaf")]
SIGNALS = [Event("term"), Event("hup")]
REFUSED = [Event("fork"), Event("pipe2"), Event("pause")]

Plan = Mapping[int, Event]


class Told(logging.Handler):
    """The lines of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Scene:
    """A supervisor in a kernel of its own, from its start to its end."""

    def __init__(self, plan: Plan) -> None:
        self.kernel = Kernel(plan, term_at_s=TERM_AT_S)
        self.ready = 0
        """How often it was told that all are ready."""

        self.reloads: list[float] = []
        self.told = Told()
        self.code = -1

    def run(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            self.kernel.install(patch)
            patch.setattr(module.log, "handlers", [self.told])
            patch.setattr(module.log, "propagate", False)
            watched = _Watched(self)
            self.kernel.beats = watched._beats
            self.code = watched.run()

    def note_ready(self) -> None:
        self.ready += 1

    def note_reload(self) -> None:
        self.reloads.append(self.kernel.now_s)

    # --- what must be so -----------------------------------------------------------------------

    def check(self) -> None:
        kernel = self.kernel
        assert self.code == 0
        assert all(not one.is_alive and one.is_reaped for one in kernel.processes)
        assert not kernel.fds
        self._check_end()
        self._check_kills()
        self._check_hang_ups()
        self._check_lines()
        if kernel.terms[0] >= kernel.term_at_s:
            self._check_recovery()

    def _check_end(self) -> None:
        """In time, and group after group."""
        kernel = self.kernel
        first_s, *others = kernel.terms
        groups = len({one.stop_group for one in SPECS})
        assert kernel.now_s - first_s <= groups * (GRACE_S + SOON_S) + self._paused_since(first_s)
        stops = [(at_s, one) for at_s, number, one in kernel.sent if number == signal.SIGTERM]
        if stops and not others:
            assert stops[0][0] - first_s <= SOON_S + self._paused_since(first_s), "told late"
        for at_s, one in stops:
            before = SPECS[one.slot].stop_group
            earlier = [p for p in kernel.processes if SPECS[p.slot].stop_group < before]
            assert others or all(p.ended_s <= at_s for p in earlier), "out of order"
        for second_s in others[:1]:
            assert kernel.now_s - second_s <= SOON_S + self._paused_since(second_s), "no haste"

    def _paused_since(self, moment_s: float) -> float:
        return PAUSE_S * sum(at_s >= moment_s - SOON_S for at_s in self.kernel.pauses)

    def _check_kills(self) -> None:
        """Only who deserves it, or who is in the way of an end that is wanted at once."""
        for _at_s, number, one in self.kernel.sent:
            if number == signal.SIGKILL and len(self.kernel.terms) < 2:
                assert one.is_hung or one.is_deaf, f"child {one.slot} was killed for nothing"

    def _check_hang_ups(self) -> None:
        """Whoever was there when the logs were re-opened has heard of it."""
        if self.kernel.hang_ups and self.kernel.hang_ups[0] < self.kernel.terms[0]:
            assert self.reloads, "the hang-up was lost"
        for reload_s in self.reloads:
            for one in self.kernel.processes:
                if one.born_s < reload_s and one.ended_s > reload_s + SOON_S:
                    assert one.hang_ups, f"child {one.slot} was not told to re-open"

    def _check_lines(self) -> None:
        """Each death is told, once."""
        for one in self.kernel.processes:
            if one.was_ended_by_plan and one.ended_s < self.kernel.terms[0] - SOON_S:
                said = [line for line in self.told.lines if f"process {one.pid})" in line]
                assert len([line for line in said if "ended with" in line]) == 1, said

    def _check_recovery(self) -> None:
        """As if nothing had been: everybody is there and serves; that was said once."""
        first_s = self.kernel.terms[0]
        for slot in CHILDREN:
            alive = [one for one in self.kernel.processes if self._serves(one, slot, first_s)]
            assert len(alive) == 1, f"{len(alive)} processes of child {slot}"
        assert self.ready == 1

    @staticmethod
    def _serves(one: Process, slot: int, at_s: float) -> bool:
        # A child that does not poll may hang without being seen to.
        is_well = one.hung_s > at_s or not SPECS[slot].polls
        return one.slot == slot and is_well and one.born_s + READY_S < at_s < one.ended_s


class _Watched(Supervisor):
    """Tells the kernel whose process the next one is."""

    def __init__(self, scene: Scene) -> None:
        self._kernel = scene.kernel
        super().__init__(
            SPECS,
            on_ready=scene.note_ready,
            reload=scene.note_reload,
            silent_for_s=SILENT_S,
            ready_within_s=READY_WITHIN_S,
        )

    def _start(self, child: Child) -> None:
        self._kernel.starting = child.slot
        super()._start(child)


def try_plan(plan: Plan) -> Scene:
    scene = Scene(plan)
    try:
        scene.run()
        scene.check()
    except AssertionError as error:
        raise AssertionError(f"{dict(plan)}: {error}") from error
    return scene


def holds(plans: Iterator[Plan]) -> int:
    """Every plan keeps all of it; how many there were."""
    return sum(1 for plan in plans if try_plan(plan))


def breaks(plans: Iterator[Plan]) -> str:
    """What the first plan says that does not."""
    for plan in plans:
        try:
            try_plan(plan)
        except AssertionError as error:
            return str(error)
    raise AssertionError("no moment breaks it")


@dataclass(frozen=True)
class Calls:
    """How many calls have come when it is to be calm, when the end is asked for, and in all."""

    calm: int
    end: int
    last: int


@pytest.fixture(scope="module")
def calls() -> Calls:
    scene = Scene({})
    kernel = scene.kernel
    begun_s = kernel.now_s
    moments: list[tuple[int, float]] = []
    step = kernel._step

    def watch() -> None:
        step()
        moments.append((kernel.calls, kernel.now_s))

    kernel._step = watch  # type: ignore[method-assign]
    scene.run()
    scene.check()
    calm = max(call for call, at_s in moments if at_s < begun_s + CALM_FROM_S)
    end = max(call for call, at_s in moments if at_s < kernel.terms[0])
    return Calls(calm, end, kernel.calls)


def once(steps: Iterator[int] | range, *events: Event) -> Iterator[Plan]:
    return ({step: event} for step in steps for event in events)


def twice(steps: range, near: int, *events: Event) -> Iterator[Plan]:
    """Two things that come one soon after the other."""
    for step, later in itertools.product(steps, range(1, near)):
        for first, second in itertools.product(events, events):
            yield {step: first, step + later: second}


def test_whatever_comes_once_leaves_no_trace(calls: Calls) -> None:
    events = [*ENDS, *STRANGE, *REFUSED, Event("hup")]
    assert holds(once(range(BEGUN, calls.calm), *events)) == (calls.calm - BEGUN) * len(events)


def test_it_ends_in_order_at_whatever_moment_it_is_told_to(calls: Calls) -> None:
    holds(once(range(BEGUN, calls.last), Event("term")))


def test_what_comes_during_the_end_does_not_keep_it(calls: Calls) -> None:
    holds(once(range(calls.end + 1, calls.last), *ENDS, *STRANGE, *SIGNALS))


def test_one_that_is_late_is_killed_and_the_others_are_still_told_in_order(
    calls: Calls,
) -> None:
    for child in CHILDREN:
        scene = try_plan({calls.calm: Event("deaf", child)})
        killed = [one for _, number, one in scene.kernel.sent if number == signal.SIGKILL]
        assert [one.slot for one in killed] == [child]


def test_two_things_at_nearly_the_same_moment(calls: Calls) -> None:
    events = [
        Event("end", 0, 1), Event("end", 2, 0), Event("hup"), Event("fork"), Event("pipe2"),
        Event("term"),
    ]  # fmt: skip
    holds(twice(range(BEGUN, 60, 3), 6, *events))


def test_one_that_cannot_start_ends_the_start_and_nobody_is_left() -> None:
    for step in range(1, 25):
        scene = Scene({step: Event("end", 1, EXIT_CANNOT_START)})
        scene.run()
        was_there = any(one.was_ended_by_plan for one in scene.kernel.processes)
        assert scene.code == was_there
        assert all(one.is_reaped for one in scene.kernel.processes)
        assert not scene.kernel.fds


# --- and with a mend taken out ---------------------------------------------------------------


def test_signals_to_one_that_is_being_born_need_the_mask(
    monkeypatch: pytest.MonkeyPatch, calls: Calls
) -> None:
    monkeypatch.setattr(Kernel, "_sigmask", lambda self, how, numbers: frozenset())
    assert "was not told to re-open" in breaks(once(range(BEGUN, calls.calm), Event("hup")))
    assert "killed for nothing" in breaks(once(range(BEGUN, calls.calm), Event("term")))


def test_a_signal_before_the_wait_needs_the_wakeup_descriptor(
    monkeypatch: pytest.MonkeyPatch, calls: Calls
) -> None:
    monkeypatch.setattr(Kernel, "_set_wakeup_fd", lambda self, fd, **_: -1)
    assert "told late" in breaks(once(range(BEGUN, calls.calm), Event("term")))


def test_a_pause_needs_the_clock_of_looks(monkeypatch: pytest.MonkeyPatch, calls: Calls) -> None:
    def look(clock: WatchClock, monotonic_s: float) -> float:
        clock.now_s = monotonic_s
        return monotonic_s

    monkeypatch.setattr(WatchClock, "look", look)
    assert "killed for nothing" in breaks(once(range(BEGUN, calls.calm), Event("pause")))


def _ask_once_more(self: Supervisor) -> None:
    for child in self._children:
        if child.pid:
            module._wait_status(child.pid)
    _reap(self)


_reap: Callable[[Supervisor], None] = Supervisor._reap


def test_a_death_whose_status_somebody_else_took_is_a_death_all_the_same(
    monkeypatch: pytest.MonkeyPatch, calls: Calls
) -> None:
    plans = [*once(range(BEGUN, calls.calm, 7), Event("end", 0, 1))]
    monkeypatch.setattr(Supervisor, "_reap", _ask_once_more)
    holds(iter(plans))
