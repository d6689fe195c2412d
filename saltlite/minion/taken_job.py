"""A job that a minion has taken: published, of its schedule, or of ``startup_states``.

A job map comes in and is read once; what the minion itself asks of it are fields. The map stays,
since functions with ``**kwargs``, returners and executors of users see Salt's map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields

UNASKED = "unasked"
"""In a job map: nobody published it, so the master gives its return a job id."""

UNRETURNED = "unreturned"
"""In a job map: no master is to hear of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenJob:
    """One job. ``schedule`` is the name of the entry that started it, ``None`` for none.

    ``pid`` is the process that ran it, where that is not the one that returns for it. ``master`` is
    the one that was noted with it on disk.
    """

    fields: Mapping[str, Any]
    jid: str = ""
    fun: str | list[str] = ""
    arg: list[Any] | None = None
    ret: object = None
    schedule: str | None = None
    module_executors: object = None
    pid: int | None = None
    master: str = ""
    unasked: bool = False
    unreturned: bool = False

    @classmethod
    def of(cls, job: Mapping[str, Any]) -> TakenJob:
        """Of a job map as docs/wire.md#publications has it, of disk or from the loop."""
        return read_fields(cls, {**job, "fields": job})

    @property
    def arguments(self) -> list[Any]:
        """A copy of what the functions are given."""
        return list(self.arg or ())

    @property
    def functions(self) -> list[str]:
        """The names of all of them."""
        return [self.fun] if isinstance(self.fun, str) else [str(name) for name in self.fun]


NO_JOB = TakenJob(fields={})
"""Where functions run that nobody has sent a job for: those of the mine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What the loop tells a process first: its task, and the facts that its functions see.

    ``functions`` are of the mine, ``jids`` and ``spools`` of returns that wait.
    """

    task: str
    fields: Mapping[str, Any]
    master: str = ""
    job: Mapping[str, Any] = field(default_factory=dict)
    grains: dict[str, Any] = field(default_factory=dict)
    pillar: dict[str, Any] = field(default_factory=dict)
    refresh: bool = False
    functions: Mapping[str, Any] = field(default_factory=dict)
    jids: Sequence[str] = ()
    spools: Sequence[str] = ()
    received_us: int = 0
    """When the job came from its master."""

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Start:
        """Of the first message on a pipe."""
        return read_fields(cls, {**message, "fields": message})
