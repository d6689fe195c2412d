"""RunServer's children: born at a bad moment, or not at all."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from saltlite.master.runs import RunOutcome, RunRequest, RunServer

WITHIN_S = 30.0
REQUEST = RunRequest("runner", "test.arg", "20240101000000000000", "root")
LIFE: Any = SimpleNamespace(let_go=lambda: None)


@pytest.fixture
def server() -> RunServer:
    shared: Any = SimpleNamespace(config=None)
    server = RunServer(shared, lambda _config, _request: RunOutcome(None, True))
    server._poller = zmq.Poller()
    server._listener = LISTENER
    return server


LISTENER: Any = SimpleNamespace(close=lambda: None)


def ended(server: RunServer) -> int:
    ((handle, (pid, _request)),) = server._running.items()
    os.close(handle)
    return os.waitpid(pid, 0)[1]


def test_a_signal_to_a_child_that_is_just_born_ends_it(
    server: RunServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while the child still has RunServer's handlers."""
    heard: list[int] = []

    def wait_for_signal(_fd: int) -> int:
        (tmp_path / "born").touch()
        until_s = time.monotonic() + WITHIN_S
        while not heard and not signal.sigpending() and time.monotonic() < until_s:
            time.sleep(0.001)
        return -1

    monkeypatch.setattr(signal, "set_wakeup_fd", wait_for_signal)
    before = signal.signal(signal.SIGTERM, lambda number, _frame: heard.append(number))
    try:
        server._start(REQUEST, LIFE)
        until_s = time.monotonic() + WITHIN_S
        while not (tmp_path / "born").exists():
            assert time.monotonic() < until_s
        os.kill(next(iter(server._running.values()))[0], signal.SIGTERM)
        assert ended(server) == signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_request_waits_while_there_can_be_no_process(
    server: RunServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    server._waiting.append(REQUEST)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fork", full)
        server._start_waiting(LIFE)
    assert not server._running
    server._start_waiting(LIFE)
    assert not server._waiting
    assert ended(server) == 0
