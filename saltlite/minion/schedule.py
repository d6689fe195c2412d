"""The jobs that a minion runs by itself, at times that its schedule says.

Entries come from the configuration (with ``minion.d/_schedule.conf``, which is written here), from
the pillar, and from ``manage_schedule`` events of the minion's bus, which are answered there. When
each is due is decided in :mod:`saltlite.core.schedule`; here is the waiting, and what is running.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, Protocol

from saltlite.config.minion import PathOptions
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields, require
from saltlite.core.jid import new_jid
from saltlite.core.plain import PlainMap
from saltlite.core.planner import Planner, ScheduleOwner, is_internal
from saltlite.core.schedule import TIME_FORMAT, next_fire, stamp_metadata
from saltlite.disk import make_dir, write_file
from saltlite.errors import StoreError
from saltlite.loader.arguments import KWARG
from saltlite.minion.taken_job import UNASKED, UNRETURNED
from saltlite.minion.tasks import wait_until_set

log = logging.getLogger(__name__)

ANSWERS: Final = "/salt/minion/minion_schedule_"


def local_now() -> datetime:
    """Now, with the offset of this place."""
    return datetime.now().astimezone()


def schedule_file(paths: PathOptions) -> Path:
    """Where changes of the schedule are kept: beside the files of ``default_include``."""
    include = os.path.dirname(paths.default_include or "minion.d/*.conf")
    return Path(os.path.dirname(paths.conf_file), include, "_schedule.conf")


def build_job(
    name: str, entry: Mapping[str, Any], minion_id: str, returner: Any = None
) -> dict[str, Any]:
    """The job map of one run. Source: returns observed on Salt 3006.30.

    ``returner`` is ``schedule_returner``, which gets what all jobs return.
    """
    job_entry = read_fields(JobEntry, entry)
    kwargs = job_entry.kwargs
    asked = (*_as_list(job_entry.returner), *_as_list(returner))
    returners = [str(one) for one in asked if one]
    job: dict[str, Any] = {
        "jid": new_jid(datetime.now(timezone.utc), None),
        "fun": job_entry.function,
        "arg": [*_as_list(job_entry.args)],
        "tgt": minion_id,
        "tgt_type": "glob",
        # Each once: the same returner may be the job's and ``schedule_returner``.
        "ret": ",".join(dict.fromkeys(returners)),
        "schedule": name,
    }
    if isinstance(kwargs, Mapping) and kwargs:
        job["arg"].append({**kwargs, KWARG: True})
    for option, field in (("return_config", "ret_config"), ("return_kwargs", "ret_kwargs")):
        if option in entry:
            job[field] = entry[option]
    if isinstance(job_entry.metadata, Mapping):
        # Now, not when the entry was read: the stamp is of this run.
        job["metadata"] = stamp_metadata(job_entry.metadata, local_now())
    if not job_entry.return_job:
        job[UNRETURNED] = True
    # As Salt: a job with a returner keeps its jid in the return, any other is given one.
    elif not job["ret"]:
        job[UNASKED] = True
    return job


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManageSchedule:
    """A ``manage_schedule`` event; ``None`` is what it does not say."""

    func: object = None
    name: object = None
    schedule: object = None
    time: object = None
    new_time: object = None
    time_fmt: str | None = None
    where: str | None = None
    persist: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEntry:
    """What an entry of the schedule says of the job itself, not of its times."""

    function: str
    args: Any = None
    kwargs: object = None
    returner: Any = None
    return_job: bool = True
    metadata: object = None


class MinionSchedule(ScheduleOwner, Protocol):
    """What a scheduler needs of its minion."""

    def fire(self, tag: str, data: PlainMap) -> None:
        """Put an event on the minion's own bus."""


class Scheduler:
    """The schedule of one minion."""

    def __init__(
        self,
        owner: MinionSchedule,
        configured: Mapping[str, Any],
        path: Path,
        *,
        clock: Callable[[], datetime],
        random: Callable[[], float],
    ) -> None:
        """``path`` is the file that keeps changes; ``clock`` gives points in time."""
        self._owner = owner
        self._path = path
        self._transient: set[str] = set()
        self._planner = Planner(owner, configured, clock=clock, random=random)
        self._changed = asyncio.Event()

    # --- waiting ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Start jobs when they are due, until cancelled."""
        while True:
            self.run_due()
            # Nothing is awaited between the two, so a change in between is not overlooked.
            self._changed.clear()
            await wait_until_set(self._changed, self._planner.patience_s())

    def set_facts(self, pillar: Mapping[str, Any], grains: Mapping[str, Any]) -> None:
        """Take what pillar and grains say of schedules."""
        self._planner.set_facts(pillar, grains)
        self._changed.set()

    def run_due(self) -> None:
        """Start what is due now."""
        self._planner.run_due()

    # --- changes ------------------------------------------------------------------------------

    def manage(self, data: Mapping[str, Any]) -> None:
        """Do what a ``manage_schedule`` event asks for, and answer on the bus."""
        asked = read_fields(ManageSchedule, data)
        ask = self._asks().get(str(asked.func))
        if ask is None:
            log.warning("manage_schedule: there is no %.80r", asked.func)
            return
        answer_tag, do = ask
        try:
            answer = do(asked) or {"schedule": self._planner.own}
        except (StoreError, KeyError, TypeError, ValueError) as error:
            log.error("manage_schedule %s: %s", asked.func, error)
            answer = {"error": str(error)}
        # After an error too: some of several entries may have been taken before it.
        self._planner.plan()
        self._changed.set()
        if answer_tag:
            self._owner.fire(ANSWERS + answer_tag, {"complete": "error" not in answer, **answer})

    def _asks(
        self,
    ) -> dict[str, tuple[str, Callable[[ManageSchedule], dict[str, Any] | None]]]:
        """What may be asked, and how its answer's tag ends."""
        return {
            "add": ("add_complete", self._add),
            "modify": ("modify_complete", self._add),
            "delete": ("delete_complete", self._delete),
            "enable": ("enabled_complete", self._switch),
            "disable": ("disabled_complete", self._switch),
            "enable_job": ("enabled_job_complete", self._switch_job),
            "disable_job": ("disabled_job_complete", self._switch_job),
            "run_job": ("", self._run_job),
            "skip_job": ("skip_job_complete", self._skip_job),
            "postpone_job": ("postpone_job_complete", self._postpone_job),
            "reload": ("reload_complete", self._reload),
            "save_schedule": ("saved", self._save_all),
            "list": ("list_complete", self._list),
            "get_next_fire_time": ("next_fire_time_complete", self._next_fire_time),
            "job_status": ("job_status_complete", self._job_status),
        }

    def _add(self, asked: ManageSchedule) -> None:
        # All entries are looked at before the first one is taken.
        given = _map_of(require(asked.schedule, "schedule"), "schedule")
        for name, entry in {name: _map_of(given[name], str(name)) for name in given}.items():
            self._planner.own[self._own_name(name)] = entry
            self._keep(name, asked)

    def _delete(self, asked: ManageSchedule) -> None:
        name = self._own_name(require(asked.name, "name"))
        self._planner.own.pop(name, None)
        self._keep(name, asked)

    def _own_name(self, given: object) -> str:
        """The name of an entry that is to be changed; raises ValueError if it cannot be."""
        name = str(given)
        if is_internal(name):
            raise ValueError(f"{name} is a name of Salt's own")
        if name in self._planner.pillar:
            raise ValueError(f"job {name} is the pillar's: it is changed there")
        return name

    def _switch(self, asked: ManageSchedule) -> None:
        self._planner.own["enabled"] = asked.func == "enable"
        # The pillar counts before our own: its word gives way until the pillar comes again.
        self._planner.pillar.pop("enabled", None)
        self._keep("enabled", asked)

    def _switch_job(self, asked: ManageSchedule) -> None:
        name = self._own_name(require(asked.name, "name"))
        self._planner.own[name] = {
            **self._planner.own[name],
            "enabled": asked.func == "enable_job",
        }
        self._keep(name, asked)

    def _run_job(self, asked: ManageSchedule) -> None:
        name = str(require(asked.name, "name"))
        self._owner.run_scheduled(name, self._planner.entries()[name])

    def _skip_job(self, asked: ManageSchedule) -> None:
        self._add_times(
            self._own_name(require(asked.name, "name")),
            {"skip_explicit": require(asked.time, "time")},
            asked,
        )

    def _postpone_job(self, asked: ManageSchedule) -> None:
        times = {
            "skip_explicit": require(asked.time, "time"),
            "run_explicit": require(asked.new_time, "new_time"),
        }
        self._add_times(self._own_name(require(asked.name, "name")), times, asked)

    def _add_times(self, name: str, times: Mapping[str, Any], asked: ManageSchedule) -> None:
        """Note times at which an entry runs or does not; its next time stays what it was."""
        entry, fmt = self._planner.entries()[name], asked.time_fmt or TIME_FORMAT
        added = {
            option: [*(entry.get(option) or []), {"time": time, "time_fmt": fmt}]
            for option, time in times.items()
        }
        # Before anything is changed: a time that cannot be read must not be kept.
        timing = self._planner.timing(name, {**entry, **added})
        self._planner.own[name] = {**self._planner.own[name], **added}
        planned = self._planner.planned[name]
        # Changed in place: for ``plan`` the entry is then as before, and keeps its next time.
        planned.entry, planned.timing = self._planner.entries()[name], timing
        due = next_fire(timing, self._planner.now(), None)
        if due is not None and (planned.due is None or due < planned.due):
            # Only to an earlier time: what was planned still holds.
            planned.base = planned.due = due

    def _reload(self, asked: ManageSchedule) -> None:
        schedule = _map_of(asked.schedule or {}, "schedule")
        # The contents of the file, or of its only key.
        self._planner.own = _map_of(schedule.get("schedule", schedule), "schedule")

    def _list(self, asked: ManageSchedule) -> dict[str, Any]:
        where = asked.where
        names = {"opts": self._planner.own, "pillar": self._planner.pillar}.get(where or "")
        found: dict[str, Any] = {
            name: entry
            for name, entry in self._planner.entries().items()
            if names is None or name in names
        }
        everything = {**self._planner.own, **self._planner.pillar}
        return {"schedule": found | {k: everything[k] for k in ("enabled",) if k in everything}}

    def _next_fire_time(self, asked: ManageSchedule) -> dict[str, Any]:
        planned = self._planner.planned.get(str(require(asked.name, "name")))
        due = planned.due if planned is not None else None
        return {"next_fire_time": None if due is None else due.strftime(TIME_FORMAT)}

    def _job_status(self, asked: ManageSchedule) -> dict[str, Any]:
        planned = self._planner.planned.get(str(require(asked.name, "name")))
        if planned is None:
            return {"data": {}}
        status: dict[str, Any] = dict(planned.entry)
        if planned.base is not None and planned.due is not None:
            status["_next_scheduled_fire_time"] = planned.base.strftime(TIME_FORMAT)
            status["_next_fire_time"] = planned.due.strftime(TIME_FORMAT)
        if planned.skipped is not None:
            reason, at = planned.skipped
            status |= {"_skip_reason": reason, "_skipped_time": at.strftime(TIME_FORMAT)}
        return {"data": status}

    # --- the file -----------------------------------------------------------------------------

    def _keep(self, name: str, asked: ManageSchedule) -> None:
        """Write a change, or remember that it is not to be written."""
        if asked.persist:
            self._transient.discard(name)
            self._save()
        else:
            self._transient.add(name)

    def _save_all(self, _asked: ManageSchedule) -> None:
        """Write also what was not to be written."""
        self._transient.clear()
        self._save()

    def _save(self) -> None:
        # Loaded at the first change: most schedules are never changed while they run.
        from saltlite.config.yaml import dump

        kept = {
            name: entry for name, entry in self._planner.own.items() if name not in self._transient
        }
        make_dir(self._path.parent)
        write_file(self._path, dump({"schedule": kept}, flow=None).encode())


def _map_of(value: Any, what: str) -> dict[str, Any]:
    """A copy of a map; raises ValueError for anything else."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is no map")
    return {str(key): item for key, item in value.items()}
