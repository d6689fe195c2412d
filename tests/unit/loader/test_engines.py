"""The option ``engines``: its forms, what is no entry, and which engines there are."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from saltlite.config.load import load_master
from saltlite.loader.catalogue import ENGINES
from saltlite.loader.engines import (
    ENDED,
    FAILED,
    UNAVAILABLE,
    EngineEntry,
    read_engines,
    run_engine,
    select_engines,
)


@dataclass
class Context:
    """As much of an EngineContext as users' files look at."""

    config: Any
    functions: Any = None
    grains: dict[str, Any] = field(default_factory=dict)
    pillar: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    runner: Any = None


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code/engines"
    folder.mkdir(parents=True)
    return folder


def context(code: Path, option: str = "[]") -> Any:
    root = code.parents[1]
    (root / "master").write_text(
        f"root_dir: {root}\nmodule_dirs: [{code.parent}]\nengines: {option}\n"
    )
    return Context(load_master(str(root)))


@pytest.mark.parametrize(
    ("option", "entries"),
    [
        (["one"], [EngineEntry("one", "one")]),
        ([{"one": {"a": 1}}], [EngineEntry("one", "one", {"a": 1})]),
        ([{"one": None}], [EngineEntry("one", "one")]),
        ([{"one": {}}, "one"], [EngineEntry("one", "one"), EngineEntry("one", "one")]),
        ([{"x": {"engine_module": "one", "a": 1}}], [EngineEntry("x", "one", {"a": 1})]),
        ({"one": {"a": 1}, "two": None}, [EngineEntry("one", "one", {"a": 1}),
                                          EngineEntry("two", "two")]),
        ([], []),
    ],
)  # fmt: skip
def test_forms(option: Any, entries: list[EngineEntry]) -> None:
    assert list(read_engines(option)) == entries


@pytest.mark.parametrize("entry", ["", 7, None, {"a": {}, "b": {}}, {"a": 1}, {"a": []}, ["a"]])
def test_what_is_no_entry_is_one_line_and_the_others_count(
    entry: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert list(read_engines([entry, "one"])) == [EngineEntry("one", "one")]
    assert [record.getMessage() for record in caplog.records] == [
        f"engines: found {entry!r}, allowed: a name, or a map of a name and a map"
    ]


def test_the_arguments_of_the_configuration_stay_as_they_are() -> None:
    option = [{"x": {"engine_module": "one"}}]
    assert list(read_engines(option)) == list(read_engines(option))


def test_an_unknown_one_is_a_line_and_is_not_wanted(
    code: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (code / "there.py").write_text('__virtualname__ = "named"\ndef __virtual__():\n  return True\n')
    ctx = context(code, "[named, nosuch, __init__, {x: {engine_module: os}}]")
    assert [entry.name for entry in select_engines(ctx.config)] == ["named"]
    assert [record.getMessage() for record in caplog.records] == [
        "The engine nosuch is not started: there is no engine nosuch",
        "The engine __init__ is not started: there is no engine __init__",
        "The engine x is not started: there is no engine os",
    ]


def test_an_engine_gets_its_arguments_and_says_how_it_ended(code: Path) -> None:
    (code / "one.py").write_text(
        "import pathlib\ndef start(path, text):\n    pathlib.Path(path).write_text(text)\n"
    )
    entry = EngineEntry("first", "one", {"path": str(code / "out"), "text": "hello"})
    assert run_engine(entry, context(code), 0) == ENDED
    assert (code / "out").read_text() == "hello"


@pytest.mark.parametrize(("restarts", "whole"), [(0, True), (2, True), (3, False), (99, False)])
def test_an_error_is_told_in_full_only_at_first(
    code: Path, caplog: pytest.LogCaptureFixture, restarts: int, whole: bool
) -> None:
    (code / "bad.py").write_text("def start():\n    raise KeyError('x')\n")
    assert run_engine(EngineEntry("bad", "bad"), context(code), restarts) == FAILED
    (record,) = caplog.records
    assert record.getMessage() == "The engine bad fails: KeyError('x')"
    assert bool(record.exc_info) is whole


@pytest.mark.parametrize("text", ["def __virtual__():\n  return False, 'no'\n", "x = 1\n"])
def test_one_that_is_not_for_here_is_not_tried_again(
    code: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    (code / "none.py").write_text(text)
    caplog.set_level(logging.ERROR)
    assert run_engine(EngineEntry("none", "none"), context(code), 0) == UNAVAILABLE
    assert caplog.records[-1].getMessage().startswith("The engine none is not started: ")


def test_ours_are_given_the_context(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    ours = ModuleType("saltlite.engines.own")
    vars(ours)["given"] = given
    exec("def start(ctx, word):\n    given.append((ctx, word))\n", vars(ours))
    monkeypatch.setitem(sys.modules, ours.__name__, ours)
    ours.__file__ = "own.py"
    monkeypatch.setattr(ENGINES, "_modules", {"own": ours.__name__})
    ctx = context(code)
    assert run_engine(EngineEntry("own", "own", {"word": "w"}), ctx, 0) == ENDED
    assert given == [(ctx, "w")]
