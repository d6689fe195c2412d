"""Run commands on the minion.

The options are explained at :class:`saltlite.providers.command.CommandOptions`; every function
lists those it takes, in Salt's order, since people also give them by position.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import replace
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError
from saltlite.providers import command
from saltlite.providers.command import DEFAULT_SHELL, CommandOptions

log = logging.getLogger(__name__)

_NOT_CACHED = {"pid": 0, "retcode": 1, "stdout": "", "stderr": "", "cache_error": True}


def run(
    ctx: MinionContext,
    cmd: object,
    cwd: str | None = None,
    stdin: object = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str = DEFAULT_SHELL,
    python_shell: bool | None = None,
    env: object = None,
    clean_env: bool = False,
    template: str | None = None,
    rstrip: bool = True,
    umask: object = None,
    output_encoding: str | None = None,
    output_loglevel: str = "debug",
    log_callback: object = None,
    hide_output: bool = False,
    timeout: float | None = None,
    reset_system_locale: bool = True,
    ignore_retcode: bool = False,
    saltenv: str | None = None,
    use_vt: bool = False,
    redirect_stderr: bool = True,
    bg: bool = False,
    password: str | None = None,
    encoded_cmd: bool = False,
    raise_err: bool = False,
    prepend_path: str | None = None,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    **kwargs: Any,
) -> str:
    r"""Run a command and give back its output, errors included.

    The job's exit code is the command's, unless ``ignore_retcode`` is set or ``success_retcodes``,
    ``success_stdout`` or ``success_stderr`` call it a success. ``timeout`` is in seconds. With
    ``raise_err`` a failure is an error that says what the command wrote.

    CLI Example:

        salt '*' cmd.run "ls -l | awk '/foo/{print \$2}'"
        salt '*' cmd.run 'grep f' stdin='one\ntwo\nthree\nfour'
    """
    options = CommandOptions.of(locals())
    if bg:
        command.start(ctx, cmd, options)
        return ""
    outcome = command.run(ctx, cmd, options)
    if raise_err and outcome.retcode != 0:
        raise FunctionError(outcome.stdout)
    command.log_output(outcome.stdout, options, outcome.retcode)
    return outcome.stdout


def shell(
    ctx: MinionContext,
    cmd: object,
    cwd: str | None = None,
    stdin: object = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str = DEFAULT_SHELL,
    env: object = None,
    clean_env: bool = False,
    template: str | None = None,
    rstrip: bool = True,
    umask: object = None,
    output_encoding: str | None = None,
    output_loglevel: str = "debug",
    log_callback: object = None,
    hide_output: bool = False,
    timeout: float | None = None,
    reset_system_locale: bool = True,
    ignore_retcode: bool = False,
    saltenv: str | None = None,
    use_vt: bool = False,
    bg: bool = False,
    password: str | None = None,
    prepend_path: str | None = None,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    **kwargs: Any,
) -> str:
    """Run a command in a shell and give back its output; otherwise as ``cmd.run``.

    CLI Example:

        salt '*' cmd.shell "echo $HOME | tr a-z A-Z"
    """
    wants_shell = kwargs.get("python_shell", True)
    options = CommandOptions.of(locals(), python_shell=wants_shell, redirect_stderr=True)
    if bg:
        command.start(ctx, cmd, options)
        return ""
    outcome = command.run(ctx, cmd, options)
    command.log_output(outcome.stdout, options, outcome.retcode)
    return outcome.stdout


def run_stdout(
    ctx: MinionContext,
    cmd: object,
    cwd: str | None = None,
    stdin: object = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str = DEFAULT_SHELL,
    python_shell: bool | None = None,
    env: object = None,
    clean_env: bool = False,
    template: str | None = None,
    rstrip: bool = True,
    umask: object = None,
    output_encoding: str | None = None,
    output_loglevel: str = "debug",
    log_callback: object = None,
    hide_output: bool = False,
    timeout: float | None = None,
    reset_system_locale: bool = True,
    ignore_retcode: bool = False,
    saltenv: str | None = None,
    use_vt: bool = False,
    password: str | None = None,
    prepend_path: str | None = None,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    **kwargs: Any,
) -> str:
    """Run a command and give back its standard output; options as for ``cmd.run``.

    CLI Example:

        salt '*' cmd.run_stdout "ls -l"
    """
    return command.run(ctx, cmd, CommandOptions.of(locals())).stdout


def run_stderr(
    ctx: MinionContext,
    cmd: object,
    cwd: str | None = None,
    stdin: object = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str = DEFAULT_SHELL,
    python_shell: bool | None = None,
    env: object = None,
    clean_env: bool = False,
    template: str | None = None,
    rstrip: bool = True,
    umask: object = None,
    output_encoding: str | None = None,
    output_loglevel: str = "debug",
    log_callback: object = None,
    hide_output: bool = False,
    timeout: float | None = None,
    reset_system_locale: bool = True,
    ignore_retcode: bool = False,
    saltenv: str | None = None,
    use_vt: bool = False,
    password: str | None = None,
    prepend_path: str | None = None,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    **kwargs: Any,
) -> str:
    """Run a command and give back its standard error; options as for ``cmd.run``.

    CLI Example:

        salt '*' cmd.run_stderr "ls /nosuch"
    """
    return command.run(ctx, cmd, CommandOptions.of(locals())).stderr


def run_all(
    ctx: MinionContext,
    cmd: object,
    cwd: str | None = None,
    stdin: object = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str = DEFAULT_SHELL,
    python_shell: bool | None = None,
    env: object = None,
    clean_env: bool = False,
    template: str | None = None,
    rstrip: bool = True,
    umask: object = None,
    output_encoding: str | None = None,
    output_loglevel: str = "debug",
    log_callback: object = None,
    hide_output: bool = False,
    timeout: float | None = None,
    reset_system_locale: bool = True,
    ignore_retcode: bool = False,
    saltenv: str | None = None,
    use_vt: bool = False,
    redirect_stderr: bool = False,
    password: str | None = None,
    encoded_cmd: bool = False,
    prepend_path: str | None = None,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Run a command and give back ``pid``, ``retcode``, ``stdout`` and ``stderr``.

    Options as for ``cmd.run``; ``redirect_stderr`` joins both outputs.

    CLI Example:

        salt '*' cmd.run_all "ls -l"
    """
    return command.run(ctx, cmd, CommandOptions.of(locals())).as_map()


def retcode(
    ctx: MinionContext,
    cmd: object,
    cwd: str | None = None,
    stdin: object = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str = DEFAULT_SHELL,
    python_shell: bool | None = None,
    env: object = None,
    clean_env: bool = False,
    template: str | None = None,
    umask: object = None,
    output_encoding: str | None = None,
    output_loglevel: str = "debug",
    log_callback: object = None,
    timeout: float | None = None,
    reset_system_locale: bool = True,
    ignore_retcode: bool = False,
    saltenv: str | None = None,
    use_vt: bool = False,
    password: str | None = None,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    **kwargs: Any,
) -> int:
    """Run a command and give back its exit code; options as for ``cmd.run``.

    CLI Example:

        salt '*' cmd.retcode "grep -q foo /etc/motd"
    """
    return command.run(ctx, cmd, CommandOptions.of(locals())).retcode


def run_bg(
    ctx: MinionContext,
    cmd: object,
    cwd: str | None = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str = DEFAULT_SHELL,
    python_shell: bool | None = None,
    env: object = None,
    clean_env: bool = False,
    template: str | None = None,
    umask: object = None,
    timeout: float | None = None,
    output_encoding: str | None = None,
    output_loglevel: str = "debug",
    log_callback: object = None,
    reset_system_locale: bool = True,
    ignore_retcode: bool = False,
    saltenv: str | None = None,
    password: str | None = None,
    prepend_path: str | None = None,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    **kwargs: Any,
) -> dict[str, int]:
    """Start a command and do not wait for it; gives back ``pid``.

    CLI Example:

        salt '*' cmd.run_bg "sleep 600"
    """
    return {"pid": command.start(ctx, cmd, CommandOptions.of(locals()))}


def script(
    ctx: MinionContext,
    source: str,
    args: object = None,
    cwd: str | None = None,
    stdin: object = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str = DEFAULT_SHELL,
    python_shell: bool | None = None,
    env: object = None,
    template: str | None = None,
    umask: object = None,
    output_encoding: str | None = None,
    output_loglevel: str = "debug",
    log_callback: object = None,
    hide_output: bool = False,
    timeout: float | None = None,
    reset_system_locale: bool = True,
    saltenv: str | None = None,
    use_vt: bool = False,
    bg: bool = False,
    password: str | None = None,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Fetch a script (``salt://`` or a path here) and run it; gives back as ``cmd.run_all``.

    ``args`` is a list, or text that is split as a shell would. The script runs from a private copy.

    CLI Example:

        salt '*' cmd.script salt://scripts/runme.sh 'arg1 arg2 "arg 3"'
    """
    return _run_script(ctx, source, args, CommandOptions.of(locals()), kwargs, wait=not bg)


def script_retcode(
    ctx: MinionContext,
    source: str,
    args: object = None,
    cwd: str | None = None,
    stdin: object = None,
    runas: str | None = None,
    group: str | None = None,
    shell: str = DEFAULT_SHELL,
    python_shell: bool | None = None,
    env: object = None,
    template: str | None = "jinja",
    umask: object = None,
    timeout: float | None = None,
    reset_system_locale: bool = True,
    saltenv: str | None = None,
    output_encoding: str | None = None,
    output_loglevel: str = "debug",
    log_callback: object = None,
    use_vt: bool = False,
    password: str | None = None,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    **kwargs: Any,
) -> int:
    """Fetch a script, run it, and give back its exit code; as ``cmd.script``.

    CLI Example:

        salt '*' cmd.script_retcode salt://scripts/runme.sh 'arg1 arg2'
    """
    code: int = _run_script(ctx, source, args, CommandOptions.of(locals()), kwargs)["retcode"]
    return code


def exec_code(
    ctx: MinionContext,
    lang: str,
    code: str,
    cwd: str | None = None,
    args: object = None,
    **kwargs: Any,
) -> str:
    """Run a piece of a program with an interpreter and give back its standard output.

    CLI Example:

        salt '*' cmd.exec_code ruby 'puts "cheese"'
    """
    text: str = exec_code_all(ctx, lang, code, cwd, args, **kwargs)["stdout"]
    return text


def exec_code_all(
    ctx: MinionContext,
    lang: str,
    code: str,
    cwd: str | None = None,
    args: Any = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Run a piece of a program with an interpreter; gives back as ``cmd.run_all``.

    ``args`` is one argument, or a list.

    CLI Example:

        salt '*' cmd.exec_code_all ruby 'puts "cheese"'
    """
    options = CommandOptions.of({**kwargs, "kwargs": kwargs}, cwd=cwd)
    given = [args] if isinstance(args, str) else list(args or [])
    with ctx.host.private_file(code.encode(), owner=options.runas) as path:
        argv = [*shlex.split(lang), path, *map(str, given)]
        return command.run(ctx, argv, options).as_map()


def has_exec(ctx: MinionContext, cmd: str) -> bool:
    """Whether there is a program of this name.

    CLI Example:

        salt '*' cmd.has_exec cat
    """
    return ctx.host.which(str(cmd)) is not None


def which(ctx: MinionContext, cmd: str) -> str | None:
    """The path of a program, ``None`` if there is none.

    CLI Example:

        salt '*' cmd.which cat
    """
    if not cmd:
        log.error("cmd.which: no program was named")
    return ctx.host.which(str(cmd))


def which_bin(ctx: MinionContext, cmds: object) -> str | None:
    """The path of the first of these programs that is there.

    CLI Example:

        salt '*' cmd.which_bin '[pip2, pip, pip-python]'
    """
    names: Sequence[Any] = cmds if isinstance(cmds, (list, tuple)) else [cmds]
    found = (ctx.host.which(str(name)) for name in names)
    return next((path for path in found if path), None)


def shells(ctx: MinionContext) -> list[str]:
    """The login shells that ``/etc/shells`` names.

    CLI Example:

        salt '*' cmd.shells
    """
    lines = (ctx.host.read_text("/etc/shells") or "").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("/")]


def tty(ctx: MinionContext, device: str, echo: str = "") -> dict[str, str]:
    """Write a line to a terminal.

    CLI Example:

        salt '*' cmd.tty tty0 'This is a test'
        salt '*' cmd.tty pts3 'This is a test'
    """
    name = str(device)
    if not name.removeprefix("tty").removeprefix("pts").isalnum():
        return {"Error": "The specified device is not a valid TTY"}
    if name.startswith("tty"):
        path = f"/dev/{name}"
    elif name.startswith("pts"):
        path = f"/dev/pts/{name[3:]}"
    else:
        return {"Error": "The specified device is not a valid TTY"}
    if not ctx.host.write_device(path, f"{echo}\n".encode()):
        return {"Error": f"Echoing to {path} returned error"}
    return {"Success": f"Message was successfully echoed to {path}"}


_THEN_REMOVE = '"$@"; rm -f -- "$0"; rmdir -- "${0%/*}"'
"""For a shell: run a command, then remove the script and its directory. Holds no user's words."""


def _run_script(
    ctx: MinionContext,
    source: str,
    args: Any,
    options: CommandOptions,
    variables: Mapping[str, object],
    *,
    wait: bool = True,
) -> dict[str, Any]:
    content = _read_script(ctx, source, options, variables)
    if content is None:
        return dict(_NOT_CACHED)
    options = replace(options, template=None)
    given = shlex.split(args) if isinstance(args, str) else [str(arg) for arg in args or []]
    with ctx.host.private_file(
        content, owner=options.runas, suffix=_script_suffix(source), keep=not wait
    ) as path:
        argv = [path, *given] if content.startswith(b"#!") else [options.shell, path, *given]
        if wait:
            return command.run(ctx, argv, options, shown=path).as_map()
        pid = command.start(ctx, ["/bin/sh", "-c", _THEN_REMOVE, path, *argv], options)
    return {"pid": pid, "retcode": None, "stdout": "", "stderr": ""}


def _script_suffix(source: str) -> str:
    """The ending of a file name, since some interpreters look at it."""
    dot, ending = source.rpartition(".")[1:]
    return f"{dot}{ending}" if dot and ending.isalnum() else ""


def _read_script(
    ctx: MinionContext, source: str, options: CommandOptions, variables: Mapping[str, object]
) -> bytes | None:
    """What a script says, ``None`` if it cannot be had; raises RenderError."""
    from saltlite.fileserver.client import file_client

    saltenv = options.saltenv or ctx.config.files.saltenv or "base"
    path = file_client(ctx).cache_file(source, saltenv)
    content = ctx.host.read_bytes(path) if path else None
    if content is None or not options.template:
        return content
    from saltlite.templates.template import ENGINES, render_template

    if options.template not in ENGINES:
        log.error("Attempted to render template with unavailable engine %s", options.template)
        return None
    own = own_keywords(variables)
    context = {**own, **(own.pop("context", None) or {})}
    text = content.decode("utf-8", "surrogateescape")
    rendered = render_template(
        text, options.template, ctx, saltenv=saltenv, context=context, path=source
    )
    return rendered.encode("utf-8", "surrogateescape")
