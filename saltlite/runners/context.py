"""All that a runner may reach. Layer 4 and the commands hand in what fulfils these protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from saltlite.config.master import MasterConfig
from saltlite.context import EventSink, LocalCommands


class Job(Protocol):
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

    def job(self, jid: str) -> Job | None:
        """One job, ``None`` if it is not known."""

    def returns(self, jid: str) -> Mapping[str, Mapping[str, Any]]:
        """Minion id → ``return``, ``retcode``, ``success``, ``out``."""

    def search(
        self,
        *,
        fun: str = "",
        tgt: str = "",
        since: str = "",
        until: str = "",
        metadata: Mapping[str, str] | None = None,
        limit: int = 0,
        newest_first: bool = False,
    ) -> Iterator[Job]:
        """The jobs that fit, oldest first unless asked otherwise; globs in ``fun`` and ``tgt``."""

    def record(
        self, jid: str, load: Mapping[str, Any], minion: str, ret: Mapping[str, Any]
    ) -> None:
        """Keep a job that is done already, with its one return."""


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


@dataclass(slots=True)
class RunnerContext:
    """What a runner may reach.

    ``listen`` hears events whose tags begin with the text it is given; ``accepted`` names the
    minions with accepted keys, ``connected`` those with a connection to the publish port; ``write``
    prints a line at once.
    """

    config: MasterConfig
    jobs: Jobs
    events: EventSink
    local: LocalCommands
    listen: Callable[[str], Listener]
    accepted: Callable[[], list[str]]
    connected: Callable[[], frozenset[str]]
    expected: Callable[[str | list[str], str], list[str]]
    write: Callable[[str], None]
