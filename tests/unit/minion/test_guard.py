"""The guard of a job's commands, and the ties that end jobs with a killed minion."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from saltlite.minion import guard as guards
from saltlite.minion.guard import Guard, is_guard
from saltlite.minion.parent_death import Tethers

WITHIN_S = 30.0


@pytest.fixture
def guard() -> Iterator[Guard]:
    guard = Guard()
    guard.prepare()
    yield guard
    guard.close()


@pytest.fixture
def commands() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Each leads a group of two processes and says so."""
    script = "sleep 1000 & echo $!; wait"
    started = [
        subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(3)
    ]
    for one in started:
        assert one.stdout is not None
        assert one.stdout.readline()
    yield started
    for one in started:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGKILL)
        one.wait()
        assert one.stdout is not None
        one.stdout.close()


def ended(command: subprocess.Popen[bytes]) -> bool:
    """Whether all of its group was killed: then nobody holds its standard output."""
    assert command.stdout is not None
    return command.wait(WITHIN_S) == -signal.SIGKILL and command.stdout.read() == b""


def test_what_is_held_ends_with_the_holder(
    guard: Guard, commands: list[subprocess.Popen[bytes]]
) -> None:
    first, left, last = commands
    for one in commands:
        guard.hold(one.pid)
    guard.let_go(left.pid)
    guard.close()
    assert ended(first)
    assert ended(last)
    assert left.poll() is None


def test_a_fork_does_not_keep_the_pipe_open(
    guard: Guard, commands: list[subprocess.Popen[bytes]]
) -> None:
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(write_fd)
        os.read(read_fd, 1)
        os._exit(0)
    guard.hold(commands[0].pid)
    guard.close()
    assert ended(commands[0])
    os.close(write_fd)
    os.close(read_fd)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_fork_has_a_guard_of_its_own(
    guard: Guard, commands: list[subprocess.Popen[bytes]]
) -> None:
    guard.hold(commands[0].pid)
    pid = os.fork()
    if not pid:
        guard.close()  # the parent's: nothing happens
        guard.prepare()
        guard.hold(commands[1].pid)
        os._exit(0)
    os.waitpid(pid, 0)
    assert ended(commands[1])
    assert commands[0].poll() is None


def test_a_guard_that_was_killed_is_replaced_and_told_of_all(
    guard: Guard, commands: list[subprocess.Popen[bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    first, second, _third = commands
    guard.hold(first.pid)
    assert guard._shell is not None
    guard._shell.kill()
    guard._shell.wait()
    guard.hold(second.pid)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    guard.prepare()
    guard.close()
    assert ended(first)
    assert ended(second)


def test_a_machine_without_a_shell_runs_commands_unguarded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(guards, "SHELL", "/nowhere/sh")
    guard = Guard()
    guard.prepare()
    guard.hold(1 << 22)
    guard.let_go(1 << 22)
    guard.close()
    assert ["outlive" in record.getMessage() for record in caplog.records] == [True]


def test_who_ends_a_job_can_tell_its_guard(
    guard: Guard, commands: list[subprocess.Popen[bytes]]
) -> None:
    assert guard._shell is not None
    assert is_guard(guard._shell.pid)
    assert not is_guard(commands[0].pid)
    assert not is_guard(1 << 22)


# --- ties ----------------------------------------------------------------------------------


@pytest.mark.parametrize("in_order", [True, False])
def test_children_end_with_a_killed_parent_only(in_order: bool) -> None:
    """The children hold a pipe, and write to it when they are told to by the end of another."""
    held_fd, child_fd = os.pipe()
    wait_fd, go_fd = os.pipe()
    parent = os.fork()
    if not parent:
        tethers = Tethers()
        os.close(go_fd)

        def child() -> int:
            pid = os.fork()
            if not pid:
                tethers.leave()
                os.read(wait_fd, 1)
                os.write(child_fd, b"x")
                os._exit(0)
            return pid

        for _ in range(3):
            tethers.fork(child)
        if in_order:
            tethers.let_go()
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(child_fd)
    os.waitpid(parent, 0)
    if in_order:
        os.close(go_fd)
    said = b""
    while part := os.read(held_fd, 9):
        said += part
    assert said == (b"xxx" if in_order else b"")
    if not in_order:
        os.close(go_fd)
    for fd in (held_fd, wait_fd):
        os.close(fd)


def test_a_child_that_has_ended_costs_nothing() -> None:
    tethers = Tethers()
    before = len(os.listdir("/proc/self/fd"))

    def child() -> int:
        pid = os.fork()
        if not pid:
            os._exit(0)
        return pid

    def none_left() -> int:
        raise BlockingIOError("no more processes")

    pid = tethers.fork(child)
    os.waitpid(pid, 0)
    tethers.forget(pid)
    tethers.forget(pid)
    with pytest.raises(BlockingIOError):
        tethers.fork(none_left)
    assert len(os.listdir("/proc/self/fd")) == before
    tethers.leave()
