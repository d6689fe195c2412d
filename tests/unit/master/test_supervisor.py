"""The parent, with tiny children: what it notices, what it replaces, and how it ends.

Each supervisor runs in a process of its own, so that signals and titles are as in life. Children
report through files in a directory; tests wait for these, never for time.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zmq

from saltlite.master import child as child_module
from saltlite.master.child import EXIT_CANNOT_START, Life
from saltlite.master.shared import Beat
from saltlite.master.supervisor import BACK_OFF_FIRST_S, ChildSpec, Supervisor

pytestmark = pytest.mark.alone

DEADLINE_S = 15.0


def wait_for(condition: Callable[[], object], what: str) -> None:
    until_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < until_s, f"not in time: {what}"
        time.sleep(0.005)


def note(directory: Path, name: str) -> None:
    (directory / f"{name}-{os.getpid()}").touch()


def notes(directory: Path, name: str) -> list[int]:
    """The processes that left a note of that name."""
    return [int(path.name.rpartition("-")[2]) for path in directory.glob(f"{name}-*")]


def idle(directory: Path, name: str) -> Callable[[Life], None]:
    def run(life: Life) -> None:
        poller = zmq.Poller()
        life.register(poller)
        life.ready()
        note(directory, name)
        while not life.stopping:
            life.poll(poller)
        note(directory, f"{name}_ended")

    return run


class Parent:
    """A supervisor in a process of its own."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.pid = os.fork()
        if not self.pid:
            code = 70
            try:
                code = supervisor.run()
            finally:
                os._exit(code)
        self.code: int | None = None

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        wait_for(self.has_ended, "the end of the parent")
        assert self.code is not None
        return self.code

    def has_ended(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None


@pytest.fixture
def parents() -> Iterator[Callable[..., Parent]]:
    started: list[Parent] = []

    def start(specs: list[ChildSpec], **options: object) -> Parent:
        parent = Parent(Supervisor(specs, title="saltlite-test", **options))  # type: ignore[arg-type]
        started.append(parent)
        return parent

    yield start
    for parent in started:
        if not parent.has_ended():
            parent.signal(signal.SIGKILL)
            parent.wait()


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def title(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()


def test_children_run_are_named_and_end_in_order(
    parents: Callable[..., Parent], tmp_path: Path
) -> None:
    def late(life: Life) -> None:
        idle(tmp_path, "late")(life)
        if notes(tmp_path, "first_ended"):  # group 0 has ended before this one is told
            note(tmp_path, "in_order")

    parent = parents(
        [
            ChildSpec("Late", late, stop_group=1),
            ChildSpec("First", idle(tmp_path, "first"), stop_group=0),
        ],
        on_ready=lambda: note(tmp_path, "ready"),
    )
    wait_for(lambda: notes(tmp_path, "ready"), "the report of readiness")
    wait_for(lambda: notes(tmp_path, "first") and notes(tmp_path, "late"), "both children")
    (first,) = notes(tmp_path, "first")
    assert title(first) == "saltlite-test First"
    parent.signal(signal.SIGTERM)
    assert parent.wait() == 0
    assert notes(tmp_path, "in_order") == notes(tmp_path, "late")
    assert notes(tmp_path, "ready") == [parent.pid]


def test_a_killed_child_is_replaced_at_once_and_named_again(
    parents: Callable[..., Parent], tmp_path: Path
) -> None:
    parents([ChildSpec("MWorker-0", idle(tmp_path, "child"))])
    wait_for(lambda: notes(tmp_path, "child"), "the child")
    (first,) = notes(tmp_path, "child")
    began_s = time.monotonic()
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: len(notes(tmp_path, "child")) == 2, "its successor")
    assert time.monotonic() - began_s < 4.0, "less than the longest pause, 5 s"
    (second,) = set(notes(tmp_path, "child")) - {first}
    assert title(second) == "saltlite-test MWorker-0"


def test_a_child_that_keeps_dying_is_started_ever_later(
    parents: Callable[..., Parent], tmp_path: Path
) -> None:
    def die(_life: Life) -> None:
        with (tmp_path / "starts").open("a") as file:
            file.write(f"{time.monotonic()}\n")
        raise SystemExit(3)

    def starts() -> list[float]:
        path = tmp_path / "starts"
        return [float(line) for line in path.read_text().split()] if path.exists() else []

    parents([ChildSpec("Dies", die), ChildSpec("Lives", idle(tmp_path, "lives"))])
    wait_for(lambda: len(starts()) >= 5, "five starts")
    gaps = [after - before for before, after in itertools.pairwise(starts())]
    assert all(gap >= BACK_OFF_FIRST_S * 2**number for number, gap in enumerate(gaps)), gaps
    assert len(notes(tmp_path, "lives")) == 1


def test_a_busy_child_that_takes_too_long_is_replaced(
    parents: Callable[..., Parent], tmp_path: Path
) -> None:
    def hang(life: Life) -> None:
        poller = zmq.Poller()
        life.register(poller)
        life.ready()
        note(tmp_path, "child")
        if len(notes(tmp_path, "child")) == 1:
            life.busy(0.2)
            signal.pause()
        while not life.stopping:
            life.poll(poller)

    parents([ChildSpec("Hangs", hang)])
    wait_for(lambda: len(notes(tmp_path, "child")) == 2, "a successor")


def test_a_stopped_child_is_replaced(parents: Callable[..., Parent], tmp_path: Path) -> None:
    parents([ChildSpec("Idle", idle(tmp_path, "child"))], silent_for_s=2.0)
    wait_for(lambda: notes(tmp_path, "child"), "the child")
    (first,) = notes(tmp_path, "child")
    os.kill(first, signal.SIGSTOP)
    wait_for(lambda: set(notes(tmp_path, "child")) - {first}, "a successor")
    wait_for(lambda: not is_alive(first), "the end of the first")


def test_a_pause_of_all_is_nobodys_fault(
    parents: Callable[..., Parent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the machine's: everybody is stopped for longer than a child may be silent."""
    monkeypatch.setattr(child_module, "BEAT_S", 0.1)
    specs = [ChildSpec(name, idle(tmp_path, name)) for name in ("one", "two")]
    parent = parents(specs, silent_for_s=2.5)
    wait_for(lambda: notes(tmp_path, "one") and notes(tmp_path, "two"), "the children")
    children = notes(tmp_path, "one") + notes(tmp_path, "two")
    for pid in (parent.pid, *children):
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2.7)  # the pause, and below the moment in which only the parent runs
    os.kill(parent.pid, signal.SIGCONT)
    time.sleep(0.2)
    for pid in children:
        os.kill(pid, signal.SIGCONT)
    time.sleep(1.2)  # it looks once a second
    assert notes(tmp_path, "one") + notes(tmp_path, "two") == children
    assert all(map(is_alive, children))


@pytest.mark.parametrize(("busy_since_s", "limit_s"), [(0.0, 60.0), (99.0, 120.0)])
def test_only_seconds_in_which_somebody_looked_count(busy_since_s: float, limit_s: float) -> None:
    supervisor = Supervisor([ChildSpec("Quiet", lambda _life: None)])
    (child,) = supervisor._children
    supervisor._beats.write(0, Beat(99.0, busy_since_s, 120.0, 7))
    child.is_ready = True

    def hung_at(now_s: float) -> str | None:
        supervisor._clock.look(now_s)
        return supervisor._hung(child)

    assert hung_at(100.0) is None
    assert hung_at(1100.0) is None
    assert hung_at(1200.0) is None
    seconds = next(n for n in range(1000) if hung_at(1200.0 + n))
    assert limit_s - 5 < seconds < limit_s + 1
    assert f"for {limit_s:.0f} s" in str(hung_at(2200.0))
    supervisor._beats.write(0, Beat(2199.0, busy_since_s and 2199.0, 120.0, 8))
    assert hung_at(2201.0) is None


def test_a_child_that_never_gets_ready_is_replaced(
    parents: Callable[..., Parent], tmp_path: Path
) -> None:
    def never(_life: Life) -> None:
        note(tmp_path, "child")
        signal.pause()

    parents([ChildSpec("Never", never)], ready_within_s=0.2)
    wait_for(lambda: len(notes(tmp_path, "child")) >= 2, "a second try")


def test_children_die_with_a_killed_parent(parents: Callable[..., Parent], tmp_path: Path) -> None:
    def deaf(life: Life) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        life.ready()
        note(tmp_path, "deaf")
        while True:
            signal.pause()

    parent = parents([ChildSpec("Idle", idle(tmp_path, "idle")), ChildSpec("Deaf", deaf)])
    wait_for(lambda: notes(tmp_path, "idle") and notes(tmp_path, "deaf"), "the children")
    children = notes(tmp_path, "idle") + notes(tmp_path, "deaf")
    parent.signal(signal.SIGKILL)
    wait_for(lambda: not any(map(is_alive, children)), "the end of the children")


def test_a_second_sigterm_ends_the_courtesy(parents: Callable[..., Parent], tmp_path: Path) -> None:
    def deaf(life: Life) -> None:
        life.ready()
        signal.signal(signal.SIGTERM, lambda *_: note(tmp_path, "asked"))
        note(tmp_path, "deaf")
        while True:
            signal.pause()

    parent = parents([ChildSpec("Deaf", deaf, grace_s=60.0)])
    wait_for(lambda: notes(tmp_path, "deaf"), "the child")
    parent.signal(signal.SIGTERM)
    wait_for(lambda: notes(tmp_path, "asked"), "the first signal")
    began_s = time.monotonic()
    parent.signal(signal.SIGTERM)
    assert parent.wait() == 0
    assert time.monotonic() - began_s < 10.0, "the courtesy would take 60 s"
    assert not is_alive(notes(tmp_path, "deaf")[0])


def test_a_child_that_does_not_end_is_killed(
    parents: Callable[..., Parent], tmp_path: Path
) -> None:
    def deaf(life: Life) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        life.ready()
        note(tmp_path, "deaf")
        while True:
            signal.pause()

    parent = parents([ChildSpec("Deaf", deaf, grace_s=0.2)])
    wait_for(lambda: notes(tmp_path, "deaf"), "the child")
    parent.signal(signal.SIGTERM)
    assert parent.wait() == 0


def test_a_child_that_cannot_start_ends_the_whole(
    parents: Callable[..., Parent], tmp_path: Path
) -> None:
    def cannot(_life: Life) -> None:
        raise SystemExit(EXIT_CANNOT_START)

    parent = parents([ChildSpec("Idle", idle(tmp_path, "idle")), ChildSpec("Cannot", cannot)])
    assert parent.wait() == 1


def test_a_hang_up_reaches_parent_and_children(
    parents: Callable[..., Parent], tmp_path: Path
) -> None:
    parent = parents(
        [ChildSpec("Idle", idle(tmp_path, "idle"))], reload=lambda: note(tmp_path, "reload")
    )
    wait_for(lambda: notes(tmp_path, "idle"), "the child")
    parent.signal(signal.SIGHUP)
    wanted = {parent.pid, *notes(tmp_path, "idle")}
    wait_for(lambda: set(notes(tmp_path, "reload")) == wanted, "both reloads")
    assert len(notes(tmp_path, "idle")) == 1


def test_a_signal_to_a_child_that_is_just_born_is_not_lost(
    parents: Callable[..., Parent], tmp_path: Path
) -> None:
    """It comes before the child has handlers of its own."""

    def gate() -> None:
        try:
            (tmp_path / "gate").touch(exist_ok=False)
        except FileExistsError:
            return
        wait_for(lambda: notes(tmp_path, "other_ended"), "the other child's end")

    specs = [ChildSpec(name, idle(tmp_path, "other"), grace_s=60.0) for name in ("A", "B")]
    parent = parents(specs, after_fork=gate)
    wait_for(lambda: notes(tmp_path, "other") and (tmp_path / "gate").exists(), "both")
    parent.signal(signal.SIGTERM)
    assert parent.wait() == 0
    assert len(notes(tmp_path, "other_ended")) == 2


def test_a_child_of_the_first_process_hears_sighup_and_goes_on(
    parents: Callable[..., Parent], tmp_path: Path
) -> None:
    """In a container the master is process 1."""

    def child(life: Life) -> None:
        os.getppid = lambda: 1
        idle(tmp_path, "child")(life)

    def reload() -> None:
        with (tmp_path / "reloads").open("a") as file:
            file.write(f"{os.getpid()}\n")

    def reloads() -> list[int]:
        path = tmp_path / "reloads"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    parent = parents([ChildSpec("Child", child)], reload=reload)
    wait_for(lambda: notes(tmp_path, "child"), "the child")
    (pid,) = notes(tmp_path, "child")
    for times in (1, 2):
        parent.signal(signal.SIGHUP)
        wait_for(lambda: reloads().count(pid) == times, "a reload")  # noqa: B023
    assert notes(tmp_path, "child") == [pid]


def test_a_machine_without_room_for_processes_is_asked_again(
    parents: Callable[..., Parent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork, tries = os.fork, itertools.count()

    def full() -> int:
        if 1 <= next(tries) <= 3:  # the first one is the parent's own
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return fork()

    monkeypatch.setattr(os, "fork", full)
    parents([ChildSpec("Child", idle(tmp_path, "child"))])
    wait_for(lambda: notes(tmp_path, "child"), "the child")
