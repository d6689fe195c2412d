"""Running git with what a function was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.providers import git
from saltlite.providers.git import GitCaller

_RUN = ("cwd", "user", "identity", "output_encoding", "saltenv")


def said_by(
    ctx: MinionContext, arguments: Mapping[str, object], *words: str, fail: bool = True
) -> str:
    """Run a subcommand; its output, or else its other output."""
    outcome = outcome_of(ctx, arguments, *words, fail=fail)
    return str(outcome.stdout.rstrip() or outcome.stderr.rstrip())


def outcome_of(
    ctx: MinionContext, arguments: Mapping[str, Any], *words: str, fail: bool = True
) -> Any:
    """Run a subcommand; ``arguments`` are those of the function, of which some are for git.

    Raises:
        FunctionError: git fails, unless ``fail`` is off.
    """
    given = {name: arguments[name] for name in _RUN if arguments.get(name) is not None}
    if "cwd" in given:
        given["cwd"] = git.directory(given["cwd"])
    before = git.option_words(arguments.get("git_opts"))
    return git.git(ctx, ["git", *before, *words], GitCaller(**given, fail=fail))


def text_of(ctx: MinionContext, arguments: Mapping[str, object], *words: str) -> str:
    """Run a subcommand; its output without blanks at the end."""
    return str(outcome_of(ctx, arguments, *words).stdout).rstrip()
