"""A process of the master for an engine: what it is told of the starts before."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.load import load_master
from saltlite.loader.engines import FAILED, EngineEntry
from saltlite.master.engine import Engine


@dataclass
class Life:
    """As much of a child's Life as an engine needs."""

    restarts: int
    said: list[str] = field(default_factory=list)

    def do_not_poll(self) -> None:
        self.said.append("does not poll")

    def ready(self) -> None:
        self.said.append("ready")


@dataclass
class Context:
    """As much of an EngineContext as users' files look at."""

    config: Any
    functions: Any = None
    grains: dict[str, Any] = field(default_factory=dict)
    pillar: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    runner: Any = None


@pytest.mark.parametrize(("restarts", "whole"), [(0, True), (2, True), (3, False)])
def test_three_starts_that_fail_are_told_in_full(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, restarts: int, whole: bool
) -> None:
    code = tmp_path / "code/engines"
    code.mkdir(parents=True)
    (code / "bad.py").write_text("def start():\n    raise KeyError('x')\n")
    (tmp_path / "master").write_text(f"root_dir: {tmp_path}\nmodule_dirs: [{code.parent}]\n")
    bus = tmp_path / "bus"
    bus.touch()

    @contextlib.contextmanager
    def open_context(config: Any, _name: str) -> Iterator[Any]:
        yield Context(config)

    entry, life = EngineEntry("bad", "bad"), Life(restarts)
    engine = Engine(entry, load_master(str(tmp_path)), bus, open_context)
    with pytest.raises(SystemExit) as ended:
        engine.run(life)  # type: ignore[arg-type]  # as much of one
    assert ended.value.code == FAILED
    assert life.said == ["does not poll", "ready"]
    (record,) = caplog.records
    assert bool(record.exc_info) is whole
