"""RunServer's children: born at a bad moment, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from saltlite.config.master import FileOptions, MasterConfig, PathOptions
from saltlite.core.dataclasses import asdict, replace
from saltlite.master.handover import hand_over, listen
from saltlite.master.run_requests import FILE_HASH, RunOutcome, RunRequest
from saltlite.master.runs import RUNS_OF_MINION, WAITING_MOST, WAITING_OF_MINION, RunServer

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
        server._start([REQUEST], LIFE)
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


def test_a_run_that_cannot_be_watched_is_ended_and_does_not_begin_again(
    server: RunServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have done half of its work by then."""
    lost: list[str] = []
    begun: list[int] = []

    def full(pid: int) -> int:
        begun.append(pid)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pidfd_open", full)
    monkeypatch.setattr(server, "_report_lost", lambda request: lost.append(request.fun))
    server._waiting.append(REQUEST)
    server._start_waiting(LIFE)
    assert (list(server._waiting), server._running, lost) == ([], {}, [REQUEST.fun])
    with pytest.raises(ChildProcessError):
        os.waitpid(begun[0], os.WNOHANG)


def test_a_lost_run_that_nobody_can_be_told_of_ends_no_other(
    server: RunServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    def fail(_config: Any, _request: RunRequest) -> RunOutcome:
        raise RuntimeError("the run is lost")

    server._execute = fail
    handle = server._start([replace(REQUEST, ticket=b"somebody waits")], LIFE)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fork", full)
        server._reap(handle)
    assert not server._running


def ask_hash(path: str, nonce: str) -> RunRequest:
    return RunRequest(FILE_HASH, "hash", "", "m", arg=[path, "base"], nonce=nonce)


def test_one_child_takes_a_hash_for_all_who_ask(
    server: RunServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[RunRequest]] = []

    def start(requests: list[RunRequest], _life: Any) -> int:
        started.append(requests)
        return len(started)

    monkeypatch.setattr(server, "_start", start)
    for number, path in enumerate("aaabc"):
        server._hashes.setdefault(path, []).append(ask_hash(path, str(number)))
    server._waiting.append(REQUEST)
    server._start_waiting(LIFE)
    assert [[one.nonce for one in requests] for requests in started] == [
        ["0", "1", "2"],
        ["3"],  # and "c" waits: two at once
        [""],  # runners have processes of their own
    ]
    server._hashes.setdefault("a", []).append(ask_hash("a", "5"))
    server._start_waiting(LIFE)
    assert len(started) == 3  # "a" is at work
    del server._hashing[1]
    server._start_waiting(LIFE)
    assert [one.nonce for one in started[3]] == ["4"]
    assert list(server._hashes) == ["a"]


def test_a_minion_has_a_share_of_the_places_at_work(
    server: RunServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[RunRequest] = []

    def start(requests: list[RunRequest], _life: Any) -> int:
        started.extend(requests)
        server._running[len(started)] = (0, requests)
        return len(started)

    monkeypatch.setattr(server, "_start", start)
    many = [replace(REQUEST, minion="web1", nonce=str(one)) for one in range(RUNS_OF_MINION + 2)]
    late = [replace(REQUEST, minion="web2"), REQUEST]
    server._waiting.extend([*many, *late])
    server._start_waiting(LIFE)
    assert started == [*many[:RUNS_OF_MINION], *late]
    del server._running[1]
    server._start_waiting(LIFE)
    assert started[-1] == many[RUNS_OF_MINION]  # and after it those that came later
    assert list(server._waiting) == many[RUNS_OF_MINION + 1 :]


def test_a_minion_has_a_share_of_the_line(server: RunServer) -> None:
    runs = [replace(REQUEST, minion="web1") for _ in range(WAITING_OF_MINION // 2)]
    hashes = [replace(ask_hash("a", ""), minion="web1") for _ in range(WAITING_OF_MINION // 2)]
    server._waiting.extend(runs[1:])
    server._hashes["a"] = hashes
    assert not server._is_full_for(runs[0])
    server._waiting.append(runs[0])
    assert server._is_full_for(runs[0])
    assert server._is_full_for(hashes[0])
    assert not server._is_full_for(replace(REQUEST, minion="web2"))
    # Users have no share: one name may stand for all that an API does.
    server._waiting.extend([REQUEST] * (WAITING_MOST - WAITING_OF_MINION - 1))
    assert not server._is_full_for(REQUEST)
    server._waiting.append(REQUEST)
    assert server._is_full_for(REQUEST)


def test_a_refused_minion_hears_it_and_the_log_has_one_line(
    server: RunServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server._waiting.extend([replace(REQUEST, minion="web1")] * WAITING_OF_MINION)
    path = tmp_path / "runs.ipc"
    with listen(path) as listener:
        for _ in range(5):
            with ThreadPoolExecutor(1) as caller:
                heard = caller.submit(hand_over, path, asdict(replace(REQUEST, minion="web1")))
                server._take(listener, LIFE)
                assert heard.result(WITHIN_S) is False
    assert len(server._waiting) == WAITING_OF_MINION
    assert caplog.messages == ["Too many runs wait; test.arg of web1 is refused"]


def test_a_hash_that_is_asked_for_is_answered_for_all(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100)
    config = MasterConfig(
        files=FileOptions(file_roots={"base": [str(tmp_path)]}),
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
    )
    server = RunServer(SimpleNamespace(config=config), lambda *_args: RunOutcome(None, True))  # type: ignore[arg-type]
    with_status = RunRequest(FILE_HASH, "hash_and_stat", "", "m", arg=["file", "base"])
    missing = RunRequest(FILE_HASH, "hash", "", "m", arg=["nothing", "base"])
    found = [
        outcome.value
        for _one, outcome in server._outcomes([ask_hash("file", ""), with_status, missing])
    ]
    hsum = {"hash_type": "sha256", "hsum": hashlib.sha256(b"x" * 100).hexdigest()}
    assert found[0] == hsum
    assert found[1][0] == hsum
    assert found[1][1][6] == 100
    assert found[2] == ""
