"""docker: commands in containers that run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.dataclasses import dataclass
from saltlite.errors import UsageError
from saltlite.modules.docker.containers import look_at
from saltlite.modules.docker.networks import engine
from saltlite.providers.docker.engine import in_order, segment, streams


@dataclass(frozen=True, slots=True)
class _Ended:
    """A command that ran."""

    pid: int
    exit_code: int
    stdout: str
    stderr: str
    both: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecOptions:
    """How a command is run; what cannot be had in a container is refused."""

    exec_driver: str | None = None
    stdin: str | None = None
    python_shell: bool = True
    output_loglevel: str = "debug"
    use_vt: bool = False
    ignore_retcode: bool = False
    keep_env: object = None


def _run_in_container(ctx: MinionContext, options: ExecOptions, name: str, cmd: str) -> _Ended:
    unknown = {
        "stdin": options.stdin,
        "use_vt": options.use_vt,
        "keep_env": options.keep_env,
    }
    for option, value in unknown.items():
        if value:
            raise UsageError(f"{option}: not there for commands in containers")
    if options.exec_driver not in (None, "docker-exec"):
        raise UsageError(f"exec_driver: {options.exec_driver} is not there, only docker-exec")
    words = ["sh", "-c", cmd] if options.python_shell else shlex.split(cmd)
    asked = engine(ctx)
    ident = look_at(ctx, name).id
    body: Mapping[str, Any] = {"AttachStdout": True, "AttachStderr": True, "Cmd": words}
    made = asked.post(f"/containers/{segment(ident)}/exec", body)["Id"]
    data = asked.raw("POST", f"/exec/{segment(made)}/start", {"Detach": False, "Tty": False})
    ended = asked.get(f"/exec/{segment(made)}/json")
    stdout, stderr = (text.rstrip("\n") for text in streams(data))
    both = in_order(data).rstrip("\n")
    return _Ended(int(ended.get("Pid") or 0), int(ended["ExitCode"] or 0), stdout, stderr, both)


@takes_options(ExecOptions)
def run(ctx: MinionContext, options: ExecOptions, /, name: str, cmd: str) -> str:
    """Run a command in a container: output and complaints.

    CLI Example:

        salt '*' docker.run web 'ls -l /etc'
    """
    return _run_in_container(ctx, options, name, cmd).both


@takes_options(ExecOptions)
def run_stdout(ctx: MinionContext, options: ExecOptions, /, name: str, cmd: str) -> str:
    """Run a command in a container: its output.

    CLI Example:

        salt '*' docker.run_stdout web 'ls -l /etc'
    """
    return _run_in_container(ctx, options, name, cmd).stdout


@takes_options(ExecOptions)
def run_stderr(ctx: MinionContext, options: ExecOptions, /, name: str, cmd: str) -> str:
    """Run a command in a container: its complaints.

    CLI Example:

        salt '*' docker.run_stderr web 'ls /nothing'
    """
    return _run_in_container(ctx, options, name, cmd).stderr


@takes_options(ExecOptions)
def run_all(ctx: MinionContext, options: ExecOptions, /, name: str, cmd: str) -> dict[str, Any]:
    """Run a command in a container: ``pid``, ``retcode``, ``stdout``, ``stderr``.

    CLI Example:

        salt '*' docker.run_all web 'ls -l /etc'
    """
    done = _run_in_container(ctx, options, name, cmd)
    return {
        "pid": done.pid,
        "retcode": done.exit_code,
        "stdout": done.stdout,
        "stderr": done.stderr,
    }


@takes_options(ExecOptions)
def retcode(ctx: MinionContext, options: ExecOptions, /, name: str, cmd: str) -> int:
    """Run a command in a container: its exit code.

    CLI Example:

        salt '*' docker.retcode web 'test -e /etc/hosts'
    """
    return _run_in_container(ctx, options, name, cmd).exit_code
