"""All that a function may reach: the minion's and the runners' side.

A built-in function that needs more than its arguments takes one of these first; the registry binds
it. The protocols say what layer 3 may ask of the daemons without importing them: the minion, the
client and the command line hand in what fulfils them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from saltlite.config.minion import MinionConfig
from saltlite.core.plain import Plain, PlainMap
from saltlite.host import Host


class Functions(Protocol):
    """The functions a context can call by name; the registry."""

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call ``mod.fun``; raises FunctionUnavailable."""

    def names(self) -> list[str]:
        """All ``mod.fun`` names, sorted."""

    def doc(self, name: str) -> str | None:
        """The docstring of ``mod.fun``, dedented; ``None`` without one or without the function."""

    def argspec(self, name: str) -> PlainMap:
        """``{"args", "varargs", "kwargs", "defaults"}`` as ``sys.argspec`` shows it."""


class EventSink(Protocol):
    """Where events go: the minion's own bus, or the master's."""

    def fire(self, tag: str, data: PlainMap) -> None:
        """Put one event on the bus; ``_stamp`` is added."""


class MasterLink(Protocol):
    """An authenticated way to the master."""

    def request(self, load: PlainMap) -> Plain:
        """One encrypted request (``cmd`` and fields) and its reply; raises RequestTimeout."""


class JobTable(Protocol):
    """The jobs of this minion that run now."""

    def running(self) -> list[PlainMap]:
        """One map per running job: ``jid fun arg tgt tgt_type ret user pid``."""

    def signal(self, jid: str, number: int) -> str:
        """Send a signal to a job's process; Salt's sentence about it, ``""`` for no such job."""


@dataclass(slots=True)
class MinionContext:
    """What an execution module may reach.

    ``grains`` and ``pillar`` are mappings that may load on first use. ``job`` is the job map of
    protocol.md 10.3 (empty under ``salt-call`` without a master). ``state`` is Salt's
    ``__context__``: it lives as long as the process that runs the job; ``state["retcode"]`` is the
    job's exit code. ``master`` is ``None`` with ``file_client: local``.
    """

    config: MinionConfig
    host: Host
    grains: PlainMap
    pillar: PlainMap
    functions: Functions
    events: EventSink
    jobs: JobTable
    master: MasterLink | None = None
    job: PlainMap = field(default_factory=dict)
    state: MutableMapping[str, Any] = field(default_factory=dict)
    refresh_grains: Callable[[], PlainMap] | None = None


class LocalCommands(Protocol):
    """What runners need of LocalClient."""

    def cmd(self, tgt: str | list[str], fun: str, arg: Iterable[Plain] = (), **kwargs: Any) -> PlainMap:
        """Publish, wait, and give back ``{minion id: return}``."""


