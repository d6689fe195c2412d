"""Jobs that a minion runs by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.keywords import own_keywords
from saltlite.core.schedule import DEFAULTS, BadSchedule, entry_of
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import schedule
from saltlite.states._fact import Fact


def present(name: str, **kwargs: Any) -> ScheduledJob:
    """A job of the schedule.

    ``function`` runs with ``job_args`` and ``job_kwargs`` every ``seconds``, ``minutes``,
    ``hours``, ``days``, or at ``when`` or ``once``. Further options are those of ``schedule.add``.
    """
    given = own_keywords(kwargs)
    try:
        wanted = entry_of(str(name), given)
    except BadSchedule as error:
        raise FunctionError(str(error)) from None
    return ScheduledJob(name=str(name), given=given, wanted=wanted)


def absent(name: str, **kwargs: Any) -> Fact:
    """No such job in the schedule."""
    name = str(name)
    return Fact(
        holds=lambda ctx: _read_job(ctx, name, kwargs) is None,
        make=lambda ctx: _check_answer(ctx.follow(schedule.delete, name, **kwargs)),
        intent=f"Job: {name} would be deleted from schedule.",
        report=f"Removed job {name} from schedule",
        known=f"Job {name} not present in schedule",
        told={name: "removed"},
    )


def enabled(name: str, **kwargs: Any) -> Switched:
    """A job of the schedule that runs."""
    return Switched(name=str(name), given=kwargs, wanted=True)


def disabled(name: str, **kwargs: Any) -> Switched:
    """A job of the schedule that does not run."""
    return Switched(name=str(name), given=kwargs, wanted=False)


def _read_job(ctx: MinionContext, name: str, given: Mapping[str, object]) -> dict[str, Any] | None:
    found = ctx.follow(schedule.list_, show_all=True, return_yaml=False, offline=_is_offline(given))
    entry = found.get(name)
    return dict(entry) if isinstance(entry, Mapping) else None


def _is_offline(given: Mapping[str, object]) -> bool:
    return bool(given.get("offline", False))


def _check_answer(answer: Mapping[str, object]) -> None:
    if not answer["result"]:
        raise FunctionError(str(answer["comment"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledJob(Resource[dict[str, Any] | None]):
    """A job as declared; read is the entry there is, ``None`` without one."""

    name: str
    given: Mapping[str, Any]
    wanted: Mapping[str, Any]

    def read(self, ctx: MinionContext) -> dict[str, Any] | None:
        return _read_job(ctx, self.name, self.given)

    def plan(self, now: dict[str, Any] | None) -> list[Step]:
        if now is None:
            return [
                Step(
                    would=f"Job: {self.name} would be added to schedule.",
                    did=f"Adding new job {self.name} to schedule",
                    changes={self.name: "added"},
                    run=self._add_job,
                )
            ]
        if {**DEFAULTS, **now} == self.wanted:
            return []
        return [
            Step(
                would=f"Job: {self.name} would be modified in schedule.",
                did=f"Modifying job {self.name} in schedule",
                changes={self.name: {"old": now, "new": self.wanted}},
                run=self._replace_job,
            )
        ]

    def _add_job(self, ctx: MinionContext) -> None:
        _check_answer(ctx.follow(schedule.add, self.name, **self.given))

    def _replace_job(self, ctx: MinionContext) -> None:
        _check_answer(ctx.follow(schedule.modify, self.name, **self.given))

    def comment_unchanged(self, now: dict[str, Any] | None) -> str:
        return f"Job {self.name} in correct state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched(Resource[dict[str, Any] | None]):
    """A job that runs, or with ``wanted`` false does not; one that is not there is left alone."""

    name: str
    given: Mapping[str, Any]
    wanted: bool

    def read(self, ctx: MinionContext) -> dict[str, Any] | None:
        return _read_job(ctx, self.name, self.given)

    def plan(self, now: dict[str, Any] | None) -> list[Step]:
        if now is None or now.get("enabled", True) is self.wanted:
            return []
        verb = "enabled" if self.wanted else "disabled"
        return [
            Step(
                would=f"Job: {self.name} would be {verb} in schedule.",
                did=f"{verb.capitalize()} job {self.name} from schedule",
                changes={self.name: verb},
                run=self._switch_schedule,
            )
        ]

    def _switch_schedule(self, ctx: MinionContext) -> None:
        switch = schedule.enable_job if self.wanted else schedule.disable_job
        _check_answer(switch(ctx, self.name, **self.given))

    def comment_unchanged(self, now: dict[str, Any] | None) -> str:
        if now is None:
            return f"Job {self.name} not present in schedule"
        return f"Job {self.name} is {'enabled' if self.wanted else 'disabled'}"
