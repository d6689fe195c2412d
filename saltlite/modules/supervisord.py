"""Programs that supervisord keeps running, through ``supervisorctl``.

``bin_env`` is the program, or the directory of a virtual environment that has it; ``conf_file`` is
the configuration that says where supervisord listens. Answers observed on Salt 3006.30.
"""

from __future__ import annotations

import glob
import os
import shlex
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.providers import command, supervisor
from saltlite.providers.command import CommandOptions

_LISTED = (0, 3)
"""Exit codes of ``supervisorctl status``: all run, not all do."""


def _find_program(ctx: MinionContext, bin_env: str | None) -> str:
    if not bin_env:
        return "supervisorctl"
    if not os.path.isdir(bin_env):
        return str(bin_env)
    found = os.path.join(bin_env, "bin", "supervisorctl")
    if not ctx.host.exists(found):
        raise FunctionError("could not find a supervisorctl binary")
    return found


def _run_ctl(
    ctx: MinionContext,
    words: list[str],
    user: str | None,
    conf_file: str | None,
    bin_env: str | None,
    *,
    fine: tuple[int, ...] = (0,),
) -> str:
    """What it said; behind ``ERROR:`` if it failed and does not say so itself."""
    config = ["-c", str(conf_file)] if conf_file else []
    argv = [_find_program(ctx, bin_env), *config, *words]
    how = CommandOptions(runas=user, python_shell=False, ignore_retcode=True)
    done = command.run(ctx, argv, how)
    failed = done.retcode not in fine and "ERROR" not in done.stdout
    return f"ERROR: {done.stdout or done.stderr}" if failed else done.stdout


def start(
    ctx: MinionContext,
    name: str = "all",
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
) -> str:
    """Start a program, ``group:`` all of a group; what supervisorctl said.

    CLI Example:

        salt '*' supervisord.start <service>
        salt '*' supervisord.start <group>:
    """
    return _run_ctl(ctx, ["start", str(name)], user, conf_file, bin_env)


def restart(
    ctx: MinionContext,
    name: str = "all",
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
) -> str:
    """Stop and start a program, ``group:`` all of a group; what supervisorctl said.

    CLI Example:

        salt '*' supervisord.restart <service>
    """
    return _run_ctl(ctx, ["restart", str(name)], user, conf_file, bin_env)


def stop(
    ctx: MinionContext,
    name: str = "all",
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
) -> str:
    """Stop a program, ``group:`` all of a group; what supervisorctl said.

    CLI Example:

        salt '*' supervisord.stop <service>
    """
    return _run_ctl(ctx, ["stop", str(name)], user, conf_file, bin_env)


def add(
    ctx: MinionContext,
    name: str,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
) -> str:
    """Let supervisord have a program or group of its configuration; what supervisorctl said.

    CLI Example:

        salt '*' supervisord.add <name>
    """
    return _change_group(ctx, "add", name, user, conf_file, bin_env)


def remove(
    ctx: MinionContext,
    name: str,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
) -> str:
    """Let supervisord forget a program or group that is stopped; what supervisorctl said.

    CLI Example:

        salt '*' supervisord.remove <name>
    """
    return _change_group(ctx, "remove", name, user, conf_file, bin_env)


def _change_group(
    ctx: MinionContext,
    verb: str,
    name: str,
    user: str | None,
    conf_file: str | None,
    bin_env: str | None,
) -> str:
    """Groups are added and removed by their bare names."""
    bare = str(name).removesuffix("*").removesuffix(":")
    return _run_ctl(ctx, [verb, bare], user, conf_file, bin_env)


def reread(
    ctx: MinionContext,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
) -> str:
    """Let supervisord read its configuration again; what of it is another, nothing is done yet.

    CLI Example:

        salt '*' supervisord.reread
    """
    return _run_ctl(ctx, ["reread"], user, conf_file, bin_env)


def update(
    ctx: MinionContext,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
    name: str | None = None,
) -> str:
    """Read the configuration again, and start, restart and stop what is another in it.

    ``name`` is a group that this is done for alone.

    CLI Example:

        salt '*' supervisord.update
    """
    words = ["update", *([str(name)] if name else [])]
    return _run_ctl(ctx, words, user, conf_file, bin_env)


def status(
    ctx: MinionContext,
    name: str | None = None,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
) -> dict[str, dict[str, str]]:
    """``{process: {"state", "reason"}}`` of all processes, or of one program or group.

    CLI Example:

        salt '*' supervisord.status
    """
    return supervisor.parse_status(status_raw(ctx, name, user, conf_file, bin_env))


def status_raw(
    ctx: MinionContext,
    name: str | None = None,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
) -> str:
    """The list of processes as supervisorctl writes it.

    CLI Example:

        salt '*' supervisord.status_raw
    """
    words = ["status", *([str(name)] if name else [])]
    return _run_ctl(ctx, words, user, conf_file, bin_env, fine=_LISTED)


def status_bool(
    ctx: MinionContext,
    name: str | None = None,
    expected_state: str | None = None,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
) -> bool:
    """Whether a process, or each of several, is running, or is in ``expected_state``.

    CLI Example:

        salt '*' supervisord.status_bool nginx expected_state='STOPPED'
    """
    found = status(ctx, name, user, conf_file, bin_env).values()
    wanted = (expected_state or "RUNNING").upper()
    return bool(found) and all(each["state"] == wanted for each in found)


def custom(
    ctx: MinionContext,
    command: str,
    user: str | None = None,
    conf_file: str | None = None,
    bin_env: str | None = None,
) -> str:
    """Any command of supervisorctl, in the quoting of a shell; what it said.

    CLI Example:

        salt '*' supervisord.custom "signal HUP nginx"
    """
    return _run_ctl(ctx, shlex.split(command), user, conf_file, bin_env)


def options(ctx: MinionContext, name: str, conf_file: str | None = None) -> dict[str, Any]:
    """The options of a program in the configuration and the files that it includes.

    CLI Example:

        salt '*' supervisord.options foo
    """
    found = conf_file or next(filter(ctx.host.exists, supervisor.CONFIG_FILES), None)
    if found is None:
        raise FunctionError("No suitable config file found")
    main = ctx.host.read_text(found) or ""
    texts = {found: main}
    for pattern in supervisor.included_patterns(main):
        below = os.path.join(os.path.dirname(found), pattern)
        texts |= {path: ctx.host.read_text(path) or "" for path in sorted(glob.glob(below))}
    return supervisor.options_of(texts, str(name))
