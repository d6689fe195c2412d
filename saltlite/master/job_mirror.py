"""Jobs and returns, given to a returner as well: ``master_job_cache``, ``ext_job_cache``.

The master's own store stays what everything is decided by: who was asked, which return was the
first. A returner gets copies, after that; where it fails, a line in the log says so and nothing
else is lost. What goes to a server goes to a file first, and from there by ReturnWriter. With
``ext_job_cache`` minions give their returns to it themselves, so the master only gives it the jobs,
and keeps no returns.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.config.master import EventOptions, MasterConfig
from saltlite.core.dataclasses import dataclass, field
from saltlite.jobs.stored import OWN

if TYPE_CHECKING:
    from saltlite.loader.returners import Returner

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Given:
    """What a returner may reach on the master: options, and nothing that could publish."""

    config: MasterConfig
    functions: Any = None
    writes_later: bool = True
    """What goes to a server waits on disk: no request waits for a server."""
    _servers: dict[str, Returner] = field(default_factory=dict, init=False)

    def returner(self, name: str) -> Returner:
        """Return the returner of a name; one of a server is the same each time, its file open.

        Raises:
            FunctionUnavailable: there is none.
        """
        from saltlite.loader.returners import resolve

        found = resolve(name, self)  # each time: a user's own may have come since
        return found if found.server is None else self._servers.setdefault(name, found)


def event_returners(options: EventOptions) -> list[str]:
    """Return the returners that ``event_return`` names, by a text with commas or a list."""
    named = options.event_return
    words = named.split(",") if isinstance(named, str) else named or ()
    return [word for one in words if (word := str(one).strip())]


class JobMirror:
    """The returner of one worker, found when it is needed first."""

    def __init__(self, config: MasterConfig) -> None:
        jobs = config.jobs
        self._loads = [
            name for name in (jobs.ext_job_cache, jobs.master_job_cache) if name not in OWN
        ]
        # With ext_job_cache the returns come to the returner from the minions.
        own_returns = not jobs.ext_job_cache and jobs.job_cache
        self._returns = [name for name in self._loads if own_returns]
        self._given = Given(config)

    def job(self, jid: str, load: Mapping[str, object], minions: Sequence[str]) -> None:
        """A job was published."""
        for name in self._loads:
            self._call_returner(
                name, "save_load", jid, {**load, "Minions": list(minions)}, list(minions)
            )

    def note_return(self, load: Mapping[str, object]) -> None:
        """A return has been recorded, the first of its minion."""
        for name in self._returns:
            self._call_returner(name, "returner", dict(load))

    def _call_returner(self, name: str, function: str, *args: Any) -> None:
        try:
            returner = self._given.returner(name)
            # Many returners take returns only, and know of no save_load.
            if returner.can(function):
                returner.call(function, *args)
        # It is in the master's own store by now: a returner must not fail the request.
        except Exception:
            log.exception("The returner %s failed at %s", name, function)
