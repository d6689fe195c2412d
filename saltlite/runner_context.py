"""All that a runner may reach. Layer 4 and the commands hand in what fulfils these protocols."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from saltlite.config.master import MasterConfig
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.job_query import JobQuery
from saltlite.core.services import EventSink, LocalCommands
from saltlite.errors import FunctionError

if TYPE_CHECKING:
    from saltlite.core.state_reports import ReportQuery, StateRow, StateRun


class PublishedJob(Protocol):
    """One published job."""

    @property
    def jid(self) -> str:
        """Its id."""

    @property
    def load(self) -> Mapping[str, Any]:
        """What was published: ``fun``, ``arg``, ``tgt``, ``tgt_type``, ``user``, ``kwargs``."""

    @property
    def minions(self) -> Sequence[str]:
        """Who is expected to return."""


class Jobs(Protocol):
    """The job store."""

    def job(self, jid: str) -> PublishedJob | None:
        """One job, ``None`` if it is not known."""

    def returns(self, jid: str) -> Mapping[str, Mapping[str, Any]]:
        """Minion id → ``return``, ``retcode``, ``success``, ``out``."""

    def search(self, query: JobQuery) -> Iterator[PublishedJob]:
        """The jobs that fit, oldest first unless asked otherwise."""

    def returns_of(
        self, minion: str, *, since: str = ""
    ) -> Iterator[tuple[PublishedJob, Mapping[str, Any]]]:
        """The jobs that a minion returned, newest first, each with what it returned."""

    def record(
        self, jid: str, load: Mapping[str, object], minion: str, ret: Mapping[str, object]
    ) -> None:
        """Keep a job that is done already, with its one return."""


class StoredKeys(Protocol):
    """The key directory. States are named as Salt's folders: ``minions``, ``minions_pre``."""

    def list(self, state: str) -> list[str]:
        """The ids in a state, sorted."""

    def key(self, minion_id: str, state: str) -> str | None:
        """The key's PEM text."""

    def accept(self, minion_id: str, state: str) -> bool:
        """Accept a key that is in ``state``; ``False`` if it is gone, CryptoError if it is none."""

    def reject(self, minion_id: str, state: str) -> bool:
        """Reject a key that is in ``state``; ``False`` if it is gone."""

    def delete(self, minion_id: str, state: str) -> bool:
        """Forget a key that is in ``state``; ``False`` if it is gone."""


class KeyMaterial(Protocol):
    """Keys themselves: shown, made, and put in."""

    def local(self) -> Mapping[str, str]:
        """The master's own key files: name → PEM text, ``""`` for the private one."""

    def fingerprint(self, pem: str, hash_type: str) -> str:
        """A key's fingerprint, hexadecimal with colons."""

    def generate(self, bits: int) -> tuple[str, str]:
        """A new pair: private and public PEM."""

    def admit(self, minion_id: str, pem: str, *, replace: bool) -> bool:
        """Accept this public key for a minion; ``False`` if it has one that may not go."""


class Cache(Protocol):
    """The master's data cache: banks (``grains``, ``pillar``, ``mine``, others) with keys."""

    def fetch(self, bank: str, key: str) -> Any:
        """What is kept, ``None`` for nothing; raises ValueError for a name that may not be."""

    def store(self, bank: str, key: str, data: object) -> None:
        """Replace what is kept; raises ValueError, StoreError."""

    def drop(self, bank: str, key: str, name: str) -> None:
        """Take one entry out of a map, in one step."""

    def flush(self, bank: str, key: str | None = None) -> bool:
        """Forget one key of a bank, or all of them."""

    def list(self, bank: str) -> list[str]:
        """The keys of a bank, sorted."""

    def mtime_s(self, bank: str, key: str) -> float | None:
        """When it was stored (seconds since the epoch), ``None`` for nothing."""


class BusEvent(Protocol):
    """One event."""

    @property
    def tag(self) -> str:
        """Its tag."""

    @property
    def data(self) -> Mapping[str, Any]:
        """Its map."""


class Listener(Protocol):
    """Hears events."""

    def get(self, timeout_s: float) -> BusEvent | None:
        """The next event, ``None`` if none comes in time."""

    def close(self) -> None:
        """Stop listening."""


class ReactorAccess(Protocol):
    """What may be asked about reactions; it knows the files, and the master that runs."""

    def test(self, tag: str, data: Mapping[str, object]) -> dict[str, Any]:
        """What an event would cause; nothing is done."""

    def check(self) -> dict[str, Any]:
        """What is wrong with the entries and their files."""

    def ask(self, what: str, data: Mapping[str, object]) -> Mapping[str, Any]:
        """The running reactor's answer to a management event; raises SaltliteError for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHealth:
    """What ``doctor`` is told of a cluster.

    ``away`` says why the server cannot be used, ``""`` if it can; without it nothing below is
    known. ``silent`` are nodes of whom nothing is heard, with the seconds since; ``apart_s`` is how
    far this machine's clock is ahead of the server's.
    """

    place: str
    waiting: int = 0
    away: str = ""
    silent: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    keeps_house: str = ""
    apart_s: float = 0.0
    standbys: int = 0
    is_synchronous: bool = False


class ClusterAccess(Protocol):
    """The cluster that this master belongs to; each call raises SaltliteError."""

    def join(self, *, owner_dsn: str, role: str, make_key: bool) -> dict[str, Any]:
        """Make what is missing, and check that this master may be a node."""

    def status(self) -> dict[str, Any]:
        """The nodes."""

    def examine(self) -> ClusterHealth:
        """What is wrong with it; a server that is away is told, not raised."""

    def leave(self, node: str) -> bool:
        """Forget a node; ``False`` if there was none of that name."""


class Reports(Protocol):
    """What runs of states have done."""

    def list_rows(self, query: ReportQuery) -> list[tuple[StateRun, StateRow]]:
        """The notable states that fit, each with its run (whose ``rows`` are not read)."""

    def read_runs(self, query: ReportQuery) -> Iterator[StateRun]:
        """Whole runs, of each minion the oldest first; only times and minions restrict them."""


def no_reports() -> Reports:
    """For contexts without a master's stores: raise FunctionError."""
    raise FunctionError("there are no reports here")


def no_runs(
    kind: str, fun: str, _arg: Sequence[object], _kwarg: Mapping[str, object], /
) -> dict[str, Any]:
    """For contexts that run nothing: raise FunctionError."""
    raise FunctionError(f"{kind} function {fun} cannot be run from here")


@dataclass(slots=True)
class RunnerContext:
    """What a runner may reach.

    ``listen`` hears events whose tags begin with the text it is given; ``accepted`` names the
    minions with accepted keys, ``connected`` those with a connection to the publish port and the
    address they come from; ``expected`` those a target means, ``cached`` only those of whom the
    master has the data to say so; ``write`` prints a line at once. ``user`` is who asked. ``jid``
    is the run's own.
    """

    config: MasterConfig
    jobs: Jobs
    keys: StoredKeys
    key_material: KeyMaterial
    cache: Cache
    events: EventSink
    local: LocalCommands
    listen: Callable[[str], Listener]
    accepted: Callable[[], list[str]]
    connected: Callable[[], Mapping[str, str]]
    expected: Callable[[str | list[str], str], list[str]]
    cached: Callable[[str | list[str], str], list[str]]
    write: Callable[[str], None]
    user: str = "root"
    jid: str = ""
    functions: Any = None
    """What users' runners find in ``__salt__``; set by whoever runs them."""
    reactor: Callable[[], ReactorAccess] | None = None
    """What the functions of ``reactor`` ask; loaded when one of them is called."""
    cluster: Callable[[], ClusterAccess] | None = None
    """What the functions of ``cluster`` ask; loaded when one of them is called."""
    reports: Callable[[], Reports] = no_reports
    """What the functions of ``changes`` ask; loaded when one of them is called."""
    run: Callable[[str, str, Sequence[Any], Mapping[str, Any]], dict[str, Any]] = no_runs
    """Run another ``runner`` or ``wheel`` function as a job of its own: kind, name, arguments."""
    forget_token: Callable[[str], bool] = lambda _token: False
    """Remove a token of external authentication; whether there was one."""
    state: dict[str, Any] = field(default_factory=dict)
    """Salt's ``__context__``; ``state["retcode"]`` is what a runner's own code says of its end."""
    pid: int = field(default_factory=os.getpid)
    """The process whose sockets these are."""
