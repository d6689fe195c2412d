"""The jobs that a minion runs by itself, at times that its schedule says.

Entries come from the configuration (with ``minion.d/_schedule.conf``, which is written here), from
the pillar, and from ``manage_schedule`` events of the minion's bus, which are answered there. When
each is due is decided in :mod:`saltlite.core.schedule`; here is the waiting, and what is running.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final, Protocol

from saltlite.config.minion import PathOptions
from saltlite.core.jid import new_jid
from saltlite.core.localtime import clock_of
from saltlite.core.plain import PlainMap
from saltlite.core.schedule import (
    TIME_FORMAT,
    BadSchedule,
    Timing,
    next_fire,
    skip_ends,
    timing_of,
    why_not,
    with_explicit,
)
from saltlite.disk import make_dir, write_file
from saltlite.errors import StoreError
from saltlite.loader.arguments import KWARG
from saltlite.minion.startup import UNASKED, UNRETURNED

log = logging.getLogger(__name__)

LONGEST_SLEEP_S: Final = 60.0
"""So often the clock is looked at: it may have been set, or the machine have been suspended."""

LATE: Final = timedelta(seconds=60)
"""A run at a fixed time that is later than this was missed; it is not made up for."""

ANSWERS: Final = "/salt/minion/minion_schedule_"


def local_now() -> datetime:
    """Now, with the offset of this place."""
    return datetime.now().astimezone()


def schedule_file(paths: PathOptions) -> Path:
    """Where changes of the schedule are kept: beside the files of ``default_include``."""
    include = os.path.dirname(paths.default_include or "minion.d/*.conf")
    return Path(os.path.dirname(paths.conf_file), include, "_schedule.conf")


def scheduled_job(name: str, entry: Mapping[str, Any], minion_id: str) -> dict[str, Any]:
    """The job map of one run. Source: returns observed on Salt 3006.30."""
    kwargs = entry.get("kwargs")
    job: dict[str, Any] = {
        "jid": new_jid(datetime.now(timezone.utc), None),
        "fun": entry["function"],
        "arg": [*_listed(entry.get("args"))],
        "tgt": minion_id,
        "tgt_type": "glob",
        "ret": ",".join(map(str, _listed(entry.get("returner")))),
        "schedule": name,
    }
    if isinstance(kwargs, Mapping) and kwargs:
        job["arg"].append({**kwargs, KWARG: True})
    for option, field in (("return_config", "ret_config"), ("return_kwargs", "ret_kwargs")):
        if option in entry:
            job[field] = entry[option]
    if isinstance(entry.get("metadata"), Mapping):
        now = datetime.now().astimezone()
        job["metadata"] = {
            **entry["metadata"],
            "_TOS": f"{now:%z}",
            "_TS": now.ctime(),
            "_TT": f"{now:%Y %B %d %a %H %m}",
        }
    if not entry.get("return_job", True):
        job[UNRETURNED] = True
    elif not job["ret"]:
        job[UNASKED] = True
    return job


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


class ScheduleOwner(Protocol):
    """What a scheduler needs of its minion."""

    def fire(self, tag: str, data: PlainMap) -> None:
        """Put an event on the minion's own bus."""

    def run_scheduled(self, name: str, entry: Mapping[str, Any]) -> None:
        """Start a job now."""

    def running_of(self, name: str) -> int:
        """How many jobs of this entry run."""


@dataclass(slots=True)
class _Planned:
    """An entry and when it runs next: ``base`` without the splay, ``due`` with it."""

    entry: dict[str, Any]
    timing: Timing | None
    base: datetime | None = None
    due: datetime | None = None
    skipped: tuple[str, datetime] | None = None


class Scheduler:
    """The schedule of one minion."""

    def __init__(
        self,
        owner: ScheduleOwner,
        configured: Mapping[str, Any],
        path: Path,
        *,
        clock: Callable[[], datetime],
        random: Callable[[], float],
    ) -> None:
        """``path`` is the file that keeps changes; ``clock`` gives points in time."""
        self._owner = owner
        self._path = path
        self._clock = clock
        self._random = random
        self._own = dict(configured)
        self._pillar: dict[str, Any] = {}
        self._whens: dict[str, Any] = {}
        self._transient: set[str] = set()
        self._planned: dict[str, _Planned] = {}
        self._looked_at = clock()
        self._changed = asyncio.Event()
        self._plan()

    # --- waiting ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Start jobs when they are due, until cancelled."""
        while True:
            self.run_due()
            self._changed.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait(), self._patience_s())

    def _patience_s(self) -> float | None:
        dues = [planned.due for planned in self._planned.values() if planned.due is not None]
        if not dues:
            return None
        wait_s = (min(dues) - self._clock()).total_seconds()
        return min(max(wait_s, 0.001), LONGEST_SLEEP_S)

    def run_due(self) -> None:
        """Start what is due now, each once however long ago that was."""
        now = self._clock()
        if now < self._looked_at:
            log.info("the clock was set back: the schedule starts anew")
            for planned in self._planned.values():
                self._plan_next(planned, now, last=now)
        self._looked_at = now
        if not self._enabled():
            return
        for name, planned in list(self._planned.items()):
            if planned.due is not None and planned.due <= now:
                self._take_turn(name, planned, now)

    def _take_turn(self, name: str, planned: _Planned, now: datetime) -> None:
        """Run an entry that is due, unless something speaks against it, and plan its next time."""
        timing, base = planned.timing, planned.base
        assert timing is not None and base is not None  # noqa: S101 - it has been planned
        reason = why_not(timing, clock_of(base)) or self._prevented(name, planned, now)
        if reason:
            log.debug("schedule job %s does not run: %s", name, reason)
            planned.skipped = (reason, now)
            again = skip_ends(timing, clock_of(now)) if reason == "in_skip_range" else None
            if again is not None:
                planned.timing = with_explicit(timing, again)
        else:
            log.info("Running scheduled job: %s", name)
            self._owner.run_scheduled(name, planned.entry)
        every = timing.every
        self._plan_next(planned, now, last=base if every and now - base < every else now)

    def _prevented(self, name: str, planned: _Planned, now: datetime) -> str:
        assert planned.timing is not None and planned.due is not None  # noqa: S101 - as above
        if planned.timing.every is None and now - planned.due > LATE:
            return "missed"
        if not planned.entry.get("enabled", True):
            return "disabled"
        if planned.entry.get("jid_include", True):
            limit = planned.entry.get("maxrunning", 1)
            if isinstance(limit, int) and self._owner.running_of(name) >= limit:
                return "maxrunning"
        return ""

    # --- planning -----------------------------------------------------------------------------

    def set_facts(self, pillar: Mapping[str, Any], grains: Mapping[str, Any]) -> None:
        """Take what pillar and grains say of schedules; unknown to them is nothing."""
        schedule = pillar.get("schedule")
        whens: dict[str, Any] = {}
        for source in (grains, pillar):
            named = source.get("whens")
            if isinstance(named, Mapping):
                whens |= named
        has_new_names = whens != self._whens
        self._pillar = dict(schedule) if isinstance(schedule, Mapping) else {}
        self._whens = whens
        if has_new_names:
            self._planned.clear()
        self._plan()

    def _entries(self) -> dict[str, dict[str, Any]]:
        """All entries by name, the pillar's in place of our own."""
        found = {**self._own, **self._pillar}
        return {
            str(name): {"enabled": True, "name": str(name), **entry}
            for name, entry in found.items()
            if isinstance(entry, Mapping)
        }

    def _enabled(self) -> bool:
        return bool({**self._own, **self._pillar}.get("enabled", True))

    def _plan(self) -> None:
        """Plan what is new or another one; what is as before keeps its time."""
        now, entries = self._clock(), self._entries()
        for name in set(self._planned) - set(entries):
            del self._planned[name]
        for name, entry in entries.items():
            planned = self._planned.get(name)
            if planned is None or planned.entry != entry:
                self._planned[name] = self._new(name, entry, now)
        self._changed.set()

    def _new(self, name: str, entry: dict[str, Any], now: datetime) -> _Planned:
        try:
            timing = timing_of(name, entry, self._whens)
        except BadSchedule as error:
            log.error("%s", error)
            return _Planned(entry, None)
        except (TypeError, ValueError, OverflowError) as error:
            log.error("schedule %.80r: %s", name, error)
            return _Planned(entry, None)
        planned = _Planned(entry, timing)
        self._plan_next(planned, now, last=None)
        return planned

    def _plan_next(self, planned: _Planned, now: datetime, last: datetime | None) -> None:
        if planned.timing is None:
            return
        planned.base = planned.due = next_fire(planned.timing, now, last)
        if planned.base is not None:
            least, most = planned.timing.splay
            splay = timedelta(seconds=least + self._random() * (most - least))
            planned.due = (planned.base + splay).astimezone()

    # --- changes ------------------------------------------------------------------------------

    def manage(self, data: Mapping[str, Any]) -> None:
        """Do what a ``manage_schedule`` event asks for, and answer on the bus."""
        ask = self._asks().get(str(data.get("func")))
        if ask is None:
            log.warning("manage_schedule: there is no %.80r", data.get("func"))
            return
        answer_tag, do = ask
        try:
            answer = do(data) or {"schedule": self._own}
        except (StoreError, KeyError, TypeError, ValueError) as error:
            log.error("manage_schedule %s: %s", data.get("func"), error)
            answer = {"error": str(error)}
        self._plan()
        if answer_tag:
            self._owner.fire(ANSWERS + answer_tag, {"complete": "error" not in answer, **answer})

    def _asks(
        self,
    ) -> dict[str, tuple[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]]]:
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

    def _add(self, data: Mapping[str, Any]) -> None:
        given = _map_of(data["schedule"], "schedule")
        for name, entry in {name: _map_of(given[name], str(name)) for name in given}.items():
            self._own[self._own_name(name)] = entry
            self._keep(name, data)

    def _delete(self, data: Mapping[str, Any]) -> None:
        name = self._own_name(data["name"])
        self._own.pop(name, None)
        self._keep(name, data)

    def _own_name(self, given: object) -> str:
        """The name of an entry that is to be changed; raises ValueError if the pillar has it."""
        name = str(given)
        if name in self._pillar:
            raise ValueError(f"job {name} is the pillar's: it is changed there")
        return name

    def _switch(self, data: Mapping[str, Any]) -> None:
        self._own["enabled"] = data["func"] == "enable"
        self._pillar.pop("enabled", None)
        self._keep("enabled", data)

    def _switch_job(self, data: Mapping[str, Any]) -> None:
        name = self._own_name(data["name"])
        self._own[name] = {**self._own[name], "enabled": data["func"] == "enable_job"}
        self._keep(name, data)

    def _run_job(self, data: Mapping[str, Any]) -> None:
        name = str(data["name"])
        self._owner.run_scheduled(name, self._entries()[name])

    def _skip_job(self, data: Mapping[str, Any]) -> None:
        self._add_times(self._own_name(data["name"]), {"skip_explicit": data["time"]}, data)

    def _postpone_job(self, data: Mapping[str, Any]) -> None:
        times = {"skip_explicit": data["time"], "run_explicit": data["new_time"]}
        self._add_times(self._own_name(data["name"]), times, data)

    def _add_times(self, name: str, times: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Note times at which an entry runs or does not; its next time stays what it was."""
        entry, fmt = self._entries()[name], data.get("time_fmt") or TIME_FORMAT
        added = {
            option: [*(entry.get(option) or []), {"time": time, "time_fmt": fmt}]
            for option, time in times.items()
        }
        timing = timing_of(name, {**entry, **added}, self._whens)
        self._own[name] = {**self._own[name], **added}
        planned = self._planned[name]
        planned.entry, planned.timing = self._entries()[name], timing
        due = next_fire(timing, self._clock(), None)
        if due is not None and (planned.due is None or due < planned.due):
            planned.base = planned.due = due

    def _reload(self, data: Mapping[str, Any]) -> None:
        schedule = _map_of(data.get("schedule") or {}, "schedule")
        self._own = _map_of(schedule.get("schedule", schedule), "schedule")

    def _list(self, data: Mapping[str, Any]) -> dict[str, Any]:
        where = data.get("where")
        names = {"opts": self._own, "pillar": self._pillar}.get(where or "")
        found: dict[str, Any] = {
            name: entry for name, entry in self._entries().items() if names is None or name in names
        }
        everything = {**self._own, **self._pillar}
        return {"schedule": found | {k: everything[k] for k in ("enabled",) if k in everything}}

    def _next_fire_time(self, data: Mapping[str, Any]) -> dict[str, Any]:
        planned = self._planned.get(str(data["name"]))
        due = planned.due if planned is not None else None
        return {"next_fire_time": None if due is None else due.strftime(TIME_FORMAT)}

    def _job_status(self, data: Mapping[str, Any]) -> dict[str, Any]:
        planned = self._planned.get(str(data["name"]))
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

    def _keep(self, name: str, data: Mapping[str, Any]) -> None:
        """Write a change, or remember that it is not to be written."""
        if data.get("persist", True):
            self._transient.discard(name)
            self._save()
        else:
            self._transient.add(name)

    def _save_all(self, _data: Mapping[str, Any]) -> None:
        """Write also what was not to be written."""
        self._transient.clear()
        self._save()

    def _save(self) -> None:
        from saltlite.config.yaml import dump

        kept = {name: entry for name, entry in self._own.items() if name not in self._transient}
        make_dir(self._path.parent)
        write_file(self._path, dump({"schedule": kept}, flow=None).encode())


def _map_of(value: Any, what: str) -> dict[str, Any]:
    """A copy of a map; raises ValueError for anything else."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is no map")
    return {str(key): item for key, item in value.items()}
