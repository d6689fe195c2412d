"""A master's side without a master: what orchestrations publish is answered from a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from saltlite.cli.runs import run_another
from saltlite.config.load import load_master
from saltlite.runner_context import RunnerContext
from saltlite.transport.bus import Event

JID = "20260102030405000006"
Answer = Mapping[str, Any] | Callable[[Any, list[Any], Mapping[str, Any]], Mapping[str, Any]]


@dataclass
class Minions:
    """LocalClient's part: function → minion → full return, and what was asked."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[Any, str, list[Any], dict[str, Any]]] = field(default_factory=list)

    def cmd_cli(self, tgt: Any, fun: str, arg: Any = (), **kwargs: Any) -> Iterator[dict[str, Any]]:
        self.asked.append((tgt, fun, list(arg), kwargs))
        found = self.answers.get(fun, {})
        if callable(found):
            found = found(tgt, list(arg), kwargs.get("kwarg") or {})
        for minion, full in found.items():
            yield {minion: {"jid": JID, "retcode": 0, **full}}

    def cmd_batch(self, tgt: Any, fun: str, arg: Any = (), **kwargs: Any) -> Iterator[Any]:
        yield from self.cmd_cli(tgt, fun, arg, **kwargs)

    def subset_of(self, tgt: Any, fun: str, tgt_type: str, subset: int, **_: Any) -> list[str]:
        found = self.answers.get(fun, {})
        assert isinstance(found, Mapping)
        return list(found)[:subset]


@dataclass
class Bus:
    """Events: those that were fired, and those that are heard."""

    fired: list[tuple[str, Any]] = field(default_factory=list)
    heard: list[Event] = field(default_factory=list)

    def fire(self, tag: str, data: Any) -> None:
        json.dumps(data)  # only plain data travel
        self.fired.append((tag, data))

    def get(self, timeout_s: float) -> Event | None:
        del timeout_s
        return self.heard.pop(0) if self.heard else None

    def close(self) -> None:
        """Nothing is open."""


class Recorded(list[Any]):
    """The job store, as far as runs write to it."""

    def record(self, *run: Any) -> None:
        self.append(run)


def orchestra(folder: Path, **files: str) -> tuple[RunnerContext, Minions, Bus]:
    """A runner's context over SLS files (``_`` for a dot in their names), and its surroundings."""
    roots, etc = folder / "srv", folder / "etc"
    for made in (roots, etc):
        made.mkdir(exist_ok=True)
    for name, text in files.items():
        (roots / f"{name}.sls").write_text(text)
    options = {
        "root_dir": str(folder),
        "id": "m_master",
        "file_roots": {"base": [str(roots)]},
        "pillar_roots": {"base": [str(folder / "pillar")]},
    }
    (etc / "master").write_text(json.dumps(options))
    minions, bus = Minions(), Bus()
    ctx = RunnerContext(
        config=load_master(etc),
        jobs=Recorded(),  # type: ignore[arg-type]
        keys=None,  # type: ignore[arg-type]
        key_material=None,  # type: ignore[arg-type]
        cache=None,  # type: ignore[arg-type]
        events=bus,
        local=minions,  # type: ignore[arg-type]
        listen=lambda _prefix: bus,
        accepted=lambda: ["m1", "m2"],
        connected=dict,
        expected=lambda _tgt, _kind: ["m1", "m2"],
        cached=lambda _tgt, _kind: ["m1", "m2"],
        write=lambda _line: None,
        jid=JID,
    )
    ctx.run = partial(run_another, ctx)
    return ctx, minions, bus
