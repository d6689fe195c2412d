"""Branches and tags: list, make, change to, join."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.errors import UsageError
from saltlite.modules.git._command import LOCAL, READING, GitOptions, outcome_of, text_of
from saltlite.providers import git


@takes_options(GitOptions, LOCAL)
def branch(ctx: MinionContext, options: GitOptions, /, cwd: str, name: str | None = None) -> bool:
    """Make, rename or delete a branch, as ``opts`` say.

    CLI Example:

        salt myminion git.branch /path/to/repo newbranch
        salt myminion git.branch /path/to/repo newbranch opts='-D'
    """
    words = [] if name is None else [str(name)]
    text_of(ctx, options, cwd, "branch", *git.option_words(options.opts), *words)
    return True


@takes_options(GitOptions, LOCAL)
def checkout(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    rev: str | None = None,
    force: bool = False,
) -> str:
    """Switch to a branch or revision; what git says about it.

    CLI Example:

        salt myminion git.checkout /path/to/repo somebranch user=jeff
        salt myminion git.checkout /path/to/repo opts='-b newbranch'
    """
    words = git.option_words(options.opts)
    if rev is None and not {"-b", "-B"} & set(words):
        raise UsageError("'rev' argument is required unless -b or -B in opts")
    forced = ["--force"] if force else []
    wanted = [] if rev is None else [str(rev)]
    outcome = outcome_of(ctx, options, cwd, "checkout", *forced, *words, *wanted)
    said = (outcome.stderr.rstrip(), outcome.stdout.rstrip())
    return "\n".join(part for part in said if part)


@takes_options(GitOptions, READING)
def current_branch(ctx: MinionContext, options: GitOptions, /, cwd: str) -> str:
    """The branch that is checked out, ``HEAD`` for none.

    CLI Example:

        salt myminion git.current_branch /path/to/repo
    """
    return text_of(ctx, options, cwd, "rev-parse", "--abbrev-ref", "HEAD")


@takes_options(GitOptions, READING)
def list_branches(
    ctx: MinionContext, options: GitOptions, /, cwd: str, remote: bool = False
) -> list[str]:
    """The branches, or those of remotes.

    CLI Example:

        salt myminion git.list_branches /path/to/repo remote=True
    """
    below = "refs/remotes/" if remote else "refs/heads/"
    text = text_of(ctx, options, cwd, "for-each-ref", "--format", "%(refname)", below)
    return [line.removeprefix(below) for line in text.splitlines()]


@takes_options(GitOptions, READING)
def list_tags(ctx: MinionContext, options: GitOptions, /, cwd: str) -> list[str]:
    """The tags.

    CLI Example:

        salt myminion git.list_tags /path/to/repo
    """
    text = text_of(ctx, options, cwd, "for-each-ref", "--format", "%(refname)", "refs/tags/")
    return [line.removeprefix("refs/tags/") for line in text.splitlines()]


@takes_options(GitOptions, without="saltenv")
def merge(
    ctx: MinionContext, options: GitOptions, /, cwd: str, rev: str | None = None, **kwargs: Any
) -> str:
    """Merge a revision into the current branch; without one what it follows.

    CLI Example:

        salt myminion git.merge /path/to/repo branchname
    """
    git.own(kwargs)
    words = [*git.option_words(options.opts), *([str(rev)] if rev else [])]
    return text_of(ctx, options, cwd, "merge", *words)


@takes_options(GitOptions, LOCAL)
def rebase(ctx: MinionContext, options: GitOptions, /, cwd: str, rev: str = "master") -> str:
    """Put the current branch on top of a revision.

    CLI Example:

        salt myminion git.rebase /path/to/repo master
    """
    words = [*git.option_words(options.opts), str(rev)]
    return text_of(ctx, options, cwd, "rebase", *words)


@takes_options(GitOptions, LOCAL)
def tag(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    name: str,
    ref: str = "HEAD",
    message: str | None = None,
) -> str:
    """Make a tag, with ``message`` an annotated one; with ``-d`` in ``opts`` delete it.

    CLI Example:

        salt myminion git.tag /path/to/repo v1.2 message='Version 1.2'
    """
    words = [] if message is None else ["-a", "-m", str(message)]
    given = git.option_words(options.opts)
    deletes = "-d" in given or "--delete" in given
    words += [*given, str(name), *([] if deletes else [str(ref)])]
    return text_of(ctx, options, cwd, "tag", *words)
