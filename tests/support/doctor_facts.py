"""What the checks of ``doctor`` are given, made of an ordinary configuration in a directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from saltlite.config.load import load_master, load_minion
from saltlite.doctor.finding import Finding
from saltlite.doctor.machine import Lookup, Machine, ProcessFacts, name_user
from saltlite.doctor.master.facts import MasterFacts
from saltlite.doctor.minion.facts import MinionFacts


class FakeMachine(Machine):
    """A machine of which a test says what it is like; files are the real ones."""

    def __init__(
        self,
        *,
        listening: Iterable[int] = (),
        refusing: Mapping[int, str] | None = None,
        daemon: int | None = None,
        names: Mapping[str, Lookup] | None = None,
        now_s: float | None = None,
        below: Sequence[ProcessFacts] = (),
        limit: int | None = None,
        own_name: tuple[str, float] = ("m1.example.com", 0.0),
        clock_kept: bool | None = True,
        listener: ProcessFacts | None = None,
    ) -> None:
        self.listening = set(listening)
        self.refusing = dict(refusing or {})
        self.daemon = daemon
        self.names = dict(names or {})
        self.fixed_now_s = now_s
        self.below = list(below)
        self.limit = limit
        self.name = own_name
        self.clock_kept = clock_kept
        self.process = listener

    def listens(self, port: int) -> bool:
        return port in self.listening

    def listener(self, port: int) -> ProcessFacts | None:
        return self.process

    def connect(self, address: str, port: int) -> str:
        return self.refusing.get(port, "")

    def lock_holder(self, path: str) -> int | None:
        return self.daemon

    def resolve(self, name: str) -> Lookup:
        return self.names.get(name, Lookup((name,), "", 0.0))

    def processes_below(self, pid: int) -> list[ProcessFacts]:
        return self.below

    def file_limit(self, pid: int) -> int | None:
        return self.limit

    def own_name(self) -> tuple[str, float]:
        return self.name

    def is_clock_kept(self) -> bool | None:
        return self.clock_kept

    def now_s(self) -> float:
        return super().now_s() if self.fixed_now_s is None else self.fixed_now_s


@dataclass
class FakeCache:
    """The master's cache of grains and pillar: bank → id → data, and when it was stored."""

    banks: dict[str, dict[str, Any]] = field(default_factory=dict)
    stored_s: dict[str, float] = field(default_factory=dict)

    def fetch(self, bank: str, key: str) -> Any:
        return self.banks.get(bank, {}).get(key)

    def list(self, bank: str) -> list[str]:
        return sorted(self.banks.get(bank, {}))

    def mtime_s(self, bank: str, key: str) -> float | None:
        return self.stored_s.get(key)


@dataclass
class FakeKeys:
    """A key directory: state → id → PEM text."""

    states: dict[str, dict[str, str]] = field(default_factory=dict)

    def list(self, state: str) -> list[str]:
        return sorted(self.states.get(state, {}))

    def key(self, minion_id: str, state: str) -> str | None:
        return self.states.get(state, {}).get(minion_id)


def write_options(directory: Path, name: str, options: Mapping[str, Any]) -> Path:
    """An ordinary configuration file with everything below its directory."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    own_name = name_user(os.geteuid())  # who has what a test writes
    path.write_text(yaml.safe_dump({"root_dir": str(directory), "user": own_name, **options}))
    path.chmod(0o600)
    return path


def master_facts(
    directory: Path,
    machine: Machine | None = None,
    *,
    keys: Mapping[str, Mapping[str, str]] | None = None,
    cache: FakeCache | None = None,
    connected: Mapping[str, str] | None = None,
    ask: str = "",
    local: Any = None,
    cluster: Any = None,
    **options: Any,
) -> MasterFacts:
    """The facts of a master with these options."""
    write_options(directory, "master", options)
    config = load_master(directory, environ={})
    stored = FakeKeys({state: dict(ids) for state, ids in (keys or {}).items()})
    ctx = SimpleNamespace(
        config=config,
        keys=stored,
        cache=cache or FakeCache(),
        accepted=lambda: stored.list("minions"),
        connected=lambda: dict(connected or {}),
        expected=lambda _tgt, _kind: stored.list("minions"),
        local=local,
        cluster=None if cluster is None else lambda: cluster,
    )
    return MasterFacts(config, ctx, machine or FakeMachine(daemon=1), ask)  # type: ignore[arg-type]


class FakeView:
    """Masters as a minion sees them; ``answer`` is raised, if it is an exception."""

    def __init__(
        self,
        masters: Sequence[tuple[str, int]] = (("salt", 4506),),
        answer: Exception | None = None,
    ) -> None:
        self._masters = list(masters)
        self._answer = answer

    def masters(self) -> list[tuple[str, int]]:
        return self._masters

    def sign_in(self, address: str, port: int, timeout_s: float) -> None:
        if self._answer is not None:
            raise self._answer


def minion_facts(
    directory: Path,
    machine: Machine | None = None,
    *,
    view: Any = None,
    pillar: Mapping[str, Any] | None = None,
    **options: Any,
) -> MinionFacts:
    """The facts of a minion with these options."""
    given = {name: one for name, one in {"id": "m1", **options}.items() if one is not None}
    write_options(directory, "minion", given)
    config = load_minion(directory, environ={}, cache_id=False)
    return MinionFacts(config, view, pillar or {}, machine or FakeMachine(daemon=1))


def show(findings: Iterable[Finding]) -> list[tuple[str, str, str, str]]:
    """Findings as tuples of texts."""
    return [(one.severity.name.lower(), one.what, one.where, one.mend) for one in findings]
