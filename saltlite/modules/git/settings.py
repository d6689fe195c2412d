"""Settings of repositories and users."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.factories import alias_function
from saltlite.errors import FunctionError, UsageError
from saltlite.modules.git._command import READING, GitOptions, outcome_of, text_of
from saltlite.providers import git


@takes_options(GitOptions, READING)
def config_get(
    ctx: MinionContext, options: GitOptions, /, key: str, cwd: str | None = None, **kwargs: Any
) -> Any:
    """The value of a setting, ``None`` for none; with ``all`` a list of all its values.

    ``global`` is the user's setting, not the repository's.

    CLI Example:

        salt myminion git.config_get user.name cwd=/path/to/repo
        salt myminion git.config_get user.email global=True
    """
    given = git.own(kwargs, "global", "all")
    values = _config_values(ctx, options, key, cwd, bool(given.get("global")))
    if values is None:
        return None
    return values if given.get("all") else values[-1]


def _choose_scope(cwd: str | None, everywhere: bool) -> tuple[str | None, str]:
    """Where a setting is: in a repository, or the user's own; the directory and the flag."""
    if not everywhere and not cwd:
        raise UsageError("'cwd' argument required unless global=True")
    return (None, "--global") if everywhere else (cwd, "--local")


def _config_values(
    ctx: MinionContext, options: GitOptions, key: str, cwd: str | None, everywhere: bool
) -> list[str] | None:
    where, scope = _choose_scope(cwd, everywhere)
    words = ["config", scope, "--null", "--get-all", str(key)]
    outcome = outcome_of(ctx, options, where, *words, fail=False)
    if outcome.retcode != 0:
        if outcome.stderr.strip() and outcome.retcode != 1:
            raise FunctionError(git.redact_text(outcome.stderr.strip()))
        return None
    return list(outcome.stdout.removesuffix("\0").split("\0"))


@takes_options(GitOptions, READING)
def config_get_regexp(
    ctx: MinionContext,
    options: GitOptions,
    /,
    key: str,
    value_regex: str | None = None,
    cwd: str | None = None,
    **kwargs: Any,
) -> dict[str, list[str]]:
    """The settings whose names match a regular expression, and their values.

    CLI Example:

        salt myminion git.config_get_regexp 'user.*' cwd=/path/to/repo
    """
    given = git.own(kwargs, "global")
    where, scope = _choose_scope(cwd, bool(given.get("global")))
    value = [] if value_regex is None else [str(value_regex)]
    words = ["config", scope, "--null", "--get-regexp", str(key), *value]
    outcome = outcome_of(ctx, options, where, *words, fail=False)
    return git.parse_config(outcome.stdout) if outcome.retcode == 0 else {}


config_get_regex = alias_function(config_get_regexp, "config_get_regex", "git.config_get_regexp")


@takes_options(GitOptions, READING)
def config_set(
    ctx: MinionContext,
    options: GitOptions,
    /,
    key: str,
    value: object = None,
    multivar: object = None,
    cwd: str | None = None,
    **kwargs: Any,
) -> list[str] | None:
    """Set a setting to one value or several; its values then.

    ``add`` keeps the values that are there.

    CLI Example:

        salt myminion git.config_set user.email me@foo.tld cwd=/path/to/repo
        salt myminion git.config_set mysection.x multivar='["a", "b"]' cwd=/path/to/repo
    """
    given = git.own(kwargs, "global", "add")
    if value is not None and multivar is not None:
        raise UsageError("Only one of 'value' and 'multivar' is permitted")
    if value is None and multivar is None:
        raise UsageError("One of 'value' or 'multivar' is required")
    everywhere = bool(given.get("global"))
    where, scope = _choose_scope(cwd, everywhere)
    place = [scope] if everywhere else []
    values = [value] if multivar is None else _list_values(multivar)
    for index, each in enumerate(values):
        adds = index > 0 or bool(given.get("add"))
        flag = "--add" if adds else "--replace-all"
        text_of(ctx, options, where, "config", *place, flag, str(key), str(each))
    return _config_values(ctx, options, key, cwd, everywhere)


def _list_values(multivar: object) -> list[Any]:
    if isinstance(multivar, str):
        return multivar.split(",")
    return list(multivar) if isinstance(multivar, (list, tuple)) else [multivar]


@takes_options(GitOptions, READING)
def config_unset(
    ctx: MinionContext,
    options: GitOptions,
    /,
    key: str,
    value_regex: str | None = None,
    cwd: str | None = None,
    **kwargs: Any,
) -> bool:
    """Remove a setting; with ``all`` all its values.

    CLI Example:

        salt myminion git.config_unset /path/to/repo foo.bar
    """
    given = git.own(kwargs, "global", "all")
    everywhere = bool(given.get("global"))
    where, scope = _choose_scope(cwd, everywhere)
    if _config_values(ctx, options, key, cwd, everywhere) is None:
        raise FunctionError(f"Key '{key}' does not exist")
    flag = "--unset-all" if given.get("all") else "--unset"
    value = [] if value_regex is None else [str(value_regex)]
    outcome = outcome_of(ctx, options, where, "config", scope, flag, str(key), *value, fail=False)
    if outcome.retcode == 5:
        raise FunctionError(
            f"Multiple values for key '{key}' match value_regex: {value_regex}"
            if value_regex
            else f"Multiple values exist for key '{key}'"
        )
    if outcome.retcode != 0:
        raise FunctionError(outcome.stderr.strip() or f"Key '{key}' could not be unset")
    return True
