"""Users' crontabs: jobs, variables, and whole files."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import cron
from saltlite.providers.accounts import files
from saltlite.providers.cron import crontab
from saltlite.providers.cron.crontab import CrontabJob, Table
from saltlite.providers.file import hashes, sources
from saltlite.providers.file.sources import Source
from saltlite.states._fact import Fact


def present(
    name: str,
    user: str = "root",
    minute: object = "*",
    hour: object = "*",
    daymonth: object = "*",
    month: object = "*",
    dayweek: object = "*",
    comment: object = None,
    commented: bool = False,
    identifier: object = False,
    special: str | None = None,
) -> CronJob:
    """A job that runs the command ``name``; it is found again by ``identifier``.

    Without one it is found by the command. ``special`` is a named moment, as ``@daily``;
    ``commented`` keeps the job there without running it.
    """
    name = name.strip()
    times = (str(each).lower() for each in (minute, hour, daymonth, month, dayweek))
    when = tuple(times) if special is None else (str(special),)
    job = CrontabJob(
        when=when,
        cmd=name,
        identifier=_find_identifier(name, identifier),
        comment=None if comment is None else str(comment),
        commented=bool(commented),
    )
    return CronJob(user=user, job=job)


def absent(
    name: str,
    user: str = "root",
    identifier: object = False,
    special: str | None = None,
    **kwargs: Any,
) -> Fact:
    """No job that has this identifier, or runs this command; when it would run does not matter."""
    name = name.strip()
    found = _find_identifier(name, identifier)
    when = {} if special is None else {0: special}

    def holds(ctx: MinionContext) -> bool:
        table = _read_tab(ctx, user).table()
        return crontab.drop(table, name, when, found, special=special is not None) == "absent"

    def remove(ctx: MinionContext) -> None:
        if special is None:
            answer = ctx.follow(cron.rm_job, user, name, identifier=found)
        else:
            answer = ctx.follow(cron.rm_special, user, name, special, found)
        if answer != "removed":
            raise _build_error("Cron", name, user, answer)

    return Fact(
        holds=holds,
        make=remove,
        intent=f"Cron {name} is set to be removed",
        report=f"Cron {name} removed from {user}'s crontab",
        known=f"Cron {name} already absent",
        told={user: name},
    )


def env_present(name: str, value: object = None, user: str = "root") -> Variable:
    """A variable for all jobs of a user."""
    return Variable(name=str(name), user=user, value=value)


def env_absent(name: str, user: str = "root") -> Fact:
    """No such variable for the jobs of a user."""
    name = str(name)

    def remove(ctx: MinionContext) -> None:
        answer = ctx.follow(cron.rm_env, user, name)
        if answer != "removed":
            raise _build_error("Cron env", name, user, answer)

    return Fact(
        holds=lambda ctx: name not in _read_tab(ctx, user).table().env,
        make=remove,
        intent=f"Cron env {name} is set to be removed",
        report=f"Cron env {name} removed from {user}'s crontab",
        known=f"Cron env {name} already absent",
        told={user: name},
    )


def file(
    ctx: MinionContext,
    name: str,
    source_hash: str = "",
    source_hash_name: str | None = None,
    user: str = "root",
    template: str | None = None,
    context: Mapping[str, object] | None = None,
    replace: bool = True,
    defaults: Mapping[str, object] | None = None,
    backup: str = "",
    __env__: str = "base",
    **kwargs: Any,
) -> WholeTab | Verdict:
    """A file, also from the master, that is the whole crontab of a user.

    ``template`` renders it first; ``replace=False`` leaves a crontab alone that is there. A file
    of the web needs a ``source_hash``.
    """
    account = files.user(ctx.host, user)
    if account is None:
        return _refuse_with(f"Could not identify group for user {user}")
    group = next((each.name for each in files.groups(ctx.host) if each.gid == account.gid), "")
    try:
        path = _fetch_source(ctx, name, source_hash, source_hash_name, __env__)
    except SaltliteError as error:
        return _refuse_with(str(error))
    text = ctx.host.read_text(path) if path else None
    if text is None:
        what = "Local file source" if name.startswith("/") else "Source file"
        return _refuse_with(f"{what} {name} does not exist")
    if template:
        from saltlite.templates.template import render_template

        text = render_template(
            text, template, ctx, saltenv=__env__, context=context, defaults=defaults, path=path
        )
    return WholeTab(user=user, group=group, text=text, replace=replace)


def _fetch_source(
    ctx: MinionContext, name: str, source_hash: str, source_hash_name: str | None, saltenv: str
) -> str:
    """The path of a source, which has the hash that is declared for it; ``""`` for none.

    Raises:
        SaltliteError: it cannot be fetched, or has another hash.
    """
    source = Source(
        source=name, source_hash=source_hash, source_hash_name=source_hash_name, saltenv=saltenv
    )
    path = sources.locate_content(ctx, name, source).path if sources.is_of_web(name) else ""
    path = path or str(ctx.functions.call("cp.cache_file", name, saltenv) or "")
    if path and source_hash and sources.scheme_of(name) != "salt":
        wanted = sources.find_sum(ctx, source, name)
        if hashes.file_hash(path, wanted["hash_type"]) != wanted["hsum"]:
            raise FunctionError(f"{name} does not have the declared hash {wanted['hsum']}")
    return path


def _refuse_with(comment: str) -> Verdict:
    return Verdict(result=False, comment=comment)


def _find_identifier(name: str, identifier: object) -> str | None:
    if identifier is False:
        return name
    return None if identifier is None else str(identifier)


def _build_error(what: str, name: str, user: str, answer: str) -> FunctionError:
    said = f"{what} {name} for user {user} failed to commit with error \n{answer}"
    return FunctionError(said)


@dataclass(frozen=True, slots=True)
class Tab:
    """A crontab as its text; parsed anew for each plan, as a plan tries changes on it."""

    text: str

    def table(self) -> Table:
        """The jobs and variables."""
        return crontab.parse(self.text)


def _read_tab(ctx: MinionContext, user: str) -> Tab:
    return Tab(ctx.follow(cron.raw_cron, user))


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJob(Resource[Tab]):
    """A job in a user's crontab."""

    user: str
    job: CrontabJob

    def read(self, ctx: MinionContext) -> Tab:
        return _read_tab(ctx, self.user)

    def plan(self, now: Tab) -> list[Step]:
        answer, name = crontab.put_job(now.table(), self.job), self.job.cmd
        if answer == "present":
            return []
        is_new = answer == "new"
        step = Step(
            would=f"Cron {name} is set to be {'added' if is_new else 'updated'}",
            did=f"Cron {name} " + (f"added to {self.user}'s crontab" if is_new else "updated"),
            changes={self.user: name},
            run=self._set_job,
        )
        return [step]

    def _set_job(self, ctx: MinionContext) -> None:
        job = self.job
        set_job: Callable[..., str] = cron.set_special if job.special else cron.set_job
        answer = ctx.follow(
            set_job, self.user, *job.when, job.cmd, job.commented, job.comment, job.identifier
        )
        if answer not in ("new", "updated", "present"):
            raise _build_error("Cron", job.cmd, self.user, answer)

    def comment_unchanged(self, now: Tab) -> str:
        return f"Cron {self.job.cmd} already present"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable(Resource[Tab]):
    """A variable in a user's crontab."""

    name: str
    user: str
    value: Any

    def read(self, ctx: MinionContext) -> Tab:
        return _read_tab(ctx, self.user)

    def plan(self, now: Tab) -> list[Step]:
        there = now.table().env.get(self.name)
        if there == ('""' if self.value in (None, "") else str(self.value)):
            return []
        is_new = there is None
        step = Step(
            would=f"Cron env {self.name} is set to be {'added' if is_new else 'updated'}",
            did=f"Cron env {self.name} "
            + (f"added to {self.user}'s crontab" if is_new else "updated"),
            changes={self.user: self.name},
            run=self._set_variable,
        )
        return [step]

    def _set_variable(self, ctx: MinionContext) -> None:
        answer = ctx.follow(cron.set_env, self.user, self.name, self.value)
        if answer not in ("new", "updated", "present"):
            raise _build_error("Cron env", self.name, self.user, answer)

    def comment_unchanged(self, now: Tab) -> str:
        return f"Cron env {self.name} already present"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTab(Resource[Tab]):
    """All of a user's crontab."""

    user: str
    group: str
    text: str = field(repr=False)
    replace: bool

    def read(self, ctx: MinionContext) -> Tab:
        return _read_tab(ctx, self.user)

    def plan(self, now: Tab) -> list[Step]:
        if now.text == self.text or (now.text and not self.replace):
            return []
        before = (now.text or "\n").splitlines(keepends=True)
        diff = "".join(difflib.unified_diff(before, self.text.splitlines(keepends=True)))
        owner = {} if self.user == "root" else {"user": self.user, "group": self.group}
        step = Step(
            would=f"The following values are set to be changed:\ndiff: {diff}\n",
            did=f"Crontab for user {self.user} was updated",
            changes={"diff": diff, **owner},
            run=self._write_tab,
        )
        return [step]

    def _write_tab(self, ctx: MinionContext) -> None:
        with ctx.host.private_file(self.text.encode()) as path:
            done = ctx.follow(cron.write_cron_file_verbose, self.user, path)
            said = str(done["stderr"])
            if done["retcode"] != 0:
                said = f"Unable to update user {self.user} crontab {path}. Error: {said}"
                raise FunctionError(said)

    def comment_unchanged(self, now: Tab) -> str:
        return f"Crontab for user {self.user} is in the correct state"
