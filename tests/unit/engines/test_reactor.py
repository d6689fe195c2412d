"""The reactor of a minion without a master."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.master import MasterConfig
from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.engine_context import EngineContext
from saltlite.engines.reactor import MasterlessReactor, start
from saltlite.errors import FunctionUnavailable
from saltlite.host import Host
from saltlite.reactor.render import ReactionRenderer, with_template_limit
from saltlite.reactor.table import ReactorEntry
from saltlite.transport.bus import Event


class Functions:
    """Functions that are called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        self.calls.append((name, args, kwargs))
        if name == "no.good":
            raise ValueError("no good")
        if name == "no.end":
            raise SystemExit(1)


class Events:
    """Events that are fired."""

    def __init__(self) -> None:
        self.fired: list[Mapping[str, Any]] = []

    def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        assert tag == "saltlite/reactor/reaction"
        self.fired.append(data)


class Ended(Exception):
    """The daemon has ended."""


class Bus:
    """Events that come."""

    def __init__(self, *events: Event | None) -> None:
        self._events = [*events]

    def get(self, _timeout_s: float) -> Event | None:
        if not self._events:
            raise Ended
        return self._events.pop(0)

    def close(self) -> None:
        """Nothing is open."""


SLS = """
a:
  caller.file.touch:
    - args: [{{ data.path | json }}]
b:
  caller.test.arg:
    - args: {x: 1}
c:
  caller.no.good: []
d:
  caller.no.end: []
e:
  local.test.ping:
    - tgt: m1
"""


def minion(tmp_path: Path, **extra: Any) -> MinionContext:
    config = MinionConfig(
        files=FileOptions(file_client="local", file_roots={"base": [str(tmp_path)]}),
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        extra=extra,
    )
    ctx = MinionContext(config=config, host=Host(), grains={}, pillar={})
    ctx.functions, ctx.events = Functions(), Events()  # type: ignore[assignment]
    return ctx


def test_functions_run_on_the_minion_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "door.sls").write_text(SLS)
    ctx = minion(tmp_path, reactor=[{"door/*": "salt://door.sls"}, {"door/*": "/gone.sls"}])
    bus = Bus(
        Event("other", {}), None, Event("door/open", {"path": "/x: y"}),
        Event("door/open", {"user": "Reactor"}),
    )  # fmt: skip
    engine = EngineContext(name="reactor", config=ctx.config, minion=ctx, listen=lambda _tag: bus)
    with pytest.raises(Ended):
        start(engine, worker_threads=3)
    assert ctx.functions.calls == [  # type: ignore[attr-defined]
        ("file.touch", ("/x: y",), {}),
        ("test.arg", (), {"x": 1}),
        ("no.good", (), {}),
        ("no.end", (), {}),
    ]
    fired = ctx.events.fired  # type: ignore[attr-defined]
    assert [one["id"] for one in fired] == ["a", "b", "c", "d"]
    assert "error" not in fired[1]
    assert "no good" in fired[2]["error"]
    assert "e: local reactions are for the reactor of a master" in caplog.text
    assert "File missing or not found" in caplog.text


def test_what_goes_round_is_paused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "round.sls").write_text("a: {caller.test.arg: []}")
    ctx = minion(tmp_path)
    reactor = MasterlessReactor(ctx)
    for _ in range(2000):
        reactor.react(Event("x", {}), [ReactorEntry("x", ("salt://round.sls",))])
        if "goes round" in caplog.text:
            break
    else:
        pytest.skip("this machine does not do 100 in a second now")
    assert len(ctx.functions.calls) >= 100  # type: ignore[attr-defined]


def test_one_file_or_event_that_fails_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "good.sls").write_text("a: {caller.test.arg: []}")
    ctx = minion(tmp_path)
    reactor = MasterlessReactor(ctx)
    render = reactor._renderer.render

    def fail(path: str, tag: str, data: Mapping[str, Any]) -> Any:
        if tag == "exit":
            raise SystemExit(3)
        if tag == "deep" and "bad" in path:
            raise RecursionError("deep")
        return render(path, tag, data)

    monkeypatch.setattr(ReactionRenderer, "render", staticmethod(fail))
    good, bad = ReactorEntry("x", ("salt://good.sls",)), ReactorEntry("x", ("salt://bad.sls",))
    (tmp_path / "bad.sls").write_text("b: {caller.test.arg: []}")
    for tag in ("exit", "deep", "fine"):
        reactor.react(Event(tag, {}), [bad, good])
    calls = ctx.functions.calls  # type: ignore[attr-defined]
    assert len(calls) == 3  # one of deep, two of fine
    assert "'exit': salt://bad.sls" in caplog.text
    assert "'deep': salt://bad.sls" in caplog.text

    def break_down(*_args: Any, **_kwargs: Any) -> Any:
        raise TypeError("not this")

    monkeypatch.setattr("saltlite.engines.reactor.compile_reactions", break_down)
    reactor.react(Event("broken", {}), [good])
    assert "TypeError: not this" in caplog.text


@pytest.mark.parametrize(("given", "limit"), [(0.0, 9.0), (3.0, 3.0), (60.0, 9.0)])
def test_a_template_has_nine_seconds_at_most(given: float, limit: float) -> None:
    for config in (MasterConfig(), MinionConfig()):
        files = dataclasses.replace(config.files, jinja_time_limit=given)
        limited = with_template_limit(dataclasses.replace(config, files=files))
        assert limited.files.jinja_time_limit == limit


def test_where_there_is_nothing_to_do(tmp_path: Path) -> None:
    ctx = minion(tmp_path)
    for config in (ctx.config, MasterConfig()):
        engine = EngineContext(name="reactor", config=config, minion=ctx, listen=lambda _tag: Bus())
        with pytest.raises(FunctionUnavailable):
            start(engine)
