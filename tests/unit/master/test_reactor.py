"""What the reactor's process does where things go wrong, without the other processes."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from saltlite.errors import RenderError, StoreError
from saltlite.master import reactor as module
from saltlite.master import renderprocess
from saltlite.master.reactor import TOLD_EVERY_S, Reactor, answer_with
from saltlite.master.renderprocess import RendererGone, RenderProcess
from saltlite.master.run_requests import RunOutcome, RunRequest
from saltlite.master.runs import RunLimits, RunServer
from saltlite.reactor.reactions import Reaction
from saltlite.reactor.table import Entries, TagTable, read_entry
from saltlite.transport.bus import Event, pack_event

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
        self.reactor._start_reaction(Reaction(id=name, sls="/f.sls", kind=kind, fun=fun), EVENT)

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
    if "nest" in request:
        return {"value": nest(request["nest"])}
    if "object" in request:
        return {"value": object()}
    return {"pid": os.getpid(), "said": request.get("say")}


def nest(depth: int) -> Any:
    """So many lists in each other."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


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


def test_what_is_as_deep_as_events_and_files_may_be_arrives(asked: RenderProcess) -> None:
    deep = nest(100)
    assert asked.ask({"say": deep}, LIFE)["said"] == deep
    assert asked.ask({"nest": 100}, LIFE)["value"] == deep


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"say": nest(200)}, "what it renders with, or to, cannot be sent: "),
        ({"say": object()}, "the request cannot be sent: cannot be encoded: TypeError"),
        ({"nest": 200}, "what it renders to cannot be sent: "),
        ({"nest": 2000}, "what it renders with, or to, cannot be sent: "),
        ({"object": 1}, "what it renders with, or to, cannot be sent: "),
    ],
)
def test_what_cannot_be_sent_is_an_error_and_ends_no_process(
    asked: RenderProcess, request_: dict[str, Any], words: str
) -> None:
    pid = asked.ask({}, LIFE)["pid"]
    assert asked.ask(request_, LIFE)["error"].startswith(words)
    assert asked.ask({}, LIFE)["pid"] == pid


def test_too_large_a_frame_is_an_error(
    asked: RenderProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renderprocess, "FRAME_LIMIT", 1000)
    assert "a frame of" in asked.ask({"say": "x" * 1000}, LIFE)["error"]
    assert asked.ask({"say": "x"}, LIFE)["said"] == "x"


def test_what_cannot_start_is_tried_ever_later_and_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(renderprocess, "BACK_OFF_S", 0.1)
    tries = tmp_path / "tries"

    def make() -> Any:
        with tries.open("a") as file:
            file.write(f"{time.monotonic()}\n")
        if len(tries.read_text().splitlines()) <= 4:
            raise RenderError("no pillar", path="/p", line=2)
        return work

    process = RenderProcess("test render", make, 0.5)
    process.start(LIFE)
    answers = []
    until_s = time.monotonic() + 30
    while "pid" not in (answer := process.ask({}, LIFE)):
        assert time.monotonic() < until_s
        answers.append(answer)
        time.sleep(0.05)
    assert answers
    assert {str(one) for one in answers} == {
        "{'error': 'nothing can be rendered: /p:2: no pillar'}"
    }
    moments = [float(line) for line in tries.read_text().splitlines()]
    pauses = [after - before for before, after in itertools.pairwise(moments)]
    assert [pause >= least for pause, least in zip(pauses, (0.1, 0.2, 0.4, 0.8), strict=True)] == (
        [True] * 4
    )
    process._socket.close()  # type: ignore[union-attr]


class Rendered:
    """What renders, without a process: a file's name is what it does."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    def ask(self, request: Mapping[str, Any], _life: Any) -> Mapping[str, Any]:
        if "data" not in request:
            return {"files": [request["file"]]}
        answer = self._answers[request["file"]]
        if isinstance(answer, Exception):
            raise answer
        return {"value": answer}


def prepare_answers(lab: Lab, answers: Mapping[str, Any]) -> None:
    entries = [read_entry({f"x/{name}": [name]}) for name in answers]
    table = Entries(tuple(one for one in entries if one is not None))
    lab.reactor._source = SimpleNamespace(  # type: ignore[assignment]
        refresh=lambda: None, table=TagTable(table.entries)
    )
    lab.reactor._render_process = Rendered(answers)  # type: ignore[assignment]


def handle(lab: Lab, name: str) -> None:
    lab.reactor._handle_event(pack_event(f"x/{name}", {"id": "m1"}, datetime.now(timezone.utc)))


def test_an_event_that_cannot_be_handled_is_dropped_and_the_next_is_handled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lab = Lab(monkeypatch, most=10)
    good = {"a": {"runner.test.arg": [{"args": [{"n": 1}]}]}}
    prepare_answers(lab, {"bad": TypeError("not this"), "good": good})
    handle(lab, "bad")
    handle(lab, "good")
    assert len(lab.reactor._runs.taken) == 1  # type: ignore[attr-defined]
    assert "Reactor, tag x/bad" in caplog.text
    (told,) = lab.dropped()
    assert told["why"] == "an event could not be handled: TypeError: not this"


def test_without_the_process_that_renders_the_reactor_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab = Lab(monkeypatch, most=10)
    prepare_answers(lab, {"a": RendererGone("gone")})
    with pytest.raises(RendererGone):
        handle(lab, "a")


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
import saltlite.minion.minion, saltlite.cli.salt, saltlite.client.local, saltlite.runners.check
found = [name for name in sys.modules if "reactor" in name or "schedule" in name
         or "planner" in name or "quoting" in name]
assert not found, found
"""


def test_who_has_no_reactions_loads_nothing_of_them() -> None:
    subprocess.run([sys.executable, "-c", UNUSED], check=True)
