"""What the reactor's process does where things go wrong, without the other processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from saltlite.errors import RenderError, StoreError
from saltlite.master import reactor as module
from saltlite.master.reactor import TOLD_EVERY_S, Reactor, answer_with
from saltlite.master.renderprocess import RenderProcess
from saltlite.master.runs import RunLimits, RunOutcome, RunRequest, RunServer
from saltlite.reactor.reactions import Reaction
from saltlite.transport.bus import Event

LIFE: Any = SimpleNamespace(beat=lambda: None, let_go=lambda: None, stopping=False)
EVENT = Event("x/y", {"id": "m1"})


class Runs:
    """ReactorRuns, which takes a few."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken: list[RunRequest] = []

    def start(self, request: RunRequest) -> None:
        if len(self.taken) >= self.most:
            raise StoreError("too many runners are at work; try again later")
        self.taken.append(request)


class Lab:
    """A reactor, and the events that it fires."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
        self.now_s = 1000.0
        self.fired: list[tuple[str, Mapping[str, Any]]] = []
        shared: Any = SimpleNamespace(
            config=None, user="root", sockets=SimpleNamespace(reactor_runs=Path("/none")),
            jids=SimpleNamespace(next=lambda _now: "2026"),
        )  # fmt: skip
        self.reactor = Reactor(shared, lambda _config: None)  # type: ignore[arg-type,return-value]
        self.reactor._life = LIFE
        self.reactor._runs = Runs(most)  # type: ignore[assignment]
        self.reactor._master = SimpleNamespace(now=lambda: None)  # type: ignore[assignment]
        self.reactor._events = SimpleNamespace(  # type: ignore[assignment]
            fire=lambda tag, data: self.fired.append((tag, data))
        )
        clock = SimpleNamespace(monotonic=lambda: self.now_s, time=time.time)
        monkeypatch.setattr(module, "time", clock)

    def react(self, kind: str = "runner", fun: str = "test.arg", name: str = "a") -> None:
        self.reactor._start(Reaction(id=name, sls="/f.sls", kind=kind, fun=fun), EVENT)

    def dropped(self) -> list[Mapping[str, Any]]:
        return [data for tag, data in self.fired if tag == "saltlite/reactor/dropped"]


def test_what_is_dropped_is_counted_and_told_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lab = Lab(monkeypatch, most=2)
    for _ in range(5):
        lab.react()
    assert caplog.text.count("Dropped: a runner test.arg: too many runners are at work") == 3
    (told,) = lab.dropped()
    assert (told["dropped"], told["id"], told["fun"], told["user"]) == (
        1, "a", "test.arg", "Reactor",
    )  # fmt: skip
    lab.now_s += TOLD_EVERY_S
    lab.react()
    assert [one["dropped"] for one in lab.dropped()] == [1, 4]
    assert lab.reactor._dropped.count == 4
    reactions = [data for tag, data in lab.fired if tag == "saltlite/reactor/reaction"]
    assert [bool(one["jid"]) for one in reactions] == [True, True, *[False] * 4]
    assert "too many" in reactions[2]["error"]


def test_a_reaction_that_goes_round(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lab = Lab(monkeypatch, most=10_000)
    for _ in range(150):
        lab.react()
    lab.react(name="other")
    assert len(lab.reactor._runs.taken) == 101  # type: ignore[attr-defined]
    assert caplog.text.count("is paused for 10 s") == 1
    assert len(lab.dropped()) == 1
    lab.now_s += 10.5
    lab.react()
    assert len(lab.reactor._runs.taken) == 102  # type: ignore[attr-defined]


@pytest.mark.parametrize("fun", ["", "test", "../x.y", "a.b\nc", "x" * 300 + ".y"])
def test_what_is_no_function_is_not_run(monkeypatch: pytest.MonkeyPatch, fun: str) -> None:
    """The id and the function of a reaction may come from an event."""
    lab = Lab(monkeypatch, most=10)
    for kind in ("local", "runner", "wheel"):
        lab.react(kind, fun)
    assert lab.reactor._runs.taken == []  # type: ignore[attr-defined]
    assert all("not the name of a function" in data["error"] for _tag, data in lab.fired)


class Renderer:
    """Raises what it is told to."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def render(self, *_args: Any) -> None:
        raise self._error

    locate = render


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RenderError("no", path="/f", line=3), "/f:3: no"),
        (SystemExit(7), "it called exit (7)"),
        (RecursionError("deep"), "RecursionError: deep"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_nothing_that_a_template_does_ends_the_answers(error: BaseException, words: str) -> None:
    answer = answer_with(Renderer(error))  # type: ignore[arg-type]
    assert words in answer({"file": "/f", "tag": "t", "data": {}})["error"]
    assert words in answer({"file": "/f", "tag": "t"})["error"]


def work(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the process of the test does."""
    if "sleep" in request:
        time.sleep(request["sleep"])
    if "die" in request:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"pid": os.getpid(), "said": request.get("say")}


@pytest.fixture
def asked() -> Iterator[RenderProcess]:
    found = RenderProcess("test render", lambda: work, 0.5)
    found.start(LIFE)
    yield found
    assert found._socket is not None
    found._socket.close()


def test_a_process_that_takes_too_long_is_replaced(asked: RenderProcess) -> None:
    first = asked.ask({"say": "a"}, LIFE)
    assert first["said"] == "a"
    began_s = time.monotonic()
    assert asked.ask({"sleep": 60}, LIFE).get("lost")
    assert time.monotonic() - began_s < 5
    second = asked.ask({"say": "x" * 5_000_000}, LIFE)
    assert len(second["said"]) == 5_000_000
    assert second["pid"] != first["pid"]
    assert asked.ask({"die": 1}, LIFE).get("lost")
    assert asked.ask({"say": "b"}, LIFE)["said"] == "b"


def test_one_that_dies_between_two_requests_is_replaced(asked: RenderProcess) -> None:
    for _ in range(3):
        os.kill(asked.ask({}, LIFE)["pid"], signal.SIGKILL)
        time.sleep(0.2)  # the keeper says so before the next request, or while it is on its way
        answers = [asked.ask({"say": "c"}, LIFE) for _ in range(2)]
        assert answers[-1]["said"] == "c"


def test_a_run_that_takes_too_long_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    """SIGTERM, which a runner may not heed, then SIGKILL."""
    shared: Any = SimpleNamespace(config=None)

    def stubborn(_config: Any, _request: RunRequest) -> RunOutcome:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
        return RunOutcome(None, True)

    server = RunServer(shared, stubborn, limits=RunLimits(run_s=0.3))
    server._poller = zmq.Poller()
    handle = server._start([RunRequest("runner", "test.sleep", "2026", "Reactor")], LIFE)
    pid = server._running[handle][0]
    until_s = time.monotonic() + 30
    while time.monotonic() < until_s:
        server._end_overdue()
        if os.waitpid(pid, os.WNOHANG)[0]:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("it still runs")
    server._end_overdue()  # nobody is there any more; that is no error
    assert [one.rpartition("; ")[2] for one in caplog.messages] == ["SIGTERM", "SIGKILL"]


UNUSED = """
import sys
import saltlite.cli.salt_run, saltlite.cli.runs, saltlite.cli.salt_master, saltlite.master.daemon
import saltlite.minion.loop, saltlite.cli.salt, saltlite.client.local, saltlite.runners.check
found = [name for name in sys.modules if "reactor" in name or "schedule" in name
         or "planner" in name or "quoting" in name]
assert not found, found
"""


def test_who_has_no_reactions_loads_nothing_of_them() -> None:
    subprocess.run([sys.executable, "-c", UNUSED], check=True)
