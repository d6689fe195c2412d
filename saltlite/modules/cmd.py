"""Run commands on the minion.

The options are explained at :class:`saltlite.providers.command.CommandOptions`, which has them in
Salt's order, since people also give them by position.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import select_options, takes_options
from saltlite.core.dataclasses import replace
from saltlite.errors import FunctionError
from saltlite.providers import command
from saltlite.providers.command import CommandOptions

log = logging.getLogger(__name__)

_NOT_CACHED = {"pid": 0, "retcode": 1, "stdout": "", "stderr": "", "cache_error": True}


@takes_options(CommandOptions, redirect_stderr=True)
def run(ctx: MinionContext, options: CommandOptions, /, cmd: object) -> str:
    r"""Run a command and give back its output, errors included.

    The job's exit code is the command's, unless ``ignore_retcode`` is set or ``success_retcodes``,
    ``success_stdout`` or ``success_stderr`` call it a success. ``timeout`` is in seconds. With
    ``raise_err`` a failure is an error that says what the command wrote.

    CLI Example:

        salt '*' cmd.run "ls -l | awk '/foo/{print \$2}'"
        salt '*' cmd.run 'grep f' stdin='one\ntwo\nthree\nfour'
    """
    return _run_command(ctx, cmd, options)


@takes_options(CommandOptions, without="python_shell redirect_stderr encoded_cmd raise_err")
def shell(ctx: MinionContext, options: CommandOptions, /, cmd: object) -> str:
    """Run a command in a shell and give back its output; otherwise as ``cmd.run``.

    CLI Example:

        salt '*' cmd.shell "echo $HOME | tr a-z A-Z"
    """
    wants_shell: Any = options.kwargs.get("python_shell", True)
    options = replace(options, python_shell=wants_shell, redirect_stderr=True)
    return _run_command(ctx, cmd, options)


def _run_command(ctx: MinionContext, cmd: object, options: CommandOptions) -> str:
    """Run a command, or start it if nobody waits; its output."""
    if options.bg:
        command.start(ctx, cmd, options)
        return ""
    outcome = command.run(ctx, cmd, options, returns_all=options.redirect_stderr)
    if options.raise_err and outcome.retcode != 0:
        raise FunctionError(outcome.stdout)
    command.log_output(outcome.stdout, options, outcome.retcode)
    return outcome.stdout


@takes_options(CommandOptions, without="redirect_stderr bg encoded_cmd raise_err")
def run_stdout(ctx: MinionContext, options: CommandOptions, /, cmd: object) -> str:
    """Run a command and give back its standard output; options as for ``cmd.run``.

    CLI Example:

        salt '*' cmd.run_stdout "ls -l"
    """
    return command.run(ctx, cmd, options).stdout


@takes_options(CommandOptions, without="redirect_stderr bg encoded_cmd raise_err")
def run_stderr(ctx: MinionContext, options: CommandOptions, /, cmd: object) -> str:
    """Run a command and give back its standard error; options as for ``cmd.run``.

    CLI Example:

        salt '*' cmd.run_stderr "ls /nosuch"
    """
    return command.run(ctx, cmd, options).stderr


@takes_options(CommandOptions, without="bg raise_err")
def run_all(ctx: MinionContext, options: CommandOptions, /, cmd: object) -> dict[str, Any]:
    """Run a command and give back ``pid``, ``retcode``, ``stdout`` and ``stderr``.

    Options as for ``cmd.run``; ``redirect_stderr`` joins both outputs.

    CLI Example:

        salt '*' cmd.run_all "ls -l"
    """
    return command.run(ctx, cmd, options, returns_all=True).as_map()


@takes_options(
    CommandOptions,
    without="rstrip hide_output redirect_stderr bg encoded_cmd raise_err prepend_path",
)
def retcode(ctx: MinionContext, options: CommandOptions, /, cmd: object) -> int:
    """Run a command and give back its exit code; options as for ``cmd.run``.

    CLI Example:

        salt '*' cmd.retcode "grep -q foo /etc/motd"
    """
    return command.run(ctx, cmd, options).retcode


@takes_options(
    CommandOptions,
    "cwd runas group shell python_shell env clean_env template umask timeout output_encoding"
    " output_loglevel log_callback reset_system_locale ignore_retcode saltenv password"
    " prepend_path success_retcodes success_stdout success_stderr",
)
def run_bg(ctx: MinionContext, options: CommandOptions, /, cmd: object) -> dict[str, int]:
    """Start a command and do not wait for it; gives back ``pid``.

    CLI Example:

        salt '*' cmd.run_bg "sleep 600"
    """
    return {"pid": command.start(ctx, cmd, options)}


@takes_options(
    CommandOptions,
    without="clean_env rstrip ignore_retcode redirect_stderr encoded_cmd raise_err prepend_path",
)
def script(
    ctx: MinionContext, options: CommandOptions, /, source: str, args: object = None
) -> dict[str, Any]:
    """Fetch a script (``salt://`` or a path here) and run it; gives back as ``cmd.run_all``.

    ``args`` is a list, or text that is split as a shell would. The script runs from a private copy.

    CLI Example:

        salt '*' cmd.script salt://scripts/runme.sh 'arg1 arg2 "arg 3"'
    """
    return _run_script(ctx, source, args, options, returns_all=True)


@takes_options(
    CommandOptions,
    "cwd stdin runas group shell python_shell env template umask timeout reset_system_locale"
    " saltenv output_encoding output_loglevel log_callback use_vt password success_retcodes"
    " success_stdout success_stderr",
    template="jinja",
)
def script_retcode(
    ctx: MinionContext, options: CommandOptions, /, source: str, args: object = None
) -> int:
    """Fetch a script, run it, and give back its exit code; as ``cmd.script``.

    CLI Example:

        salt '*' cmd.script_retcode salt://scripts/runme.sh 'arg1 arg2'
    """
    code: int = _run_script(ctx, source, args, options)["retcode"]
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
    options = CommandOptions(**select_options(CommandOptions, kwargs), cwd=cwd, kwargs=kwargs)
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
    *,
    returns_all: bool = False,
) -> dict[str, Any]:
    content = _read_script(ctx, source, options)
    if content is None:
        return dict(_NOT_CACHED)
    options = replace(options, template=None)
    given = shlex.split(args) if isinstance(args, str) else [str(arg) for arg in args or []]
    with ctx.host.private_file(
        content, owner=options.runas, suffix=_script_suffix(source), keep=options.bg
    ) as path:
        argv = [path, *given] if content.startswith(b"#!") else [options.shell, path, *given]
        if not options.bg:
            done = command.run(ctx, argv, options, shown=path, returns_all=returns_all)
            return done.as_map()
        pid = command.start(ctx, ["/bin/sh", "-c", _THEN_REMOVE, path, *argv], options)
    return {"pid": pid, "retcode": None, "stdout": "", "stderr": ""}


def _script_suffix(source: str) -> str:
    """The ending of a file name, since some interpreters look at it."""
    dot, ending = source.rpartition(".")[1:]
    return f"{dot}{ending}" if dot and ending.isalnum() else ""


def _read_script(ctx: MinionContext, source: str, options: CommandOptions) -> bytes | None:
    """What a script says, ``None`` if it cannot be had; raises RenderError."""
    from saltlite.fileserver.client import file_client

    saltenv = options.saltenv or ctx.config.files.saltenv or "base"
    path = file_client(ctx).cache_file(source, saltenv)
    content = ctx.host.read_bytes(path) if path else None
    if content is None or not options.template:
        return content
    from saltlite.core.keywords import own_keywords
    from saltlite.templates.template import ENGINES, render_template

    if options.template not in ENGINES:
        log.error("Attempted to render template with unavailable engine %s", options.template)
        return None
    own = own_keywords(options.kwargs)
    context = {**own, **(own.pop("context", None) or {})}
    text = content.decode("utf-8", "surrogateescape")
    rendered = render_template(
        text, options.template, ctx, saltenv=saltenv, context=context, path=source
    )
    return rendered.encode("utf-8", "surrogateescape")
