"""What revisions are called, and what is between two of them."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.errors import UsageError
from saltlite.modules.git._command import LOCAL, READING, GitOptions, outcome_of, text_of
from saltlite.providers import git


@takes_options(GitOptions, READING)
def describe(ctx: MinionContext, options: GitOptions, /, cwd: str, rev: str = "HEAD") -> str:
    """A revision by the newest tag before it, by its hash without one.

    CLI Example:

        salt myminion git.describe /path/to/repo
    """
    return text_of(ctx, options, cwd, "describe", "--always", str(rev))


@takes_options(GitOptions, "opts git_opts user password no_index cached paths output_encoding")
def diff(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    item1: str | None = None,
    item2: str | None = None,
    no_index: bool = False,
    cached: bool = False,
    paths: Any = None,
) -> str:
    """The difference of two revisions, or of files that are in no repository (``no_index``).

    CLI Example:

        salt myminion git.diff /path/to/repo branch1 branch2
    """
    if no_index and cached:
        raise UsageError("The 'no_index' and 'cached' options cannot be used together")
    flags = ["--no-index"] if no_index else ["--cached"] if cached else []
    items = [str(item) for item in (item1, item2) if item]
    words = ["diff", *git.option_words(options.opts), *flags, *items]
    if paths:
        words += ["--", *([paths] if isinstance(paths, str) else map(str, paths))]
    # with --no-index an exit code of 1 says that there is a difference
    outcome = outcome_of(ctx, options, cwd, *words, fail=not no_index)
    return str(outcome.stdout).rstrip()


@takes_options(GitOptions, LOCAL)
def merge_base(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    refs: Any = None,
    octopus: bool = False,
    is_ancestor: bool = False,
    independent: bool = False,
    fork_point: str | None = None,
    **kwargs: Any,
) -> Any:
    """The best common ancestor of revisions; with ``is_ancestor`` whether the first is one.

    ``all`` tells all of them, one in a line.

    CLI Example:

        salt myminion git.merge_base /path/to/repo refs=origin/master,foo
    """
    given = git.own(kwargs, "all")
    chosen = [bool(each) for each in (octopus, independent, is_ancestor, fork_point)]
    if sum(chosen) > 1:
        raise UsageError(
            "Only one of 'octopus', 'independent', 'is_ancestor', and 'fork_point' is permitted"
        )
    names = refs.split(",") if isinstance(refs, str) else [str(each) for each in refs or []]
    if is_ancestor and len(names) != 2:
        raise UsageError("Two refs/commits are required if 'is_ancestor' is True")
    words = ["--octopus"] * octopus + ["--independent"] * independent
    words += ["--is-ancestor"] * is_ancestor
    words += ["--all"] if given.get("all") else []
    words += ["--fork-point", str(fork_point)] if fork_point else []
    words = ["merge-base", *git.option_words(options.opts), *words, *names]
    if is_ancestor:
        return bool(outcome_of(ctx, options, cwd, *words, fail=False).retcode == 0)
    return text_of(ctx, options, cwd, *words)


@takes_options(GitOptions, READING)
def merge_tree(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    ref1: str,
    ref2: str,
    base: str | None = None,
) -> str:
    """What a merge of two revisions would change, without touching anything.

    CLI Example:

        salt myminion git.merge_tree /path/to/repo HEAD upstream/dev
    """
    if base is None:
        base = text_of(ctx, options, cwd, "merge-base", str(ref1), str(ref2))
    return text_of(ctx, options, cwd, "merge-tree", str(base), str(ref1), str(ref2))


@takes_options(GitOptions, LOCAL)
def rev_parse(ctx: MinionContext, options: GitOptions, /, cwd: str, rev: str | None = None) -> str:
    """What ``git rev-parse`` makes of a revision or of ``opts``.

    CLI Example:

        salt myminion git.rev_parse /path/to/repo develop opts='--abbrev-ref'
    """
    words = [*git.option_words(options.opts), *([str(rev)] if rev is not None else [])]
    return text_of(ctx, options, cwd, "rev-parse", *words)


@takes_options(GitOptions, READING)
def revision(
    ctx: MinionContext, options: GitOptions, /, cwd: str, rev: str = "HEAD", short: bool = False
) -> str:
    """The hash of a revision.

    CLI Example:

        salt myminion git.revision /path/to/repo mybranch short=True
    """
    return text_of(ctx, options, cwd, "rev-parse", *(["--short"] if short else []), str(rev))


@takes_options(GitOptions, LOCAL)
def symbolic_ref(
    ctx: MinionContext, options: GitOptions, /, cwd: str, ref: str, value: str | None = None
) -> str:
    """What a symbolic reference stands for, or set it.

    CLI Example:

        salt myminion git.symbolic_ref /path/to/repo HEAD
    """
    words = [*git.option_words(options.opts), str(ref), *([str(value)] if value else [])]
    return text_of(ctx, options, cwd, "symbolic-ref", *words)
