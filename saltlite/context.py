"""All that a function may reach: the minion's and the runners' side.

A built-in function that needs more than its arguments takes one of these first; the registry binds
it. The protocols say what layer 3 may ask of the daemons without importing them: the minion, the
client and the command line hand in what fulfils them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.job_times import JobTimes
from saltlite.core.plain import Plain, PlainMap
from saltlite.core.services import EventSink
from saltlite.errors import FunctionUnavailable
from saltlite.host import Host

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import TypeVar

    from saltlite.config.minion import MinionConfig
    from saltlite.runner_context import RunnerContext

    T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModuleFunctions:
    """The functions of one module, by Salt's names, and how their values are shown."""

    name: str
    path: str
    doc: str | None
    functions: Mapping[str, Callable[..., Any]]
    outputters: Mapping[str, str] = field(default_factory=dict)


class Functions(Protocol):
    """The functions a context can call by name; the registry."""

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call ``mod.fun``; raises FunctionUnavailable."""

    def names(self) -> list[str]:
        """All ``mod.fun`` names, sorted."""

    def doc(self, name: str) -> str | None:
        """The docstring of ``mod.fun``, dedented; ``None`` without one or without the function."""

    def argspec(self, name: str) -> PlainMap:
        """``{"args", "varargs", "kwargs", "defaults"}`` as ``sys.argspec`` shows it."""

    def source(self, module: str) -> ModuleFunctions:
        """A module: its file and documentation; raises FunctionUnavailable."""

    def find_replacement(self, function: Callable[..., Any] | str) -> Callable[..., Any] | None:
        """What users have in the place of one of our functions, without a context to fill in.

        ``None`` if ours is the one to call; raises FunctionUnavailable.
        """

    def reload(self) -> None:
        """Read changed modules again."""


class MasterLink(Protocol):
    """An authenticated way to the master."""

    def request(self, load: PlainMap) -> Plain:
        """One encrypted request (``cmd`` and fields) and its reply; raises RequestTimeout."""


@runtime_checkable
class TwoWays(Protocol):
    """A way to the master that can open another beside it, so that two requests are under way."""

    def beside(self) -> AbstractContextManager[MasterLink]:
        """The other way, for one thread; as the first one it may raise any SaltliteError."""


class MasterView(Protocol):
    """How the masters see this minion; what ``doctor`` asks."""

    def masters(self) -> list[tuple[str, int]]:
        """Name or address and port of each master; raises ConfigError."""

    def sign_in(self, address: str, port: int, timeout_s: float) -> None:
        """Ask to be let in, and keep nothing; raises RequestTimeout, AuthError, CryptoError."""


class JobTable(Protocol):
    """The jobs of this minion that run now."""

    def running(self) -> list[PlainMap]:
        """One map per running job: ``jid fun arg tgt tgt_type ret user pid``."""

    def signal(self, jid: str, number: int) -> str:
        """Send a signal to a job's process; Salt's sentence about it, ``""`` for no such job."""


class NoFunctions:
    """The functions of a context that has none yet."""

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Raise FunctionUnavailable."""
        raise FunctionUnavailable(name)

    def names(self) -> list[str]:
        """No name."""
        return []

    def doc(self, name: str) -> str | None:
        """No documentation."""
        return None

    def argspec(self, name: str) -> PlainMap:
        """Raise FunctionUnavailable."""
        raise FunctionUnavailable(name)

    def source(self, module: str) -> ModuleFunctions:
        """Raise FunctionUnavailable."""
        raise FunctionUnavailable(module)

    def find_replacement(self, function: Callable[..., Any] | str) -> None:
        """Nobody takes the place of ours."""

    def reload(self) -> None:
        """Nothing to read."""


class NoEvents:
    """For contexts without a bus: whatever is fired is gone."""

    def fire(self, tag: str, data: PlainMap) -> None:
        """Drop the event."""


class NoJobs:
    """For contexts without a minion that runs jobs."""

    def running(self) -> list[PlainMap]:
        """No job."""
        return []

    def signal(self, jid: str, number: int) -> str:
        """No such job."""
        return ""


@dataclass(slots=True, kw_only=True)
class MinionContext:
    """What an execution module may reach.

    The registry needs its context and the context its registry: ``functions`` is set last, by
    ``with_functions`` of the registry. ``grains`` and ``pillar`` are mappings that may load on
    first use. ``job`` is the job map of docs/wire.md#publications (empty under ``salt-call``
    without
    a master). ``state`` is Salt's ``__context__``: it lives as long as the process that runs the
    job. ``master`` is ``None`` with ``file_client: local``.
    """

    config: MinionConfig
    host: Host
    grains: PlainMap
    pillar: PlainMap
    functions: Functions = field(default_factory=NoFunctions)
    events: EventSink = field(default_factory=NoEvents)
    jobs: JobTable = field(default_factory=NoJobs)
    master: MasterLink | None = None
    job: PlainMap = field(default_factory=dict)
    state: MutableMapping[str, Any] = field(default_factory=dict)
    refresh_grains: Callable[[], PlainMap] | None = None
    listen: Callable[[str], Any] | None = None
    """Hears events of the minion's bus whose tags begin so: ``get(timeout_s)``, ``close()``."""
    begins: Callable[[str, int, int], None] | None = None
    """Is told which state of a run begins: its function and id, its number, and of how many."""
    tells: Callable[[str], None] | None = None
    """Is told what the command prints that is this job, while it runs; ``None``: nobody asked."""
    pillar_is_fresh: bool = True
    """Whether ``pillar`` was compiled for this call; where not, runs of states compile it anew."""
    master_view: Callable[[], MasterView] | None = None
    """How the masters see this minion; loaded when ``doctor`` asks."""
    times: JobTimes = field(default_factory=JobTimes)
    """When this job was where; told to the master with what it returns."""
    master_side: RunnerContext | None = None
    """The runner for which functions and states run on the master itself; else ``None``."""

    @property
    def jid(self) -> str:
        """The id of the job; empty where this is none."""
        return str(self.job.get("jid", ""))

    @property
    def retcode(self) -> Any:
        """The job's exit code; kept in ``__context__``, where custom functions set it too."""
        return self.state.get("retcode", 0)

    @retcode.setter
    def retcode(self, retcode: object) -> None:
        self.state["retcode"] = retcode

    def follow(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Call an execution module's function, or what a user's module has in its place.

        As states do in Salt, which call all functions by their names. Raises FunctionUnavailable
        if the user's module takes the place of ours and has no such function.
        """
        replacement = self.functions.find_replacement(function)
        if replacement is None:
            return function(self, *args, **kwargs)
        result: T = replacement(*args, **kwargs)  # of what it gives there is only the user's word
        return result


@dataclass(slots=True)
class BeaconContext:
    """What a beacon may reach: the minion, and what it keeps from one run to the next.

    ``name`` is that of the configured beacon, of which several may share one module; ``now_s``
    is a monotonic clock, in seconds.
    """

    minion: MinionContext
    name: str
    now_s: Callable[[], float]
    kept: dict[str, Any] = field(default_factory=dict)
