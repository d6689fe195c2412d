"""What runs by itself: services, and jobs of cron."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.modules import cron, user
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    LeftOut,
    ListedType,
    StateDeclaration,
    pick_names,
)
from saltlite.providers.cron import crontab


def _list_services(ctx: MinionContext, pattern: str) -> list[str]:
    """All but templates, which are no services: their instances are."""
    names = ctx.functions.call("service.get_all")
    return pick_names((name for name in names if not name.endswith("@")), pattern)


def _declare_services(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    for name in ask.names:
        if name.endswith("@"):
            yield LeftOut(name, "a template; its instances are services")
        elif _is_masked(ctx, name):
            yield StateDeclaration(of=name, fun="service.masked", name=name)
        elif ctx.functions.call("service.available", name):
            runs = bool(ctx.functions.call("service.status", name))
            yield StateDeclaration(
                of=name,
                fun="service.running" if runs else "service.dead",
                name=name,
                arguments=_boot_arguments(ctx, name),
            )


def _boot_arguments(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Whether it starts with the machine; nothing of one for which that is not set."""
    for word, value in (("service.enabled", True), ("service.disabled", False)):
        if ctx.functions.call(word, name):
            return {"enable": value}
    return {}


def _is_masked(ctx: MinionContext, name: str) -> bool:
    try:
        return bool(ctx.functions.call("service.masked", name))
    except SaltliteError:  # of a service manager that has no such thing
        return False


def _list_tabs(ctx: MinionContext, pattern: str) -> list[str]:
    users = pick_names(ctx.follow(user.list_users), pattern)
    return [name for name in users if ctx.follow(cron.raw_cron, name).strip()]


def _declare_tabs(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    for name in ask.names:
        text = ctx.follow(cron.raw_cron, name)
        if not text.strip():
            continue
        table = crontab.parse(text)
        own = [line for line in table.pre if line.strip() and not line.startswith("#")]
        if own or not (table.jobs or table.env):
            yield LeftOut(name, f"{len(own)} lines that stand above Salt's own line")
        for variable, value in table.env.items():
            yield StateDeclaration(
                of=name,
                fun="cron.env_present",
                name=variable,
                arguments={"user": name, "value": "" if value == '""' else value},
                ident=f"cron {name} {variable}",
            )
        for number, job in enumerate(table.jobs, 1):
            if job.identifier is None:
                yield LeftOut(name, f"a job without an identifier, which it would get: {job.cmd}")
                continue
            yield StateDeclaration(
                of=name,
                fun="cron.present",
                name=job.cmd,
                arguments=_job_arguments(name, job),
                ident=f"cron {name} {number}",
            )


def _job_arguments(name: str, job: crontab.CrontabJob) -> dict[str, Any]:
    when = dict(zip(("special",) if job.special else crontab.FIELDS, job.when, strict=True))
    said: dict[str, Any] = {"user": name, **when, "identifier": job.identifier}
    if job.comment is not None:
        said["comment"] = job.comment
    return {**said, "commented": True} if job.commented else said


TYPES = {
    "service": ListedType(_list_services, _declare_services),
    "cron": ListedType(_list_tabs, _declare_tabs),
}
