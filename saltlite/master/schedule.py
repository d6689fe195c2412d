"""The master's schedule: runners at times that ``schedule:`` in its configuration says.

When each is due is decided by :mod:`saltlite.core.planner`, as on minions. A RunServer of its own
forks a process for each run, so it knows which of them still run, and ends them with the master.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Final

from saltlite.config.master import MasterConfig
from saltlite.core.ids import valid_function
from saltlite.core.planner import Planner
from saltlite.core.schedule import stamp_metadata
from saltlite.master.run_requests import RunRequest

log = logging.getLogger(__name__)

USER: Final = "Schedule"
"""Who runs the jobs of the schedule."""

NOTHING_DUE_S: Final = 60.0


def local_now() -> datetime:
    """Now, with the offset of this place."""
    return datetime.now().astimezone()


class MasterSchedule:
    """What is to be run, and when; see :class:`~saltlite.master.runs.RunSource`."""

    def __init__(
        self,
        config: MasterConfig,
        next_jid: Callable[[datetime], str],
        *,
        clock: Callable[[], datetime] = local_now,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """``next_jid`` gives the id of a run that begins at a time in UTC."""
        self._config = config
        self._next_jid = next_jid
        self._due: list[RunRequest] = []
        self._running: Sequence[RunRequest] = ()
        self._planner = Planner(self, config.schedule.schedule, clock=clock, random=chance)

    def due(self, running: Sequence[RunRequest]) -> list[RunRequest]:
        """What is to be run now."""
        self._running, self._due = running, []
        # Calls run_scheduled and running_of back, which work on the two lists.
        self._planner.run_due()
        return self._due

    def wait_s(self) -> float:
        """Seconds until something is due, or the clock is to be looked at."""
        wait_s = self._planner.patience_s()
        return NOTHING_DUE_S if wait_s is None else wait_s

    def run_scheduled(self, name: str, entry: Mapping[str, object]) -> None:
        """See :class:`~saltlite.core.planner.ScheduleOwner`."""
        for fun in _as_list(entry["function"]):
            if valid_function(fun):
                self._due.append(self._request(name, str(fun), entry))
            else:
                log.error("schedule job %s: %.80r is not the name of a runner", name, fun)

    def running_of(self, name: str) -> int:
        """See :class:`~saltlite.core.planner.ScheduleOwner`."""
        # What has become due just now is not started yet, and counts as well.
        both = (*self._running, *self._due)
        return sum(one.schedule.get("name") == name for one in both)

    def _request(self, name: str, fun: str, entry: Mapping[str, object]) -> RunRequest:
        kwarg = entry.get("kwargs")
        told: dict[str, Any] = {
            "name": name,
            "returners": self._returners(entry),
            "return_job": bool(entry.get("return_job", True)),
        }
        metadata = entry.get("metadata")
        if isinstance(metadata, Mapping):
            told["metadata"] = stamp_metadata(metadata, self._planner.now())
        # In a schedule Salt spells these options otherwise than in a job.
        told |= {
            field: entry[option]
            for option, field in (("return_config", "ret_config"), ("return_kwargs", "ret_kwargs"))
            if option in entry
        }
        return RunRequest(
            kind="runner",
            fun=fun,
            jid=self._next_jid(datetime.now(timezone.utc)),
            user=USER,
            arg=_as_list(entry.get("args")),
            kwarg=dict(kwarg) if isinstance(kwarg, Mapping) else {},
            schedule=told,
        )

    def _returners(self, entry: Mapping[str, object]) -> list[str]:
        named = [*_as_list(entry.get("returner")), self._config.schedule.schedule_returner]
        return [str(one) for one in dict.fromkeys(named) if one]


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
