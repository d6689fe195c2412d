"""What this minion runs by itself, and when: look at the schedule and change it.

The minion that runs holds the schedule: it is asked by an event on its bus and answers there. With
``offline`` the file of its changes is read and written instead, for a minion that does not run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from saltlite.config.yaml import dump
from saltlite.config.yaml import load as load_yaml
from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.schedule import DEFAULTS, MIXED_TEXT, TIME_FORMAT, BadSchedule, entry_of
from saltlite.disk import make_dir, write_file
from saltlite.modules import publish
from saltlite.providers import textfile
from saltlite.providers.running_minion import ask_minion, has_no_minion

MANAGE = "manage_schedule"
ANSWERS = "/salt/minion/minion_schedule_"
MIXED_MODIFIED_TEXT = (
    'Error: Unable to use "seconds", "minutes", "hours", or "days" with "when" option.'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Keywords that say how a change is made, not what it is."""

    test: bool = False
    offline: bool = False
    persist: bool = True
    time_fmt: str | None = None

    @classmethod
    def of(cls, kwargs: Mapping[str, object]) -> Flags:
        """Of the keyword arguments of a function."""
        return read_fields(cls, kwargs, {"bool": bool})


def list_(
    ctx: MinionContext,
    show_all: bool = False,
    show_disabled: bool = True,
    where: str | None = None,
    return_yaml: bool = True,
    offline: bool = False,
) -> Any:
    """The jobs of the schedule; of the ``pillar`` or of ``opts`` alone with ``where``.

    CLI Example:

        salt '*' schedule.list
        salt '*' schedule.list show_all=True
    """
    found = _read_saved(ctx) if offline else _read_running(ctx, where)
    saved = _read_saved(ctx)
    shown: dict[str, Any] = {}
    for name, entry in found.items():
        if not isinstance(entry, Mapping):
            shown[name] = entry
        elif (show_all or not name.startswith("__")) and (
            show_disabled or entry.get("enabled", True)
        ):
            plain = {key: value for key, value in entry.items() if not key.startswith("_")}
            shown[name] = {**plain, "saved": name in saved} if return_yaml else plain
    if not return_yaml:
        return shown
    return dump({"schedule": shown})


def is_enabled(ctx: MinionContext, name: str | None = None) -> Any:
    """A job of the schedule, ``{}`` if there is none; without a name whether the schedule works.

    CLI Example:

        salt '*' schedule.is_enabled name=job_name
        salt '*' schedule.is_enabled
    """
    found = _read_running(ctx)
    if name:
        return found.get(name, {})
    return found.get("enabled", True)


def build_schedule_item(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """The entry that these arguments make; or ``result`` ``False`` and a ``comment``.

    CLI Example:

        salt '*' schedule.build_schedule_item job1 function='test.ping' seconds=3600
    """
    try:
        return entry_of(name, kwargs)
    except BadSchedule as error:
        return {"comment": str(error), "result": False}


def add(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """Add a job to the schedule; one of that name must not be there.

    ``function`` is run every ``seconds``, ``minutes``, ``hours``, ``days``, or at ``when`` or
    ``once``. ``persist=False`` keeps it until the next start, ``offline=True`` writes the file.

    CLI Example:

        salt '*' schedule.add job1 function='test.ping' seconds=3600
        salt '*' schedule.add job2 function='cmd.run' job_args="['date']" seconds=60
    """
    answer: dict[str, Any] = {
        "comment": f"Failed to add job {name} to schedule.",
        "result": False,
        "changes": {},
    }
    if name in _read_schedule(ctx, kwargs):
        return answer | {"comment": f"Job {name} already exists in schedule."}
    try:
        entry = entry_of(name, kwargs)
    except BadSchedule as error:
        prefix = "Error: " if str(error) == MIXED_TEXT else ""
        return answer | {"comment": f"{prefix}{error}"}
    if Flags.of(kwargs).test:
        return answer | {"comment": f"Job: {name} would be added to schedule.", "result": True}
    if not _put_entry(ctx, "add", name, entry, kwargs):
        return answer
    return {
        "comment": f"Added job: {name} to schedule.",
        "result": True,
        "changes": {name: "added"},
    }


def modify(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """Make a job of the schedule another one; what is not given takes its default.

    CLI Example:

        salt '*' schedule.modify job1 function='test.ping' seconds=3600
    """
    answer: dict[str, Any] = {"comment": "", "changes": {}, "result": True}
    found = _read_schedule(ctx, kwargs).get(name)
    if found is None:
        comment = f"Job {name} does not exist in schedule."
        return answer | {"comment": comment, "result": False}
    before = {key: value for key, value in found.items() if not key.startswith("_")}
    try:
        entry = entry_of(name, {"function": before.get("function"), **kwargs})
    except BadSchedule as error:
        text = MIXED_MODIFIED_TEXT if str(error) == MIXED_TEXT else str(error)
        return answer | {"comment": text, "result": False}
    if entry == {**DEFAULTS, **before}:
        return answer | {"comment": f"Job {name} in correct state"}
    answer["changes"] = {name: {"old": before, "new": entry}}
    if Flags.of(kwargs).test:
        return answer | {"comment": f"Job: {name} would be modified in schedule."}
    if not _put_entry(ctx, "modify", name, entry, kwargs):
        comment = f"Failed to modify job {name} in schedule."
        return answer | {"comment": comment, "changes": {}, "result": False}
    return answer | {"comment": f"Modified job: {name} in schedule."}


def delete(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """Take a job out of the schedule.

    CLI Example:

        salt '*' schedule.delete job1
    """
    answer: dict[str, Any] = {
        "comment": f"Failed to delete job {name} from schedule.",
        "result": False,
        "changes": {},
    }
    if name not in _read_schedule(ctx, kwargs):
        return answer | {"comment": f"Job {name} does not exist."}
    if Flags.of(kwargs).test:
        return answer | {"comment": f"Job: {name} would be deleted from schedule.", "result": True}
    if Flags.of(kwargs).offline:
        with textfile.hold(ctx, str(_schedule_path(ctx))):
            _save_schedule(
                ctx, {key: value for key, value in _read_saved(ctx).items() if key != name}
            )
    elif (
        _ask_minion(ctx, "delete", "delete_complete", name=name, **_persist_option(kwargs)) is None
    ):
        return answer
    return {
        "comment": f"Deleted Job {name} from schedule.",
        "result": True,
        "changes": {name: "removed"},
    }


def purge(ctx: MinionContext, **kwargs: Any) -> dict[str, Any]:
    """Take all jobs out of the schedule.

    CLI Example:

        salt '*' schedule.purge
    """
    comments: list[str] = []
    changes: dict[str, Any] = {}
    for name, entry in _read_schedule(ctx, kwargs).items():
        if not isinstance(entry, Mapping) or name.startswith("__"):
            continue
        if Flags.of(kwargs).test:
            comments.append(f"Job: {name} would be deleted from schedule.")
            continue
        done = delete(ctx, name, **kwargs)
        if not done["result"]:
            return {"comment": [*comments, done["comment"]], "changes": changes, "result": False}
        comments.append(f"Deleted job: {name} from schedule.")
        changes[name] = "removed"
    return {"comment": comments, "changes": changes, "result": True}


def enable(ctx: MinionContext, **kwargs: Any) -> dict[str, Any]:
    """Have the schedule work.

    CLI Example:

        salt '*' schedule.enable
    """
    return _switch_scheduler(ctx, "enable", kwargs)


def disable(ctx: MinionContext, **kwargs: Any) -> dict[str, Any]:
    """Have no job of the schedule run.

    CLI Example:

        salt '*' schedule.disable
    """
    return _switch_scheduler(ctx, "disable", kwargs)


def _switch_scheduler(
    ctx: MinionContext, func: str, kwargs: Mapping[str, object]
) -> dict[str, Any]:
    if Flags.of(kwargs).test:
        return {"comment": f"Schedule would be {func}d.", "changes": {}, "result": True}
    if has_no_minion(ctx):
        return {"comment": [], "changes": {}, "result": True}
    if _ask_minion(ctx, func, f"{func}d_complete", **_persist_option(kwargs)) is None:
        return {"comment": f"Failed to {func} schedule on minion.", "changes": {}, "result": False}
    return {
        "comment": f"{func.capitalize()}d schedule on minion.",
        "changes": {"schedule": f"{func}d"},
        "result": True,
    }


def enable_job(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """Have a job of the schedule run.

    CLI Example:

        salt '*' schedule.enable_job job1
    """
    return _switch_job(ctx, "enable", name, kwargs)


def disable_job(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """Have a job of the schedule not run.

    CLI Example:

        salt '*' schedule.disable_job job1
    """
    return _switch_job(ctx, "disable", name, kwargs)


def _switch_job(
    ctx: MinionContext, verb: str, name: str, kwargs: Mapping[str, object]
) -> dict[str, Any]:
    answer: dict[str, Any] = {"comment": "", "result": False, "changes": {}}
    found = _read_schedule(ctx, kwargs)
    if name not in found:
        return answer | {"comment": f"Job {name} does not exist."}
    if Flags.of(kwargs).test:
        comment = f"Job: {name} would be {verb}d in schedule."
        return answer | {"comment": comment, "result": True}
    if Flags.of(kwargs).offline:
        with textfile.hold(ctx, str(_schedule_path(ctx))):
            saved = _read_saved(ctx)
            entry = {**saved.get(name, found[name]), "enabled": verb == "enable"}
            _save_schedule(ctx, {**saved, name: entry})
    elif (
        _ask_minion(
            ctx, f"{verb}_job", f"{verb}d_job_complete", name=name, **_persist_option(kwargs)
        )
        is None
    ):
        return answer | {"comment": f"Failed to {verb} job {name} in schedule."}
    return {
        "comment": f"{verb.capitalize()}d Job {name} in schedule.",
        "result": True,
        "changes": {name: f"{verb}d"},
    }


def run_job(ctx: MinionContext, name: str, force: bool = False) -> dict[str, Any]:
    """Run a job of the schedule now; one that is disabled with ``force`` only.

    CLI Example:

        salt '*' schedule.run_job job1
    """
    entry = _read_running(ctx).get(name)
    if entry is None:
        return {"comment": f"Job {name} does not exist.", "result": False}
    if not entry.get("enabled", True) and not force:
        return {"comment": f"Job {name} is disabled.", "result": True}
    ctx.events.fire(MANAGE, {"func": "run_job", "name": name})
    return {"comment": f"Scheduling Job {name} on minion.", "result": True}


def save(ctx: MinionContext, **kwargs: Any) -> dict[str, Any]:
    """Write the schedule, without what is from the pillar, to ``_schedule.conf``.

    CLI Example:

        salt '*' schedule.save
    """
    if Flags.of(kwargs).test:
        return {"comment": "Schedule would be saved.", "result": True}
    if has_no_minion(ctx):
        return {"comment": [], "result": True}
    if _ask_minion(ctx, "save_schedule", "saved") is None:
        return {"comment": "Failed to save schedule on minion.", "result": False}
    return {"comment": "Schedule (non-pillar items) saved.", "result": True}


def reload_(ctx: MinionContext) -> dict[str, Any]:
    """Read the schedule anew: what is saved and what the pillar has.

    CLI Example:

        salt '*' schedule.reload
    """
    comments: list[str] = []
    if isinstance(ctx.pillar.get("schedule"), Mapping):
        ctx.events.fire("pillar_refresh", {})
        comments.append("Reloaded schedule from pillar on minion.")
    if _schedule_path(ctx).is_file():
        if _ask_minion(ctx, "reload", "reload_complete", schedule=_read_saved(ctx)) is None:
            return {"comment": ["Reload schedule failed."], "result": False}
        comments.append("Reloaded schedule from default configuration on minion.")
    return {"comment": comments, "result": True}


def show_next_fire_time(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """When a job runs next.

    CLI Example:

        salt '*' schedule.show_next_fire_time job_name
    """
    said = _ask_minion(ctx, "get_next_fire_time", "next_fire_time_complete", name=name)
    if said is None:
        return {"comment": "Failed to get the next fire time.", "result": False}
    return {"result": True, "next_fire_time": said.get("next_fire_time")}


def job_status(ctx: MinionContext, name: str, time_fmt: str = TIME_FORMAT) -> Any:
    """A job with what is known of its last and its next run.

    CLI Example:

        salt '*' schedule.job_status job_name
    """
    said = _ask_minion(ctx, "job_status", "job_status_complete", name=name)
    if said is None:
        return None
    status: dict[str, Any] = dict(said["data"])
    for key in ("_next_fire_time", "_next_scheduled_fire_time", "_skipped_time"):
        if key in status:
            status[key] = _as_time(status[key], TIME_FORMAT).strftime(time_fmt)
    return status


def skip_job(ctx: MinionContext, name: str, current_time: object, **kwargs: Any) -> dict[str, Any]:
    """Have a job not run at one time, ``current_time`` in the form of ``time_fmt``.

    CLI Example:

        salt '*' schedule.skip_job job current_time=2030-01-02T17:00:00
    """
    if name not in _read_running(ctx):
        return {"comment": f"Job {name} does not exist.", "result": False}
    fmt = Flags.of(kwargs).time_fmt or TIME_FORMAT
    try:
        time = _as_time(current_time, fmt).strftime(TIME_FORMAT)
    except ValueError:
        return {"comment": "Date string could not be parsed.", "result": False}
    if _ask_minion(ctx, "skip_job", "skip_job_complete", name=name, time=time) is None:
        return {"comment": f"Failed to ignore job {name} in schedule.", "result": False}
    return {"comment": f"Added Skip Job {name} in schedule.", "result": True}


def postpone_job(
    ctx: MinionContext, name: str, current_time: object, new_time: object, **kwargs: Any
) -> dict[str, Any]:
    """Have a job run at ``new_time`` instead of ``current_time``, in the form of ``time_fmt``.

    CLI Example:

        salt '*' schedule.postpone_job job 2030-01-02T17:00:00 2030-01-02T18:00:00
    """
    if name not in _read_running(ctx):
        return {"comment": f"Job {name} does not exist.", "result": False}
    fmt = Flags.of(kwargs).time_fmt or TIME_FORMAT
    try:
        times = [_as_time(time, fmt).strftime(TIME_FORMAT) for time in (current_time, new_time)]
    except ValueError:
        return {"comment": "Date string could not be parsed.", "result": False}
    given = {"name": name, "time": times[0], "new_time": times[1]}
    if _ask_minion(ctx, "postpone_job", "postpone_job_complete", **given) is None:
        return {"comment": f"Failed to postpone job {name} in schedule.", "result": False}
    return {"comment": f"Postponed Job {name} in schedule.", "result": True}


def _as_time(value: object, fmt: str) -> datetime:
    if isinstance(value, datetime):
        return value
    return datetime.strptime(str(value), fmt)  # noqa: DTZ007 - local time, as all of a schedule


# --- other minions ---------------------------------------------------------------------------


def move(ctx: MinionContext, name: str, target: str, **kwargs: Any) -> dict[str, Any]:
    """Give a job of the schedule to other minions, and delete it here.

    The master must let this minion publish ``schedule.add`` (``peer``). Minions that did not add
    the job are under ``errors``; the others under ``minions``.

    CLI Example:

        salt '*' schedule.move jobname target
    """
    return _hand_over(ctx, name, target, kwargs, moved=True)


def copy(ctx: MinionContext, name: str, target: str, **kwargs: Any) -> dict[str, Any]:
    """Give a job of the schedule to other minions too.

    As ``schedule.move``, and the job stays here.

    CLI Example:

        salt '*' schedule.copy jobname target
    """
    return _hand_over(ctx, name, target, kwargs, moved=False)


def _hand_over(
    ctx: MinionContext, name: str, target: str, kwargs: Mapping[str, object], *, moved: bool
) -> dict[str, Any]:
    verb = "moved" if moved else "copied"
    if not name:
        return {"comment": "Job name is required.", "result": False}
    entry = _read_running(ctx).get(name)
    if entry is None:
        return {"comment": f"Job {name} does not exist.", "result": False}
    if Flags.of(kwargs).test:
        comment = f"Job: {name} would be {verb} from schedule."
        return {"comment": comment, "result": True}
    answers = publish.publish(ctx, target, "schedule.add", _as_arguments(name, entry))
    if not answers:
        comment = "no servers answered the published schedule.add command"
        return {"comment": comment, "result": False}
    added = [minion for minion, said in answers.items() if _is_done(said)]
    errors = [minion for minion in answers if minion not in added]
    if not added:
        return {
            "comment": "Could not add the job on any minion.",
            "errors": errors,
            "result": False,
        }
    if moved:
        delete(ctx, name)
    to = "schedule" if moved else "schedule to minion(s)"
    answer: dict[str, Any] = {
        "comment": f"{verb.capitalize()} Job {name} from {to}.",
        "result": True,
        "minions": added,
    }
    return answer | {"errors": errors} if errors else answer


def _as_arguments(name: str, entry: Mapping[str, object]) -> list[str]:
    """An entry as ``schedule.add`` takes it, each argument in the form of a command line."""
    renamed = {"args": "job_args", "kwargs": "job_kwargs"}
    return [
        name,
        *(
            f"{renamed.get(key, key)}={json.dumps(value)}"
            for key, value in entry.items()
            if key != "name" and not key.startswith("_")
        ),
    ]


def _is_done(said: object) -> bool:
    return bool(said.get("result")) if isinstance(said, Mapping) else bool(said)


# --- the minion that runs --------------------------------------------------------------------


def _ask_minion(
    ctx: MinionContext, func: str, answer: str, **given: Any
) -> Mapping[str, Any] | None:
    """Ask the minion, and wait for its answer; ``None`` if it does not do it or does not answer."""
    said = ask_minion(ctx, MANAGE, {"func": func, **given}, ANSWERS + answer)
    return said if said is not None and said.get("complete") else None


def _read_running(ctx: MinionContext, where: str | None = None) -> dict[str, Any]:
    """The schedule as the minion has it."""
    said = _ask_minion(ctx, "list", "list_complete", where=where)
    return dict(said["schedule"]) if said else {}


def _read_schedule(ctx: MinionContext, kwargs: Mapping[str, object]) -> dict[str, Any]:
    return _read_saved(ctx) if Flags.of(kwargs).offline else _read_running(ctx)


def _put_entry(
    ctx: MinionContext, func: str, name: str, entry: dict[str, Any], kwargs: Mapping[str, object]
) -> bool:
    """Add or change an entry, in the minion or in the file."""
    if Flags.of(kwargs).offline:
        with textfile.hold(ctx, str(_schedule_path(ctx))):
            _save_schedule(ctx, {**_read_saved(ctx), name: entry})
        return True
    given = {"name": name, "schedule": {name: entry}, **_persist_option(kwargs)}
    return _ask_minion(ctx, func, f"{func}_complete", **given) is not None


def _persist_option(kwargs: Mapping[str, object]) -> dict[str, Any]:
    return {"persist": Flags.of(kwargs).persist}


# --- the file of changes ---------------------------------------------------------------------


def _schedule_path(ctx: MinionContext) -> Path:
    paths = ctx.config.paths
    include = os.path.dirname(paths.default_include or "minion.d/*.conf")
    return Path(os.path.dirname(paths.conf_file), include, "_schedule.conf")


def _read_saved(ctx: MinionContext) -> dict[str, Any]:
    """What the file has; nothing if there is none."""
    path = _schedule_path(ctx)
    text = ctx.host.read_text(str(path))
    found = load_yaml(text, str(path)) if text else None
    schedule = found.get("schedule") if isinstance(found, Mapping) else None
    return dict(schedule) if isinstance(schedule, Mapping) else {}


def _save_schedule(ctx: MinionContext, schedule: Mapping[str, object]) -> None:
    path = _schedule_path(ctx)
    make_dir(path.parent)
    write_file(path, dump({"schedule": dict(schedule)}, flow=None).encode())
