"""docker: commands in containers that run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import UsageError
from saltlite.modules.docker.containers import inspect_container
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


def _run_in_container(
    ctx: MinionContext,
    name: str,
    cmd: str,
    exec_driver: str | None,
    stdin: str | None,
    python_shell: bool,
    use_vt: bool,
    keep_env: object,
) -> _Ended:
    for option, value in (("stdin", stdin), ("use_vt", use_vt), ("keep_env", keep_env)):
        if value:
            raise UsageError(f"{option}: not there for commands in containers")
    if exec_driver not in (None, "docker-exec"):
        raise UsageError(f"exec_driver: {exec_driver} is not there, only docker-exec")
    words = ["sh", "-c", cmd] if python_shell else shlex.split(cmd)
    asked = engine(ctx)
    ident = inspect_container(ctx, name)["Id"]
    body: Mapping[str, Any] = {"AttachStdout": True, "AttachStderr": True, "Cmd": words}
    made = asked.post(f"/containers/{segment(ident)}/exec", body)["Id"]
    data = asked.raw("POST", f"/exec/{segment(made)}/start", {"Detach": False, "Tty": False})
    ended = asked.get(f"/exec/{segment(made)}/json")
    stdout, stderr = (text.rstrip("\n") for text in streams(data))
    both = in_order(data).rstrip("\n")
    return _Ended(int(ended.get("Pid") or 0), int(ended["ExitCode"] or 0), stdout, stderr, both)


def run(
    ctx: MinionContext,
    name: str,
    cmd: str,
    exec_driver: str | None = None,
    stdin: str | None = None,
    python_shell: bool = True,
    output_loglevel: str = "debug",
    use_vt: bool = False,
    ignore_retcode: bool = False,
    keep_env: object = None,
) -> str:
    """Run a command in a container: output and complaints.

    CLI Example:

        salt '*' docker.run web 'ls -l /etc'
    """
    return _run_in_container(
        ctx, name, cmd, exec_driver, stdin, python_shell, use_vt, keep_env
    ).both


def run_stdout(
    ctx: MinionContext,
    name: str,
    cmd: str,
    exec_driver: str | None = None,
    stdin: str | None = None,
    python_shell: bool = True,
    output_loglevel: str = "debug",
    use_vt: bool = False,
    ignore_retcode: bool = False,
    keep_env: object = None,
) -> str:
    """Run a command in a container: its output.

    CLI Example:

        salt '*' docker.run_stdout web 'ls -l /etc'
    """
    return _run_in_container(
        ctx, name, cmd, exec_driver, stdin, python_shell, use_vt, keep_env
    ).stdout


def run_stderr(
    ctx: MinionContext,
    name: str,
    cmd: str,
    exec_driver: str | None = None,
    stdin: str | None = None,
    python_shell: bool = True,
    output_loglevel: str = "debug",
    use_vt: bool = False,
    ignore_retcode: bool = False,
    keep_env: object = None,
) -> str:
    """Run a command in a container: its complaints.

    CLI Example:

        salt '*' docker.run_stderr web 'ls /nothing'
    """
    return _run_in_container(
        ctx, name, cmd, exec_driver, stdin, python_shell, use_vt, keep_env
    ).stderr


def run_all(
    ctx: MinionContext,
    name: str,
    cmd: str,
    exec_driver: str | None = None,
    stdin: str | None = None,
    python_shell: bool = True,
    output_loglevel: str = "debug",
    use_vt: bool = False,
    ignore_retcode: bool = False,
    keep_env: object = None,
) -> dict[str, Any]:
    """Run a command in a container: ``pid``, ``retcode``, ``stdout``, ``stderr``.

    CLI Example:

        salt '*' docker.run_all web 'ls -l /etc'
    """
    done = _run_in_container(ctx, name, cmd, exec_driver, stdin, python_shell, use_vt, keep_env)
    return {
        "pid": done.pid,
        "retcode": done.exit_code,
        "stdout": done.stdout,
        "stderr": done.stderr,
    }


def retcode(
    ctx: MinionContext,
    name: str,
    cmd: str,
    exec_driver: str | None = None,
    stdin: str | None = None,
    python_shell: bool = True,
    output_loglevel: str = "debug",
    use_vt: bool = False,
    ignore_retcode: bool = False,
    keep_env: object = None,
) -> int:
    """Run a command in a container: its exit code.

    CLI Example:

        salt '*' docker.retcode web 'test -e /etc/hosts'
    """
    return _run_in_container(
        ctx, name, cmd, exec_driver, stdin, python_shell, use_vt, keep_env
    ).exit_code
