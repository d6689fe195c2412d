"""Running git with what a function was given."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.providers import git
from saltlite.providers.git import GitCaller


@dataclass(frozen=True, slots=True, kw_only=True)
class GitOptions:
    """The options that the functions of ``git`` share, by Salt's names and in Salt's order."""

    opts: object = ""
    git_opts: object = ""
    user: str | None = None
    password: str | None = None
    identity: object = None
    ignore_retcode: bool = False
    saltenv: str | None = "base"
    output_encoding: str | None = None


READING = "user password ignore_retcode output_encoding"
"""The options of functions that only look at a repository."""

LOCAL = f"opts git_opts {READING}"
"""The options of functions that need no other repository."""


def outcome_of(
    ctx: MinionContext, options: GitOptions, cwd: str | None, *words: str, fail: bool = True
) -> Any:
    """Run a subcommand in ``cwd``, without one in the user's home.

    Raises:
        FunctionError: git fails, unless ``fail`` is off.
    """
    caller = GitCaller(
        cwd=None if cwd is None else git.directory(cwd),
        user=options.user,
        identity=options.identity,
        output_encoding=options.output_encoding,
        saltenv="base" if options.saltenv is None else options.saltenv,
        fail=fail,
    )
    return git.git(ctx, ["git", *git.option_words(options.git_opts), *words], caller)


def said_by(ctx: MinionContext, options: GitOptions, cwd: str | None, *words: str) -> str:
    """Run a subcommand; its output, or else its other output."""
    outcome = outcome_of(ctx, options, cwd, *words)
    return str(outcome.stdout.rstrip() or outcome.stderr.rstrip())


def text_of(ctx: MinionContext, options: GitOptions, cwd: str | None, *words: str) -> str:
    """Run a subcommand; its output without blanks at the end."""
    return str(outcome_of(ctx, options, cwd, *words).stdout).rstrip()
