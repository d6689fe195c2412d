"""Users' crontabs, by way of ``crontab``."""

from __future__ import annotations

import contextlib
import os
import random
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import replace
from saltlite.core.factories import alias_function
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.host import Completed, Host
from saltlite.providers import command, textfile
from saltlite.providers.command import CommandOptions
from saltlite.providers.cron import crontab
from saltlite.providers.cron.crontab import CrontabJob, Table

_NO_CRONTAB = (
    "'cron' __virtual__ returned False: Cannot load cron module: crontab command not found"
)


def list_tab(ctx: MinionContext, user: str) -> dict[str, Any]:
    """A user's crontab: what is his own, jobs, jobs at named moments, settings.

    CLI Example:

        salt '*' cron.list_tab root
    """
    return _load_table(ctx, user).as_map()


ls = alias_function(list_tab, "ls", "cron.list_tab")


def raw_cron(ctx: MinionContext, user: str) -> str:
    """A user's crontab as it is; empty without one.

    CLI Example:

        salt '*' cron.raw_cron root
    """
    options = CommandOptions(python_shell=False, rstrip=False, ignore_retcode=True)
    return command.run(ctx, [*_crontab_command(ctx.host, user), "-l"], options).stdout


def get_entry(
    ctx: MinionContext, user: str, identifier: object = None, cmd: str | None = None
) -> dict[str, Any] | bool:
    """A job by its identifier or its command, ``False`` if there is none.

    CLI Example:

        salt '*' cron.get_entry root identifier=task1
    """
    jobs = sorted(_load_table(ctx, user).jobs, key=lambda job: job.special)
    for job in jobs:
        if identifier is not None and job.identifier == str(identifier):
            return job.as_map()
        if identifier is None and cmd is not None and job.cmd == cmd:
            return job.as_map()
    return False


def set_job(
    ctx: MinionContext,
    user: str,
    minute: object,
    hour: object,
    daymonth: object,
    month: object,
    dayweek: object,
    cmd: str,
    commented: bool = False,
    comment: object = None,
    identifier: object = None,
) -> str:
    """Set a job: ``new``, ``updated``, ``present``, or what went wrong.

    ``random`` stands for a number that is drawn once. ``identifier`` finds the job again when its
    command changes; ``commented`` leaves it there without running it.

    CLI Example:

        salt '*' cron.set_job root '*' '*' '*' '*' 1 /usr/local/weekly
    """
    when = tuple(str(each).lower() for each in (minute, hour, daymonth, month, dayweek))
    return _set_entry(ctx, user, when, cmd, commented, comment, identifier)


def set_special(
    ctx: MinionContext,
    user: str,
    special: str,
    cmd: str,
    commented: bool = False,
    comment: object = None,
    identifier: object = None,
) -> str:
    """Set a job that runs at a named moment: ``@daily``, ``@reboot`` ...

    CLI Example:

        salt '*' cron.set_special root @hourly 'echo foobar'
    """
    return _set_entry(ctx, user, (str(special),), cmd, commented, comment, identifier)


def _set_entry(
    ctx: MinionContext,
    user: str,
    when: tuple[str, ...],
    cmd: str,
    commented: bool,
    comment: object,
    identifier: object,
) -> str:
    wanted = CrontabJob(
        when=when,
        cmd=str(cmd),
        identifier=_read_identifier(identifier),
        comment=None if comment is None else str(comment),
        commented=bool(commented),
    )
    if "\n" in "".join((wanted.cmd, wanted.identifier or "", *when)):
        raise FunctionError("A line of a crontab cannot hold a line feed")
    with _hold_crontab(ctx, user):
        table = _load_table(ctx, user)
        answer = crontab.put_job(table, wanted)
        if answer == "present":
            return answer
        table.jobs[-1] = _draw_random_times(table.jobs[-1])
        return _save_table(ctx.host, user, table, answer)


def _read_identifier(given: object) -> str | None:
    """As text; whatever counts as nothing but is given finds no job and is not written."""
    if given is None:
        return None
    return str(given) if given else ""


def _draw_random_times(job: CrontabJob) -> CrontabJob:
    if job.special:
        return job
    when = tuple(
        str(random.randint(*crontab.RANGES[name])) if value == crontab.RANDOM else value  # noqa: S311 - to spread load
        for name, value in zip(crontab.FIELDS, job.when, strict=True)
    )
    return replace(job, when=when)


def rm_job(
    ctx: MinionContext,
    user: str,
    cmd: str,
    minute: object = None,
    hour: object = None,
    daymonth: object = None,
    month: object = None,
    dayweek: object = None,
    identifier: object = None,
) -> str:
    """Remove a job: ``removed``, ``absent``, or what went wrong. Times that are given must agree.

    CLI Example:

        salt '*' cron.rm_job root /usr/local/weekly
        salt '*' cron.rm_job root /usr/bin/foo dayweek=1
    """
    given = (minute, hour, daymonth, month, dayweek)
    when = {place: str(each).lower() for place, each in enumerate(given) if each is not None}
    return _drop_entry(ctx, user, cmd, when, identifier, special=False)


rm = alias_function(rm_job, "rm", "cron.rm_job")


def rm_special(
    ctx: MinionContext, user: str, cmd: str, special: str | None = None, identifier: object = None
) -> str:
    """Remove a job that runs at a named moment: ``removed`` or ``absent``.

    CLI Example:

        salt '*' cron.rm_special root /usr/bin/foo
    """
    when = {} if special is None else {0: str(special)}
    return _drop_entry(ctx, user, cmd, when, identifier, special=True)


def _drop_entry(
    ctx: MinionContext,
    user: str,
    cmd: str,
    when: dict[int, str],
    identifier: object,
    *,
    special: bool,
) -> str:
    with _hold_crontab(ctx, user):
        table = _load_table(ctx, user)
        answer = crontab.drop(table, str(cmd), when, _read_identifier(identifier), special=special)
        return answer if answer == "absent" else _save_table(ctx.host, user, table, answer)


def set_env(ctx: MinionContext, user: str, name: str, value: object = None) -> str:
    """Set a variable for all jobs: ``new``, ``updated`` or ``present``.

    CLI Example:

        salt '*' cron.set_env root MAILTO user@example.com
    """
    text = '""' if value in (None, "") else str(value)
    with _hold_crontab(ctx, user):
        table = _load_table(ctx, user)
        if table.env.get(name) == text and isinstance(value, str):
            return "present"
        answer = "new" if table.env.pop(name, None) is None else "updated"
        table.env[name] = text
        return _save_table(ctx.host, user, table, answer)


def rm_env(ctx: MinionContext, user: str, name: str) -> str:
    """Remove a variable: ``removed`` or ``absent``.

    CLI Example:

        salt '*' cron.rm_env root MAILTO
    """
    with _hold_crontab(ctx, user):
        table = _load_table(ctx, user)
        if name not in table.env:
            return "absent"
        del table.env[name]
        return _save_table(ctx.host, user, table, "removed")


def write_cron_file(ctx: MinionContext, user: str, path: str) -> bool:
    """Make a file a user's crontab, ``False`` if that fails.

    CLI Example:

        salt '*' cron.write_cron_file root /tmp/new_cron
    """
    found: bool = write_cron_file_verbose(ctx, user, path)["retcode"] == 0
    return found


def write_cron_file_verbose(ctx: MinionContext, user: str, path: str) -> dict[str, Any]:
    """Make a file a user's crontab; gives back as ``cmd.run_all``.

    CLI Example:

        salt '*' cron.write_cron_file_verbose root /tmp/new_cron
    """
    argv = [*_crontab_command(ctx.host, user), _local_copy(ctx, path)]
    with _hold_crontab(ctx, user):
        return command.run(ctx, argv, CommandOptions(python_shell=False)).as_map()


def _hold_crontab(ctx: MinionContext, user: str) -> contextlib.AbstractContextManager[None]:
    return textfile.hold_name(ctx, f"crontab of {user}")


def _local_copy(ctx: MinionContext, path: str) -> str:
    if "://" not in path:
        return path
    try:
        return str(ctx.functions.call("cp.cache_file", path) or path)
    except FunctionUnavailable:
        return path


def _load_table(ctx: MinionContext, user: str) -> Table:
    return crontab.parse(raw_cron(ctx, user))


def _save_table(host: Host, user: str, table: Table, answer: str) -> str:
    """Write a table; the answer if that went well, else what ``crontab`` said."""
    data = table.text().encode("utf-8", "surrogateescape")
    with host.private_file(data) as path:
        done: Completed = host.run([*_crontab_command(host, user), path])
    return answer if done.exit_code == 0 else done.stderr.rstrip()


def _crontab_command(host: Host, user: str) -> list[str]:
    """The command, for another user if it is another one."""
    import pwd

    if host.which("crontab") is None:
        raise FunctionUnavailable("cron", _NO_CRONTAB)
    try:
        own = pwd.getpwuid(os.geteuid()).pw_name == user
    except KeyError:
        own = False
    return ["crontab"] if own else ["crontab", "-u", str(user)]
