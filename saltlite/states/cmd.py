"""``cmd.*``: run commands and scripts, always, or when something that is watched has changed."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Verdict

NOT_UNDERSTOOD = "Failed parsing script output! Stdout must be JSON or a line of name=value pairs."
_NOTHING_DONE = Verdict(result=True, comment="")


def run(
    ctx: MinionContext,
    name: str,
    cwd: str | None = None,
    root: str | None = None,
    runas: str | None = None,
    shell: str | None = None,
    env: object = None,
    prepend_path: str | None = None,
    stateful: object = False,
    output_loglevel: str = "debug",
    hide_output: bool = False,
    timeout: float | None = None,
    ignore_timeout: bool = False,
    use_vt: bool = False,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    umask: object = None,
    **kwargs: Any,
) -> Declared:
    """Run a command each time; what it writes and its exit code are the changes.

    With ``stateful`` the last line of its output says what changed, as JSON or ``name=value``
    pairs; ``stateful: [{test_name: command}]`` names the one that a dry run calls.
    """
    if not _is_environment(env):
        return Verdict(
            result=False, comment="Invalidly-formatted 'env' parameter. See documentation."
        )
    options = {
        "cwd": cwd,
        "runas": runas,
        "env": env,
        "prepend_path": prepend_path,
        "umask": umask,
        "output_loglevel": output_loglevel,
        "hide_output": hide_output,
        "use_vt": use_vt,
        "timeout": timeout,
        "success_retcodes": success_retcodes,
        "success_stdout": success_stdout,
        "success_stderr": success_stderr,
        "python_shell": True,
        **_pick_options(
            kwargs, ("stdin", "group", "template", "bg", "rstrip", "saltenv", "password")
        ),
        **_pick_options(kwargs, ("clean_env", "reset_system_locale", "python_shell", "raise_err")),
    }
    if shell:
        options["shell"] = shell
    done = f'Command "{name}" run'

    def act(ctx: MinionContext) -> Verdict:
        if cwd and not os.path.isdir(cwd):
            comment = f'Desired working directory "{cwd}" is not available'
            return Verdict(result=False, comment=comment)
        ended = _judge_command(ctx, "cmd.run_all", *_in_root(name, root, options), done)
        if ignore_timeout and "Timed out after" in str(ended.changes.get("stdout")):
            return Verdict(result=True, comment=done, changes={**ended.changes, "retcode": 0})
        return _judge_stateful(ended) if _is_stateful(stateful) else ended

    def test_run(ctx: MinionContext, command: str) -> Verdict:
        if cwd and not os.path.isdir(cwd):
            return Verdict(
                result=False, comment=f'Desired working directory "{cwd}" is not available'
            )
        return _judge_command(ctx, "cmd.run_all", command, options, "")

    return Action(
        would=f'Command "{name}" would have been executed',
        run=act,
        changes={"cmd": name},
        foreseen=_foreseen_of(stateful, test_run) if _is_stateful(stateful) else None,
    )


def script(
    ctx: MinionContext,
    name: str,
    source: str | None = None,
    template: str | None = None,
    cwd: str | None = None,
    runas: str | None = None,
    password: str | None = None,
    shell: str | None = None,
    env: object = None,
    stateful: object = False,
    timeout: float | None = None,
    use_vt: bool = False,
    output_loglevel: str = "debug",
    hide_output: bool = False,
    defaults: Any = None,
    context: Any = None,
    success_retcodes: object = None,
    success_stdout: object = None,
    success_stderr: object = None,
    umask: object = None,
    saltenv: str = "base",
    **kwargs: Any,
) -> Declared:
    """Fetch a script and run it each time; beside a ``source`` ``name`` may carry its arguments.

    ``stateful`` as for ``cmd.run``, with a script as ``test_name``; with ``template`` it is
    rendered first.
    """
    if context is not None and not isinstance(context, Mapping):
        return Verdict(
            result=False,
            comment="Invalidly-formatted 'context' parameter. Must be formed as a dict.",
        )
    if not _is_environment(env):
        return Verdict(
            result=False, comment="Invalidly-formatted 'env' parameter. See documentation."
        )
    words = str(name).split(None, 1)
    wanted = source or str(name)
    options = {
        "args": kwargs.get("args", words[1] if source and len(words) > 1 else None),
        "cwd": cwd,
        "runas": runas,
        "env": env,
        "umask": umask,
        "template": template,
        "timeout": timeout,
        "use_vt": use_vt,
        "output_loglevel": output_loglevel,
        "hide_output": hide_output,
        "saltenv": saltenv,
        "success_retcodes": success_retcodes,
        "success_stdout": success_stdout,
        "success_stderr": success_stderr,
        **_pick_options(kwargs, ("stdin", "group", "bg", "reset_system_locale")),
        "context": {**(defaults or {}), **(context or {})},
    }
    if shell:
        options["shell"] = shell

    def act(ctx: MinionContext) -> Verdict:
        if cwd and not os.path.isdir(cwd):
            comment = f'Desired working directory "{cwd}" is not available'
            return Verdict(result=False, comment=comment)
        ended = _judge_command(ctx, "cmd.script", wanted, options, f"Command '{name}' run")
        if ended.changes.get("cache_error"):
            comment = f"Unable to cache script {wanted} from saltenv '{saltenv}'"
            changes = {} if _is_stateful(stateful) else ended.changes
            return Verdict(result=False, comment=comment, changes=changes)
        return _judge_stateful(ended) if _is_stateful(stateful) else ended

    def test_run(ctx: MinionContext, script: str) -> Verdict:
        return _judge_command(
            ctx, "cmd.script", script, {**options, "args": kwargs.get("args")}, ""
        )

    return Action(
        would=f"Command '{name}' would have been executed",
        run=act,
        foreseen=_foreseen_of(stateful, test_run) if _is_stateful(stateful) else None,
    )


def wait(name: str, **kwargs: Any) -> Declared:
    """Run a command only if something that is watched has changed; arguments as ``cmd.run``."""
    return _NOTHING_DONE


watch = wait


def wait_script(name: str, **kwargs: Any) -> Declared:
    """Run a script only if something that is watched has changed; arguments as ``cmd.script``."""
    return _NOTHING_DONE


def call(
    name: str, func: Callable[..., Any], args: Any = (), kws: Any = None, **kwargs: Any
) -> Declared:
    """Call a function that a state written in Python hands over."""

    def act(ctx: MinionContext) -> Verdict:
        found = func(*args, **(kws or {}))
        if isinstance(found, Mapping):
            return Verdict(
                result=found.get("result", True),
                comment=str(found.get("comment", "")),
                changes=found.get("changes", {}),
            )
        return Verdict(result=True, comment=str(found), changes={"retval": found})

    return Action(would=f"Command {func} would have been executed", run=act)


def wait_call(name: str, func: object, **kwargs: Any) -> Declared:
    """Call a function only if something that is watched has changed."""
    return _NOTHING_DONE


def mod_watch(ctx: MinionContext, name: str, sfun: str, **kwargs: Any) -> Declared:
    """What a change in something watched sets off."""
    if sfun in ("wait", "run", "watch"):
        return run(ctx, name, **kwargs)
    if sfun in ("wait_script", "script"):
        return script(ctx, name, **kwargs)
    if sfun in ("wait_call", "call"):
        return call(name, **kwargs)
    return Verdict(
        result=False,
        comment=(
            f"cmd.{sfun} does not work with the watch requisite, please use cmd.wait or "
            "cmd.wait_script"
        ),
    )


def _pick_options(kwargs: Mapping[str, object], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: kwargs[name] for name in names if name in kwargs}


def _in_root(
    name: str, root: str | None, options: Mapping[str, object]
) -> tuple[Any, Mapping[str, Any]]:
    if not root:
        return name, options
    return ["chroot", root, "/bin/sh", "-c", name], {**options, "python_shell": False}


def _is_environment(env: object) -> bool:
    if isinstance(env, (list, tuple)):
        return all(isinstance(part, (str, Mapping)) for part in env)
    return not env or isinstance(env, (str, Mapping))


def _judge_command(
    ctx: MinionContext, function: str, what: object, options: Mapping[str, object], comment: str
) -> Verdict:
    """What a command came to."""
    try:
        if options.get("bg") and function == "cmd.run_all":
            return Verdict(result=True, comment=comment, changes=_begin_command(ctx, what, options))
        outcome = ctx.functions.call(function, what, **options)
    except FunctionError as error:
        return Verdict(result=False, comment=str(error))
    return Verdict(result=not outcome["retcode"], comment=comment, changes=outcome)


def _begin_command(
    ctx: MinionContext, what: object, options: Mapping[str, object]
) -> dict[str, Any]:
    """A command that nobody waits for."""
    known = {key: value for key, value in options.items() if key != "bg"}
    begun = ctx.functions.call("cmd.run_bg", what, **known)
    return {"pid": begun["pid"], "retcode": None, "stdout": "", "stderr": ""}


def _is_stateful(stateful: object) -> bool:
    """Whether the output says what changed: ``True`` or a list. A map or a text does not count."""
    return stateful is True or (isinstance(stateful, list) and bool(stateful))


def _foreseen_of(
    stateful: object, test_run: Callable[[MinionContext, str], Verdict]
) -> Callable[[MinionContext], Verdict]:
    """What a test run of a stateful command says: what its own test command does, if any."""
    first = stateful[0] if isinstance(stateful, list) else None
    name = first.get("test_name") if isinstance(first, Mapping) else None

    def foresee(ctx: MinionContext) -> Verdict:
        if name is None:
            return Verdict(result=None, comment="")
        ended = test_run(ctx, name)
        found = _judge_stateful(ended)
        result = (None if found.changes else True) if ended.result else False
        return Verdict(result=result, comment=found.comment, changes=found.changes)

    return foresee


def _judge_stateful(ended: Verdict) -> Verdict:
    """The verdict that a command's own words make of it. Source: observed on Salt 3006.30."""
    if not ended.changes:
        return ended
    written = str(ended.changes.get("stdout", "")).rstrip()
    if not written:
        return Verdict(result=ended.result, comment=str(ended.changes.get("stderr", "")))
    said, rest = _split_output(written)
    if said is None:
        return Verdict(result=False, comment=NOT_UNDERSTOOD, changes=ended.changes)
    comment = str(said.pop("comment", ""))
    if not _is_true(said.get("changed", True)):
        return Verdict(result=ended.result, comment=comment)
    changes = {**said, **ended.changes, "stdout": rest}
    return Verdict(result=ended.result, comment=comment, changes=changes)


def _split_output(written: str) -> tuple[dict[str, Any] | None, str]:
    """What the output tells, and what is left of it."""
    if written.startswith("{"):
        try:
            found = json.loads(written)
        except ValueError:
            return None, written
        return (dict(found) if isinstance(found, dict) else None), ""
    last = written.splitlines()[-1] if written else ""
    try:
        words = shlex.split(last)
    except ValueError:
        return None, written
    if not all("=" in word for word in words):
        return None, written
    return dict(word.split("=", 1) for word in words), written[: written.rfind("\n")]


def _is_true(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in ("1", "true", "yes", "on")
    return bool(value)
