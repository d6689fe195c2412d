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
from saltlite.core.arguments import takes_options
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers import command, supervisor
from saltlite.providers.command import CommandOptions

_LISTED = (0, 3)
"""Exit codes of ``supervisorctl status``: all run, not all do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorCaller:
    """Which supervisorctl runs, and as whom."""

    user: str | None = None
    conf_file: str | None = None
    bin_env: str | None = None


def _find_program(host: Host, bin_env: str | None) -> str:
    if not bin_env:
        return "supervisorctl"
    if not os.path.isdir(bin_env):
        return str(bin_env)
    found = os.path.join(bin_env, "bin", "supervisorctl")
    if not host.exists(found):
        raise FunctionError("could not find a supervisorctl binary")
    return found


def _run_ctl(
    ctx: MinionContext, caller: SupervisorCaller, words: list[str], fine: tuple[int, ...] = (0,)
) -> str:
    """What it said; behind ``ERROR:`` if it failed and does not say so itself."""
    config = ["-c", str(caller.conf_file)] if caller.conf_file else []
    argv = [_find_program(ctx.host, caller.bin_env), *config, *words]
    how = CommandOptions(runas=caller.user, python_shell=False, ignore_retcode=True)
    done = command.run(ctx, argv, how)
    failed = done.retcode not in fine and "ERROR" not in done.stdout
    return f"ERROR: {done.stdout or done.stderr}" if failed else done.stdout


@takes_options(SupervisorCaller)
def start(ctx: MinionContext, caller: SupervisorCaller, /, name: str = "all") -> str:
    """Start a program, ``group:`` all of a group; what supervisorctl said.

    CLI Example:

        salt '*' supervisord.start <service>
        salt '*' supervisord.start <group>:
    """
    return _run_ctl(ctx, caller, ["start", str(name)])


@takes_options(SupervisorCaller)
def restart(ctx: MinionContext, caller: SupervisorCaller, /, name: str = "all") -> str:
    """Stop and start a program, ``group:`` all of a group; what supervisorctl said.

    CLI Example:

        salt '*' supervisord.restart <service>
    """
    return _run_ctl(ctx, caller, ["restart", str(name)])


@takes_options(SupervisorCaller)
def stop(ctx: MinionContext, caller: SupervisorCaller, /, name: str = "all") -> str:
    """Stop a program, ``group:`` all of a group; what supervisorctl said.

    CLI Example:

        salt '*' supervisord.stop <service>
    """
    return _run_ctl(ctx, caller, ["stop", str(name)])


@takes_options(SupervisorCaller)
def add(ctx: MinionContext, caller: SupervisorCaller, /, name: str) -> str:
    """Let supervisord have a program or group of its configuration; what supervisorctl said.

    CLI Example:

        salt '*' supervisord.add <name>
    """
    return _change_group(ctx, caller, "add", name)


@takes_options(SupervisorCaller)
def remove(ctx: MinionContext, caller: SupervisorCaller, /, name: str) -> str:
    """Let supervisord forget a program or group that is stopped; what supervisorctl said.

    CLI Example:

        salt '*' supervisord.remove <name>
    """
    return _change_group(ctx, caller, "remove", name)


def _change_group(ctx: MinionContext, caller: SupervisorCaller, verb: str, name: str) -> str:
    """Groups are added and removed by their bare names."""
    bare = str(name).removesuffix("*").removesuffix(":")
    return _run_ctl(ctx, caller, [verb, bare])


@takes_options(SupervisorCaller)
def reread(ctx: MinionContext, caller: SupervisorCaller, /) -> str:
    """Let supervisord read its configuration again; what of it is another, nothing is done yet.

    CLI Example:

        salt '*' supervisord.reread
    """
    return _run_ctl(ctx, caller, ["reread"])


@takes_options(SupervisorCaller, "* name")
def update(ctx: MinionContext, caller: SupervisorCaller, /, name: str | None = None) -> str:
    """Read the configuration again, and start, restart and stop what is another in it.

    ``name`` is a group that this is done for alone.

    CLI Example:

        salt '*' supervisord.update
    """
    words = ["update", *([str(name)] if name else [])]
    return _run_ctl(ctx, caller, words)


@takes_options(SupervisorCaller)
def status(
    ctx: MinionContext, caller: SupervisorCaller, /, name: str | None = None
) -> dict[str, dict[str, str]]:
    """``{process: {"state", "reason"}}`` of all processes, or of one program or group.

    CLI Example:

        salt '*' supervisord.status
    """
    return supervisor.parse_status(_read_status(ctx, caller, name))


@takes_options(SupervisorCaller)
def status_raw(ctx: MinionContext, caller: SupervisorCaller, /, name: str | None = None) -> str:
    """The list of processes as supervisorctl writes it.

    CLI Example:

        salt '*' supervisord.status_raw
    """
    return _read_status(ctx, caller, name)


def _read_status(ctx: MinionContext, caller: SupervisorCaller, name: str | None) -> str:
    words = ["status", *([str(name)] if name else [])]
    return _run_ctl(ctx, caller, words, fine=_LISTED)


@takes_options(SupervisorCaller)
def status_bool(
    ctx: MinionContext,
    caller: SupervisorCaller,
    /,
    name: str | None = None,
    expected_state: str | None = None,
) -> bool:
    """Whether a process, or each of several, is running, or is in ``expected_state``.

    CLI Example:

        salt '*' supervisord.status_bool nginx expected_state='STOPPED'
    """
    found = supervisor.parse_status(_read_status(ctx, caller, name)).values()
    wanted = (expected_state or "RUNNING").upper()
    return bool(found) and all(each["state"] == wanted for each in found)


@takes_options(SupervisorCaller)
def custom(ctx: MinionContext, caller: SupervisorCaller, /, command: str) -> str:
    """Any command of supervisorctl, in the quoting of a shell; what it said.

    CLI Example:

        salt '*' supervisord.custom "signal HUP nginx"
    """
    return _run_ctl(ctx, caller, shlex.split(command))


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
