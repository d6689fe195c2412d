"""The first process of a minion, with a loop that is a few lines: when it ends, and what it leaves.

Each parent runs in a process of its own, whose exit code says what the test wants to know.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.loader.catalogue import RETURNERS
from saltlite.minion import daemon
from saltlite.minion.daemon import Parent
from saltlite.transport.codec import pack, unpack

pytestmark = pytest.mark.alone

WITHIN_S = 20.0
CHILDREN_LEFT = 99


def no_grains(_parent: Parent) -> socket.socket:
    return socket.socketpair()[0]


@pytest.fixture(autouse=True)
def no_preparations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "prepare_many_forks", lambda: None)
    monkeypatch.setattr(daemon, "preload", lambda _config: None)
    monkeypatch.setattr(Parent, "_start_grains", no_grains)


def fork_parent(tmp_path: Path, prepare: Callable[[], object] = lambda: None) -> int:
    """A parent in a process of its own; its exit code is ``CHILDREN_LEFT`` if it leaves any."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        prepare()
        lock_fd = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
        setup: Any = SimpleNamespace(config=None)
        code = Parent(setup, lock_fd).run()
        os.waitpid(-1, os.WNOHANG)
        code = CHILDREN_LEFT
    except ChildProcessError:
        pass
    finally:
        os._exit(code)


def end_of(pid: int) -> int:
    until_s = time.monotonic() + WITHIN_S
    while not (found := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > until_s:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError("the parent does not end")
        time.sleep(0.005)
    return os.waitstatus_to_exitcode(found[1])


def wait_for(condition: Callable[[], bool]) -> None:
    until_s = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.005)


def test_a_loop_that_says_nothing_more_and_does_not_end_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose thread waits for a name server. The next one ends on purpose."""

    def loop(_setup: object, control: socket.socket, _grains: socket.socket) -> int:
        control.close()
        if not (tmp_path / "begun").exists():
            (tmp_path / "begun").touch()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.pause()
        return 42

    monkeypatch.setattr(daemon, "_live_as_loop", loop)
    monkeypatch.setattr(daemon, "STOP_WAIT_S", 0.2)
    assert end_of(fork_parent(tmp_path)) == 42


def test_such_a_loop_does_not_keep_the_minion_from_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loop(_setup: object, control: socket.socket, _grains: socket.socket) -> int:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        control.close()
        (tmp_path / "begun").touch()
        while True:
            signal.pause()

    monkeypatch.setattr(daemon, "_live_as_loop", loop)
    monkeypatch.setattr(daemon, "STOP_WAIT_S", 0.5)
    parent = fork_parent(tmp_path)
    wait_for((tmp_path / "begun").exists)
    os.kill(parent, signal.SIGTERM)
    assert end_of(parent) == 0


def test_a_minion_that_is_told_to_stop_while_it_forks_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(parent: Parent) -> socket.socket:
        os.kill(os.getpid(), signal.SIGTERM)
        return no_grains(parent)

    def loop(_setup: object, _control: socket.socket, _grains: socket.socket) -> int:
        while True:
            signal.pause()

    monkeypatch.setattr(Parent, "_start_grains", told)
    monkeypatch.setattr(daemon, "_live_as_loop", loop)
    assert end_of(fork_parent(tmp_path)) == 0


@pytest.mark.parametrize("call", ["fork", "socketpair"])
def test_a_loop_waits_while_there_is_no_room_for_it(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a process, or for an open file. A minion that ended of that would be back by hand."""
    made = getattr(os if call == "fork" else socket, call)
    refused: list[str] = []

    def refuse(*words: object) -> object:
        if len(refused) < 3:
            refused.append(call)
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return made(*words)

    def loop(_setup: object, control: socket.socket, _grains: socket.socket) -> int:
        control.close()
        return 42

    monkeypatch.setattr(daemon, "_live_as_loop", loop)
    monkeypatch.setattr(daemon, "FIRST_RESTART_WAIT_S", 0.01)
    place = SimpleNamespace(**{**vars(os if call == "fork" else socket), call: refuse})
    parent = fork_parent(tmp_path, lambda: setattr(daemon, place.__name__, place))
    assert end_of(parent) == 42


def test_a_job_whose_pipe_found_no_room_is_refused(tmp_path: Path) -> None:
    """The kernel delivers the packet without the descriptor; who asked waits for a word."""
    loop_side, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent: Any = object.__new__(Parent)
    with loop_side, ours:
        loop_side.send(pack({"number": 7, "title": "job"}))
        parent._serve_loop(daemon._Loop(0, ours, 0.0))
        loop_side.settimeout(WITHIN_S)
        assert unpack(loop_side.recv(4096)) == {"number": 7, "error": os.strerror(errno.EMFILE)}


def test_a_killed_parent_takes_its_loop_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, however busy the loop is: the next start must find the directory free."""
    said_fd, loops_fd = os.pipe()

    def loop(_setup: object, _control: socket.socket, _grains: socket.socket) -> int:
        os.close(said_fd)
        (tmp_path / "begun").touch()
        while True:
            signal.pause()

    monkeypatch.setattr(daemon, "_live_as_loop", loop)
    parent = fork_parent(tmp_path)
    os.close(loops_fd)
    wait_for((tmp_path / "begun").exists)
    os.kill(parent, signal.SIGKILL)
    assert end_of(parent) == -signal.SIGKILL
    assert os.read(said_fd, 1) == b""  # nobody holds the other end any more
    os.close(said_fd)


# A minion that names a database returner imports its driver once, before it forks for jobs.


PROGRAM = """
    import sys, threading
    from saltlite.config.minion import MinionConfig, ModuleOptions, ReturnOptions
    from saltlite.minion.daemon import preload

    preload(MinionConfig(
        returns=ReturnOptions(return_={named!r}), modules=ModuleOptions(disable_returners={off!r}),
    ))
    assert threading.active_count() == 1
    drivers = {{"psycopg", "pymysql", "redis"}}
    print(*sorted(drivers & set(sys.modules)))
"""


def loaded_drivers(named: str | list[str], off: list[str]) -> list[str]:
    """What the first process of such a minion has imported."""
    code = textwrap.dedent(PROGRAM).format(named=named, off=off)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("named", "driver"),
    [("pgjsonb", "psycopg"), ("postgres", "psycopg"), ("mysql", "pymysql"), ("redis", "redis")],
)
def test_a_returner_that_is_named(named: str, driver: str) -> None:
    if importlib.util.find_spec(driver) is None:
        pytest.skip(f"needs {driver}")
    assert loaded_drivers(["rawfile_json", named], []) == [driver]
    assert loaded_drivers(named, [named]) == []


@pytest.mark.parametrize("named", ["", "rawfile_json,nosuch, ../x", "local"])
def test_others_import_none(named: str) -> None:
    assert loaded_drivers(named, []) == []


def test_each_returner_with_a_server_names_its_driver() -> None:
    for name in RETURNERS.modules():
        module = RETURNERS.load(name)
        assert hasattr(module, "make_server") == hasattr(module, "DRIVER"), name
