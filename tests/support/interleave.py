"""Real classes of the master, in every order in which their store calls can come.

Each actor stands for a process. One runs at a time; before each call that reaches a store (the file
system, SQLite, a lock) it may be made to wait while another goes on, or to die. Time is virtual and
goes on by a millisecond at each such call, so a plan gives the same run again. Nothing of the
product is replaced but its locks between processes, which here would wait for ever.

A plan says at which steps somebody else goes on. :func:`explore` tries the plan without any, then
all with one change, and so on: a race needs one or two. Source: docs/reliability.md#interleavings.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

import pytest

from saltlite import disk
from saltlite.master.jobcache import SqliteJobStore

LOOKS = frozenset({"stat", "lstat", "listdir", "scandir"})
CHANGES = frozenset({"open", "write", "fsync", "rename", "unlink", "link", "mkdir", "utime"})
STEP_S = 0.001
WAIT_S = 20.0
"""An actor that takes longer from one call to the next waits for something outside."""

DIES = -1
FAILS = -101
"""In a plan, less the number of an actor: it is killed, or its call fails, if it changes something.
"""


class Killed(BaseException):
    """The end of an actor whose process is killed: no handler of the product may keep it."""


@dataclass
class Actor:
    """One thread that stands for a process."""

    name: str
    do: Callable[[], object]
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    wants: tuple[str, int] | None = None
    held: list[tuple[str, int]] = field(default_factory=list)
    is_over: bool = False
    is_killed: bool = False
    is_failing: bool = False
    error: BaseException | None = None
    result: object = None


@dataclass
class Clock:
    """Seconds that only steps make go on."""

    now_s: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now_s


class Run:
    """Actors under one plan: at step n actor ``plan[n]`` goes on, dies, or has its call fail."""

    def __init__(self, plan: Mapping[int, int], clock: Clock) -> None:
        self.plan = plan
        self.clock = clock
        self.ran: list[int] = []
        self.actors: list[Actor] = []
        self._turn = threading.Semaphore(0)
        self._current: Actor | None = None

    def run(self, work: Mapping[str, Callable[[], object]]) -> None:
        """All actors to their ends; an error of one is raised here."""
        self.actors = [Actor(name, do) for name, do in work.items()]
        threads = [threading.Thread(target=self._live, args=(one,)) for one in self.actors]
        for one in threads:
            one.start()
        last = self.actors[0]
        while any(not one.is_over for one in self.actors):
            last = self._choose(last)
            self._current = last
            last.go.release()
            assert self._turn.acquire(timeout=WAIT_S), f"{last.name} waits for something"
        for one in threads:
            one.join()
        for actor in self.actors:
            if actor.error is not None and not actor.is_killed:
                raise actor.error

    def _choose(self, last: Actor) -> Actor:
        """Who goes on at this step."""
        actor = self._pick(last)
        self.ran.append(self.actors.index(actor))
        self.clock.now_s += STEP_S
        return actor

    def _pick(self, last: Actor) -> Actor:
        """Whom the plan names, else the same as before, else whoever can."""
        ready = [one for one in self.actors if not one.is_over and self._may_have(one.wants, one)]
        assert ready, f"all wait for a lock: {[one.wants for one in self.actors]}"
        named = self.plan.get(len(self.ran))
        if named is not None:
            what = next((one for one in (FAILS, DIES) if named <= one), 0)
            actor = self.actors[what - named if what else named]
            actor.is_killed = actor.is_killed or (what == DIES and not actor.is_over)
            actor.is_failing = what == FAILS
            if actor in ready or (actor.is_killed and not actor.is_over):
                return actor
        return last if last in ready else ready[0]

    def _may_have(self, lock: tuple[str, int] | None, actor: Actor) -> bool:
        return lock is None or not any(lock in one.held for one in self.actors if one is not actor)

    # --- in an actor's thread ----------------------------------------------------------------

    def _live(self, actor: Actor) -> None:
        actor.go.acquire()
        try:
            sys.setprofile(self._look)
            actor.result = actor.do()
        except BaseException as error:  # noqa: BLE001 - raised again where the run is waited for
            actor.error = error
        finally:
            sys.setprofile(None)
            actor.is_over = True
            actor.held.clear()
            self._turn.release()

    def _look(self, _frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and is_store_call(called):
            self._step()
            actor = self._me()
            if actor.is_failing:
                actor.is_failing = False
                raise_error(called)

    def _step(self) -> None:
        actor = self._me()
        if actor.is_killed:
            return  # what it does on its way out
        self._turn.release()
        actor.go.acquire()
        if actor.is_killed:
            raise Killed

    def _me(self) -> Actor:
        assert self._current is not None
        return self._current

    @contextlib.contextmanager
    def hold(self, lock: tuple[str, int]) -> Iterator[None]:
        """A lock between processes: who cannot have it is not chosen."""
        actor = self._me()
        actor.wants = lock
        try:
            self._step()
        finally:
            actor.wants = None
        actor.held.append(lock)
        try:
            yield
        finally:
            if lock in actor.held:
                actor.held.remove(lock)


def is_store_call(called: Any) -> bool:
    owner = getattr(called, "__self__", None)
    if owner is os or getattr(owner, "__name__", "") == "posix":
        return called.__name__ in LOOKS | CHANGES
    return isinstance(owner, sqlite3.Connection) and called.__name__ in ("execute", "executemany")


def raise_error(called: Any) -> None:
    """What a call that changes something does on a disk that fails; one that looks does not."""
    if isinstance(getattr(called, "__self__", None), sqlite3.Connection):
        raise sqlite3.OperationalError("disk I/O error")
    if called.__name__ in CHANGES:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@contextlib.contextmanager
def locks_of(run: Run) -> Iterator[None]:
    """The product's locks between processes are those of the run."""
    slots = lambda path, slot, **_: run.hold((str(path), slot))  # noqa: E731
    parts = lambda path, name: run.hold((str(path), hash(name)))  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "hold_lock_slot", slots)
        patch.setattr(disk, "hold_lock_part", parts)
        patch.setattr(
            SqliteJobStore, "_lock_for_writing", lambda self: run.hold((str(self.path), 0))
        )
        yield


@dataclass
class Scene:
    """A world that is made anew for each plan: what is done at once, and what must hold then."""

    work: Mapping[str, Callable[[], object]]
    check: Callable[[Run], None]
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Found:
    """The first plan that breaks something."""

    plan: Mapping[int, int]
    error: BaseException


def explore(
    make: Callable[[Clock], Scene], *, changes: int = 2, most: int = 4000, first: int = 0
) -> tuple[int, Found | None]:
    """How many plans were tried, and the first that breaks something.

    ``changes`` is how often in a run somebody else goes on although one could; the ``first`` of
    them may be that an actor ``DIES``, or that its call ``FAILS``, instead.
    """
    plans: list[dict[int, int]] = [{}]
    tried = 0
    while plans and tried < most:
        plan = plans.pop(0)
        tried += 1
        run, error = try_plan(make, plan)
        if error is not None:
            return tried, Found(plan, error)
        if len(plan) < changes:
            plans += _change(run, 0 if plan else first)
    return tried, None


def _change(run: Run, what: int) -> Iterator[dict[int, int]]:
    """The plans with one change more, after those that this run had."""
    for step in range(max(run.plan, default=-1) + 1, len(run.ran)):
        for number in range(len(run.actors)):
            if what:
                yield {**run.plan, step: what - number}
            elif number != run.ran[step]:
                yield {**run.plan, step: number}


def try_plan(
    make: Callable[[Clock], Scene], plan: Mapping[int, int]
) -> tuple[Run, BaseException | None]:
    """One run; what it broke."""
    clock = Clock()
    run = Run(plan, clock)
    with pytest.MonkeyPatch.context() as patch:
        # A store is opened before the thread that stands for its process is there.
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, check_same_thread=False))
        scene = make(clock)
        try:
            with locks_of(run):
                run.run(scene.work)
            scene.check(run)
        except Exception as error:  # noqa: BLE001 - what broke is the answer
            return run, error
        finally:
            scene.close()
    return run, None
