"""The work tree and the index: what is changed, put in, taken back and committed."""

from __future__ import annotations

from saltlite.context import MinionContext
from saltlite.modules.git._command import outcome_of, text_of
from saltlite.providers import git


def add(
    ctx: MinionContext,
    cwd: str,
    filename: str,
    opts: object = "",
    git_opts: object = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Put files into the index; what was added.

    CLI Example:

        salt myminion git.add /path/to/repo foo/bar.py
    """
    words = git.option_words(opts)
    verbose = [] if {"-v", "--verbose"} & set(words) else ["--verbose"]
    return text_of(ctx, locals(), "add", *verbose, *words, "--", str(filename))


def commit(
    ctx: MinionContext,
    cwd: str,
    message: str,
    opts: object = "",
    git_opts: object = "",
    user: str | None = None,
    password: str | None = None,
    filename: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Commit what is in the index, or one file.

    CLI Example:

        salt myminion git.commit /path/to/repo 'The commit message'
    """
    words = git.option_words(opts)
    files = ["--", str(filename)] if filename else []
    return text_of(ctx, locals(), "commit", "-m", str(message), *words, *files)


def discard_local_changes(
    ctx: MinionContext,
    cwd: str,
    path: str = ".",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Put files back to what the index has.

    CLI Example:

        salt myminion git.discard_local_changes /path/to/repo foo.py
    """
    return text_of(ctx, locals(), "checkout", "--", str(path))


def reset(
    ctx: MinionContext,
    cwd: str,
    opts: object = "",
    git_opts: object = "",
    user: str | None = None,
    password: str | None = None,
    identity: object = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Reset the index or the work tree, as ``opts`` say.

    CLI Example:

        salt myminion git.reset /path/to/repo opts='--hard origin/master'
    """
    return text_of(ctx, locals(), "reset", *git.option_words(opts))


def rm(
    ctx: MinionContext,
    cwd: str,
    filename: str,
    opts: object = "",
    git_opts: object = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Remove files from the work tree and the index.

    CLI Example:

        salt myminion git.rm /path/to/repo foo/bar.py opts='--dry-run'
    """
    return text_of(ctx, locals(), "rm", *git.option_words(opts), "--", str(filename))


def stash(
    ctx: MinionContext,
    cwd: str,
    action: str = "save",
    opts: object = "",
    git_opts: object = "",
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> str:
    """Put changes aside, or what ``action`` says.

    CLI Example:

        salt myminion git.stash /path/to/repo save opts='work in progress'
    """
    return text_of(ctx, locals(), "stash", str(action), *git.option_words(opts))


def status(
    ctx: MinionContext,
    cwd: str,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
) -> dict[str, list[str]]:
    """The changed files by what happened to them: modified, new, deleted, untracked.

    CLI Example:

        salt myminion git.status /path/to/repo
    """
    outcome = outcome_of(ctx, locals(), "status", "-z", "--porcelain")
    return git.parse_status(outcome.stdout)
