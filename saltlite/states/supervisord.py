"""Programs that supervisord runs, or does not. Source: observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Resource, Step, Verdict, realise
from saltlite.modules import supervisord
from saltlite.providers import supervisor


def running(
    name: str,
    restart: bool = False,
    update: bool = False,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
    **kwargs: Any,
) -> Declared:
    """A program that runs, or with ``group:`` or ``group:*`` all of a group.

    One that supervisord does not know yet is added from its configuration. ``update`` first brings
    supervisord to its configuration. ``restart`` restarts what runs already, each time.
    """
    how = How(user=user, conf_file=conf_file, bin_env=bin_env)
    declared = RunningProcesses(name=_strip_star(name), update=update, how=how)
    if not restart:
        return declared
    return Action(
        would=f"{declared.what} will be restarted",
        run=declared.restart,
        foreseen=declared.would_restart,
    )


def dead(
    name: str,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
    **kwargs: Any,
) -> Dead:
    """A program that does not run, or with ``group:`` or ``group:*`` none of a group."""
    return Dead(name=_strip_star(name), how=How(user=user, conf_file=conf_file, bin_env=bin_env))


def mod_watch(
    name: str,
    restart: bool = True,
    update: bool = False,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
    sfun: str = "running",
    **kwargs: Any,
) -> Declared:
    """Restart a program that runs when something that it watches has changed."""
    if sfun == "dead":
        return dead(name, user, conf_file, bin_env)
    return running(name, restart, update, user, conf_file, bin_env)


def _strip_star(name: str) -> str:
    """``group:*`` is ``group:``."""
    return str(name).removesuffix("*") if str(name).endswith(":*") else str(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """Which supervisord, and as whom it is spoken to."""

    user: str | None
    conf_file: str | None
    bin_env: str | None

    def words(self) -> dict[str, str | None]:
        """As the module's functions take them."""
        return {"user": self.user, "conf_file": self.conf_file, "bin_env": self.bin_env}


@dataclass(frozen=True, slots=True)
class Processes:
    """The states of the processes that are meant, by name; groups that are not as configured."""

    states: Mapping[str, str]
    news: Mapping[str, str]


def _read_processes(ctx: MinionContext, name: str, how: How, *, news: bool = False) -> Processes:
    states = {
        process: each["state"]
        for process, each in ctx.follow(supervisord.status, **how.words()).items()
        if (process.startswith(name) if name.endswith(":") else process == name)
    }
    told = ctx.follow(supervisord.reread, **how.words()) if news else ""
    return Processes(states, supervisor.parse_news(told))


def _check_answer(said: str) -> None:
    """Raises FunctionError if supervisorctl complains."""
    wrong = supervisor.complaint(said)
    if wrong:
        raise FunctionError(wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningProcesses(Resource[Processes]):
    """Processes that run."""

    name: str
    update: bool
    how: How

    @property
    def kind(self) -> str:
        """What Salt calls it."""
        return "group" if self.name.endswith(":") else "service"

    @property
    def what(self) -> str:
        """The beginning of a sentence."""
        is_group = self.kind == "group"
        return f"All services in group '{self.name}'" if is_group else f"Service {self.name}"

    def read(self, ctx: MinionContext) -> Processes:
        return _read_processes(ctx, self.name, self.how, news=self.update)

    def plan(self, now: Processes) -> list[Step]:
        return [*self._plan_updates(now), *self._plan_starts(now)]

    def _plan_updates(self, now: Processes) -> list[Step]:
        if not now.news:
            return []
        told = ", ".join(f"{group} {what}" for group, what in sorted(now.news.items()))
        did = f"Not starting updated {self.kind}: {self.name}"
        return [
            Step(
                would=f"To be updated: {told}", did=did, changes=now.news, run=self._update_program
            )
        ]

    def _plan_starts(self, now: Processes) -> list[Step]:
        if self._all_run(now):
            return []
        if now.states:
            sleeping = self._find_sleeping(now)
            did = f"Starting {self.kind}: {self.name}"
            would = self._would_start(now, sleeping)
            return [Step(would=would, did=did, changes={self.name: did}, run=self._start_program)]
        did = f"Starting: {self.name}"
        changed = did if self.update else f"Adding service: {self.name} {did}"
        what = f"Group '{self.name}'" if self.kind == "group" else self.what
        return [
            Step(
                would=f"{what} will be added and started",
                did=did,
                changes={self.name: changed},
                run=self._start_program if self.update else self._add_program,
            )
        ]

    def _find_sleeping(self, now: Processes) -> list[str]:
        return [each for each, state in now.states.items() if state not in supervisor.RUNNING]

    def _would_start(self, now: Processes, sleeping: Sequence[str]) -> str:
        if len(sleeping) == len(now.states):
            return f"{self.what} will be started"
        return f"The following services will be started: {' '.join(sleeping)}"

    def _update_program(self, ctx: MinionContext) -> None:
        _check_answer(ctx.follow(supervisord.update, **self.how.words()))

    def _add_program(self, ctx: MinionContext) -> None:
        """What is not configured either is told by the start."""
        ctx.follow(supervisord.reread, **self.how.words())
        ctx.follow(supervisord.add, self.name, **self.how.words())
        self._start_program(ctx)

    def _start_program(self, ctx: MinionContext) -> None:
        _check_answer(ctx.follow(supervisord.start, self.name, **self.how.words()))

    def would(self, now: Processes, steps: Sequence[Step]) -> str:
        return steps[-1].would  # an update says its part in the changes

    def comment_changed(self, before: Processes, after: Processes, steps: Sequence[Step]) -> str:
        return steps[-1].did

    def comment_unchanged(self, now: Processes) -> str:
        return f"Not starting already running {self.kind}: {self.name}"

    def would_leave(self, now: Processes) -> str:
        is_group = self.kind == "group"
        return f"{self.what} {'are' if is_group else 'is'} already running"

    def restart(self, ctx: MinionContext) -> Verdict:
        """Restart what runs; start it if it does not."""
        now = self.read(ctx)
        if not self._all_run(now):
            return realise(self, ctx, test=False)
        for step in self._plan_updates(now):
            step.run(ctx)
        _check_answer(ctx.follow(supervisord.restart, self.name, **self.how.words()))
        comment = f"Restarting {self.kind}: {self.name}"
        return Verdict(result=True, comment=comment, changes={self.name: comment})

    def would_restart(self, ctx: MinionContext) -> Verdict:
        """What ``restarted`` is going to do."""
        if not self._all_run(self.read(ctx)):
            return realise(self, ctx, test=True)
        changes = {self.name: f"Restarting {self.kind}: {self.name}"}
        return Verdict(result=None, comment=f"{self.what} will be restarted", changes=changes)

    def _all_run(self, now: Processes) -> bool:
        return bool(now.states) and not self._find_sleeping(now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead(Resource[Processes]):
    """Processes that do not run."""

    name: str
    how: How

    def read(self, ctx: MinionContext) -> Processes:
        return _read_processes(ctx, self.name, self.how)

    def plan(self, now: Processes) -> list[Step]:
        if not any(state in supervisor.ALIVE for state in now.states.values()):
            return []
        did = f"Stopping service: {self.name}"
        would = f"Service {self.name} is set to be stopped"
        return [Step(would=would, did=did, changes={self.name: did}, run=self._stop_program)]

    def _stop_program(self, ctx: MinionContext) -> None:
        _check_answer(ctx.follow(supervisord.stop, self.name, **self.how.words()))

    def comment_unchanged(self, now: Processes) -> str:
        found = "is not running" if now.states else "doesn't exist"
        return f"Service {self.name} {found}"
