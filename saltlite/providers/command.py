"""How ``cmd.*`` runs a command: what the options mean, what is logged, what counts as success.

The options and their oddities are Salt's. Neither the environment nor the standard input of a
command ever gets into a log line or an error.
"""

from __future__ import annotations

import fnmatch
import logging
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import CommandError, FunctionError
from saltlite.host import Account, Completed, Host

log = logging.getLogger(__name__)

DEFAULT_SHELL = os.environ.get("SHELL") or "/bin/sh"
"""The shell of commands that name none, as in the grain ``shell``: a service's is ``/bin/sh``."""

LOCALE_NAMES = (
    "LC_CTYPE",
    "LC_NUMERIC",
    "LC_TIME",
    "LC_COLLATE",
    "LC_MONETARY",
    "LC_MESSAGES",
    "LC_PAPER",
    "LC_NAME",
    "LC_ADDRESS",
    "LC_TELEPHONE",
    "LC_MEASUREMENT",
    "LC_IDENTIFICATION",
    "LANGUAGE",
)
"""Set to C for every command, so that its output is the same everywhere."""

LEVELS = {
    "all": logging.NOTSET,
    "garbage": 1,
    "trace": 5,
    "debug": logging.DEBUG,
    "profile": 15,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
QUIET = "quiet"

ENVIRONMENT_TIMEOUT_S = 15.0
"""How long a user's login files may take."""

REPLACED = "\ufffd"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOptions:
    """The options that the functions of ``cmd`` share, by Salt's names.

    ``python_shell`` ``None`` means: a shell if a person asked for the command, none if a template
    or a state did. ``timeout`` is in seconds. ``bg``: nobody waits for the end.
    """

    cwd: str | None = None
    stdin: Any = None
    runas: str | None = None
    group: str | None = None
    shell: str | None = DEFAULT_SHELL
    python_shell: bool | None = None
    env: Any = None
    clean_env: bool = False
    template: str | None = None
    rstrip: bool = True
    umask: Any = None
    output_encoding: str | None = None
    output_loglevel: str = "debug"
    log_callback: object = None
    hide_output: bool = False
    timeout: float | None = None
    reset_system_locale: bool = True
    ignore_retcode: bool = False
    saltenv: str | None = None
    use_vt: bool = False
    redirect_stderr: bool = False
    bg: bool = False
    password: str | None = None
    encoded_cmd: bool = False
    raise_err: bool = False
    prepend_path: str | None = None
    success_retcodes: Any = None
    success_stdout: Any = None
    success_stderr: Any = None
    kwargs: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_from_job(self) -> bool:
        """Whether a person asked for the command."""
        return "__pub_jid" in self.kwargs


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command came to. ``retcode`` is 0 for whatever the options call success."""

    pid: int
    retcode: int
    stdout: str
    stderr: str

    def as_map(self) -> dict[str, Any]:
        """As ``cmd.run_all`` gives it back."""
        return {
            "pid": self.pid,
            "retcode": self.retcode,
            "stdout": self.stdout,
            "stderr": self.stderr,
        }


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A command with everything looked up. ``shell`` is ``None`` for a list of arguments."""

    command: Sequence[str] | str
    shell: str | None
    name: str
    keywords: Mapping[str, Any]


def run(
    ctx: MinionContext,
    cmd: object,
    options: CommandOptions,
    *,
    shown: str | None = None,
    returns_all: bool = False,
) -> Outcome:
    """Run a command to its end, and set the job's retcode.

    ``shown`` is the name for log lines, without it the first word of the command. ``returns_all``:
    all that it prints is returned, so that who asked for the job may hear it before.

    Raises:
        FunctionError: it may not run, an option is wrong, or it could not be started.
    """
    prepared = _prepare_command(ctx, cmd, options, shown)
    timeout_s = _parse_timeout(options.timeout)
    keywords = dict(prepared.keywords)
    if returns_all and _is_told(ctx, options):
        keywords["tell"] = ctx.tells
    try:
        done = ctx.host.run(
            prepared.command,
            shell=prepared.shell,
            stdin=None if options.stdin is None else str(options.stdin).replace("\\n", "\n"),
            timeout_s=timeout_s,
            encoding=str(options.output_encoding or "utf-8"),
            merge_stderr=options.redirect_stderr,
            **keywords,
        )
    except CommandError as error:
        raise _not_started(prepared, error) from error
    except LookupError as error:
        raise FunctionError(str(error)) from error
    if done.timed_out:
        return _build_timeout(cmd, done, options)
    return _finish_command(ctx, prepared.name, done, options)


def _is_told(ctx: MinionContext, options: CommandOptions) -> bool:
    """Whether somebody wants to hear what the command prints, and it is his own.

    Not that of templates and states, which may be a secret that no return has.
    """
    return ctx.tells is not None and options.is_from_job and not options.hide_output


def start(ctx: MinionContext, cmd: object, options: CommandOptions) -> int:
    """Start a command that nobody waits for; its process id. Raises as :func:`run`."""
    prepared = _prepare_command(ctx, cmd, options, None)
    try:
        return ctx.host.start(prepared.command, shell=prepared.shell, **prepared.keywords)
    except CommandError as error:
        raise _not_started(prepared, error) from error


def log_output(text: str, options: CommandOptions, retcode: int) -> None:
    """The line about the whole output that ``cmd.run`` adds to the others."""
    level = _level_of_output(options, retcode)
    if level is not None:
        log.log(level, "output: %s", text)


def _prepare_command(
    ctx: MinionContext, cmd: object, options: CommandOptions, shown: str | None
) -> _Prepared:
    command, wanted_cwd = _expand_command(ctx, cmd, options)
    _check_permission(ctx, command)
    _parse_numbers(options.success_retcodes)
    account = _find_account(ctx.host, options.runas)
    _check_group(options.group)
    shell = _find_shell(ctx.host, options)
    argv = _shell_argv(command, _wants_shell(ctx, options))
    cwd = _find_cwd(wanted_cwd, account)
    name = shown or _first_word(command)
    _log_start(name, account, cwd, _log_level(options))
    keywords = {
        "cwd": cwd,
        "env": _build_environment(ctx.host, options, account, shell),
        "clean_env": options.clean_env,
        "runas": options.runas,
        "group": options.group,
        "umask": _parse_umask(options.umask),
    }
    if argv is None:
        return _Prepared(str(command), shell, name, keywords)
    return _Prepared(argv, None, name, keywords)


def _expand_command(
    ctx: MinionContext, cmd: object, options: CommandOptions
) -> tuple[list[str] | str, str | None]:
    """The command and its directory as text, rendered if they are templates."""
    command: list[str] | str = list(map(str, cmd)) if isinstance(cmd, (list, tuple)) else str(cmd)
    if not options.template:
        return command, options.cwd
    cwd = _render_text(ctx, options.cwd, options) if options.cwd else options.cwd
    if isinstance(command, str):
        return _render_text(ctx, command, options), cwd
    return [_render_text(ctx, part, options) for part in command], cwd


def _render_text(ctx: MinionContext, text: str, options: CommandOptions) -> str:
    """A command or its directory, which may be templates; raises RenderError."""
    from saltlite.templates.template import ENGINES, render_template

    if options.template not in ENGINES:
        raise FunctionError(
            f"Attempted to render file paths with unavailable engine {options.template}"
        )
    env = options.saltenv or ctx.config.files.saltenv or "base"
    return render_template(text, str(options.template), ctx, saltenv=env)


def _check_permission(ctx: MinionContext, command: list[str] | str) -> None:
    text = command if isinstance(command, str) else " ".join(command)
    if not text.strip():
        raise FunctionError("No command was given")
    rules = ctx.config.modules
    forbidden = any(fnmatch.fnmatch(text, glob) for glob in rules.cmd_blacklist_glob)
    allowed = not rules.cmd_whitelist_glob or any(
        fnmatch.fnmatch(text, glob) for glob in rules.cmd_whitelist_glob
    )
    if forbidden or not allowed:
        raise FunctionError(f'The shell command "{text}" is not permitted')


def _find_account(host: Host, runas: str | None) -> Account | None:
    if runas is None:
        return None
    try:
        return host.account(runas)
    except LookupError:
        raise FunctionError(f"User '{runas}' is not available") from None


def _find_shell(host: Host, options: CommandOptions) -> str:
    shell = options.shell or DEFAULT_SHELL
    if not (host.which(shell) and os.path.isabs(shell)):
        raise FunctionError(f"The shell {shell} is not available")
    return shell


def _check_group(group: str | None) -> None:
    import grp

    if group is None:
        return
    try:
        grp.getgrnam(group)
    except LookupError:
        raise FunctionError(f"Group '{group}' is not available") from None


def _wants_shell(ctx: MinionContext, options: CommandOptions) -> bool:
    if options.python_shell is not None:
        return bool(options.python_shell)
    return options.is_from_job or not ctx.config.modules.cmd_safe


def _shell_argv(command: list[str] | str, shell: bool) -> list[str] | None:
    """The list of arguments; ``None`` if a shell is to read the text."""
    if isinstance(command, list):
        return command
    if shell:
        return None
    try:
        return shlex.split(command)
    except ValueError as error:
        raise FunctionError(f"The command cannot be split into arguments: {error}") from error


def _first_word(command: list[str] | str) -> str:
    return command[0] if isinstance(command, list) else command.split()[0]


def _find_cwd(wanted: str | None, account: Account | None) -> str:
    """Without a wish it is the user's home, or ``/`` if that cannot be entered."""
    if wanted is None:
        home = os.path.expanduser("~") if account is None else account.home
        return home if os.path.isdir(home) and os.access(home, os.X_OK) else "/"
    if not os.path.isabs(wanted) or not os.path.isdir(wanted):
        raise FunctionError(f"Specified cwd '{wanted}' either not absolute or does not exist")
    return wanted


def _parse_umask(wanted: object) -> int | None:
    if wanted is None or str(wanted).strip() == "":
        return None
    try:
        return int(str(wanted).lstrip("0") or "0", 8)
    except ValueError:
        raise FunctionError(f"Invalid umask: '{wanted}'") from None


def _parse_timeout(wanted: Any) -> float | None:
    if not wanted:
        return None
    try:
        return float(wanted)
    except (TypeError, ValueError):
        raise FunctionError(f"Error: timeout {wanted} must be a number") from None


def _build_environment(
    host: Host, options: CommandOptions, account: Account | None, shell: str
) -> dict[str, str]:
    env = _login_environment(host, account, shell) if account and not options.clean_env else {}
    if account is not None and not options.clean_env:
        env |= {"USER": account.name, "LOGNAME": account.name, "HOME": account.home}
    if options.reset_system_locale:
        env |= dict.fromkeys(LOCALE_NAMES, "C")
    env |= merge_environment(options.env)
    if options.prepend_path:
        path = env.get("PATH") or os.environ.get("PATH", "")
        env["PATH"] = f"{options.prepend_path}:{path}"
    return env


def merge_environment(env: object) -> dict[str, str]:
    """The option ``env`` in any of its forms: a map, a list of maps, or YAML of either."""
    if isinstance(env, str):
        env = _from_yaml(env)
    if isinstance(env, (list, tuple)):
        env = _join_maps(env)
    if not isinstance(env, Mapping):
        return {}
    return {str(name): _environment_text(str(name), value) for name, value in env.items()}


def _from_yaml(text: str) -> Any:
    from saltlite.config.yaml import load as load_yaml
    from saltlite.errors import ConfigError

    try:
        return load_yaml(text, "env")
    except ConfigError:
        raise FunctionError("the environment is not a map") from None  # its text may be a secret


def _join_maps(parts: Iterable[object]) -> dict[Any, Any]:
    env: dict[Any, Any] = {}
    for part in parts:
        env |= dict(part) if isinstance(part, Mapping) else {part: None}
    return env


def _environment_text(name: str, value: object) -> str:
    if value is None:
        log.error(
            "Environment variable '%s' passed without a value. Setting value to an empty string",
            name,
        )
        return ""
    return str(value)


def _login_environment(host: Host, account: Account, shell: str) -> dict[str, str]:
    """What the login files of a user set; nothing if they cannot be run."""
    marker = "---saltlite-environment---"
    command = f"printf %s {marker}; env -0; printf %s {marker}"
    try:
        done = host.run(
            ["su", "-s", shell, "-", account.name, "-c", command],
            timeout_s=ENVIRONMENT_TIMEOUT_S,
        )
    except CommandError:
        log.warning("The environment of user %s could not be read: no su", account.name)
        return {}
    parts = done.stdout.split(marker)
    if len(parts) != 3:
        log.error("Environment could not be retrieved for user '%s'", account.name)
        return {}
    return parse_environment(parts[1])


def parse_environment(text: str) -> dict[str, str]:
    """The output of ``env -0``, without what belongs to the shell that ran it."""
    pairs = (entry.partition("=") for entry in text.split("\0") if "=" in entry)
    own = {"_", "SHLVL", "PWD", "OLDPWD"}
    return {name: value for name, _, value in pairs if name not in own}


def _log_start(name: str, account: Account | None, cwd: str, level: int | None) -> None:
    if level is None:
        return
    who = f"as user '{account.name}' " if account is not None else ""
    log.info("Executing command '%s' %sin directory '%s'", name, who, cwd)


def _log_level(options: CommandOptions) -> int | None:
    """The level of lines about a command that went well; ``None`` for none."""
    name = str(options.output_loglevel).lower()
    if name == QUIET:
        return None
    if name not in LEVELS:
        log.error("Invalid output_loglevel '%s'. Falling back to 'info'.", name)
        return logging.INFO
    return LEVELS[name]


def _level_of_output(options: CommandOptions, retcode: int) -> int | None:
    level = _log_level(options)
    if level is None or retcode == 0 or options.ignore_retcode:
        return level
    return max(level, logging.ERROR)


def _finish_command(
    ctx: MinionContext, name: str, done: Completed, options: CommandOptions
) -> Outcome:
    for stream, text in (("stdout", done.stdout), ("stderr", done.stderr)):
        if REPLACED in text:
            log.error(
                "Failed to decode %s from command %s, non-decodable characters have been replaced",
                stream,
                name,
            )
    strip: Callable[[str], str] = str.rstrip if options.rstrip else str
    stdout, stderr = strip(done.stdout), strip(done.stderr)
    retcode = 0 if _is_success(done.exit_code, stdout, stderr, options) else done.exit_code
    _log_end(name, retcode, stdout, stderr, options)
    ctx.retcode = 0 if options.ignore_retcode else retcode
    if options.hide_output:
        stdout = stderr = ""
    return Outcome(done.pid, retcode, stdout, stderr)


def _is_success(exit_code: int, stdout: str, stderr: str, options: CommandOptions) -> bool:
    return (
        exit_code == 0
        or exit_code in _parse_numbers(options.success_retcodes)
        or any(text in stdout for text in _parse_texts(options.success_stdout))
        or any(text in stderr for text in _parse_texts(options.success_stderr))
    )


def _parse_texts(wanted: object) -> list[str]:
    if wanted is None:
        return []
    if isinstance(wanted, str):
        return [part.strip() for part in wanted.split(",")]
    return [str(part) for part in wanted] if isinstance(wanted, Sequence) else [str(wanted)]


def _parse_numbers(wanted: object) -> list[int]:
    try:
        return [int(text) for text in _parse_texts(wanted)]
    except ValueError:
        raise FunctionError("success_retcodes must be a list of integers") from None


def _log_end(name: str, retcode: int, stdout: str, stderr: str, options: CommandOptions) -> None:
    level = _level_of_output(options, retcode)
    if level is None:
        return
    if retcode != 0:
        log.log(level, "Command '%s' failed with return code: %s", name, retcode)
    if stdout:
        log.log(level, "stdout: %s", stdout)
    if stderr:
        log.log(level, "stderr: %s", stderr)
    if retcode != 0:
        log.log(level, "retcode: %s", retcode)


def _build_timeout(cmd: object, done: Completed, options: CommandOptions) -> Outcome:
    """A command that was killed. The job's retcode stays 0, as in Salt."""
    text = f"{_show_command(cmd)} : Timed out after {options.timeout} seconds"
    if _log_level(options) is not None:
        log.error("Command '%s' failed with return code: 1", _show_command(cmd).split()[0])
    return Outcome(done.pid, 1, text, "")


def _show_command(cmd: object) -> str:
    return shlex.join(map(str, cmd)) if isinstance(cmd, (list, tuple)) else str(cmd)


def _not_started(prepared: _Prepared, error: CommandError) -> FunctionError:
    shown = list(prepared.command) if prepared.shell is None else prepared.command
    return FunctionError(f"Unable to run command '{shown}', reason: {error.stderr}")
