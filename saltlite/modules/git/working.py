"""The work tree and the index: what is changed, put in, taken back and committed."""

from __future__ import annotations

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.modules.git._command import LOCAL, READING, GitOptions, outcome_of, text_of
from saltlite.providers import git


@takes_options(GitOptions, LOCAL)
def add(ctx: MinionContext, options: GitOptions, /, cwd: str, filename: str) -> str:
    """Put files into the index; what was added.

    CLI Example:

        salt myminion git.add /path/to/repo foo/bar.py
    """
    words = git.option_words(options.opts)
    verbose = [] if {"-v", "--verbose"} & set(words) else ["--verbose"]
    return text_of(ctx, options, cwd, "add", *verbose, *words, "--", str(filename))


@takes_options(GitOptions, "opts git_opts user password filename ignore_retcode output_encoding")
def commit(
    ctx: MinionContext, options: GitOptions, /, cwd: str, message: str, filename: str | None = None
) -> str:
    """Commit what is in the index, or one file.

    CLI Example:

        salt myminion git.commit /path/to/repo 'The commit message'
    """
    words = git.option_words(options.opts)
    files = ["--", str(filename)] if filename else []
    return text_of(ctx, options, cwd, "commit", "-m", str(message), *words, *files)


@takes_options(GitOptions, READING)
def discard_local_changes(
    ctx: MinionContext, options: GitOptions, /, cwd: str, path: str = "."
) -> str:
    """Put files back to what the index has.

    CLI Example:

        salt myminion git.discard_local_changes /path/to/repo foo.py
    """
    return text_of(ctx, options, cwd, "checkout", "--", str(path))


@takes_options(GitOptions, without="saltenv")
def reset(ctx: MinionContext, options: GitOptions, /, cwd: str) -> str:
    """Reset the index or the work tree, as ``opts`` say.

    CLI Example:

        salt myminion git.reset /path/to/repo opts='--hard origin/master'
    """
    return text_of(ctx, options, cwd, "reset", *git.option_words(options.opts))


@takes_options(GitOptions, LOCAL)
def rm(ctx: MinionContext, options: GitOptions, /, cwd: str, filename: str) -> str:
    """Remove files from the work tree and the index.

    CLI Example:

        salt myminion git.rm /path/to/repo foo/bar.py opts='--dry-run'
    """
    return text_of(ctx, options, cwd, "rm", *git.option_words(options.opts), "--", str(filename))


@takes_options(GitOptions, LOCAL)
def stash(ctx: MinionContext, options: GitOptions, /, cwd: str, action: str = "save") -> str:
    """Put changes aside, or what ``action`` says.

    CLI Example:

        salt myminion git.stash /path/to/repo save opts='work in progress'
    """
    return text_of(ctx, options, cwd, "stash", str(action), *git.option_words(options.opts))


@takes_options(GitOptions, READING)
def status(ctx: MinionContext, options: GitOptions, /, cwd: str) -> dict[str, list[str]]:
    """The changed files by what happened to them: modified, new, deleted, untracked.

    CLI Example:

        salt myminion git.status /path/to/repo
    """
    outcome = outcome_of(ctx, options, cwd, "status", "-z", "--porcelain")
    return git.parse_status(outcome.stdout)
