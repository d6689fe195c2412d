"""Further work trees of a repository."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.errors import FunctionError, UsageError
from saltlite.modules.git._command import LOCAL, GitOptions, outcome_of, said_by, text_of
from saltlite.openat import reach
from saltlite.providers import git


@takes_options(GitOptions, "user password output_encoding")
def is_worktree(ctx: MinionContext, options: GitOptions, /, cwd: str) -> bool:
    """Whether a directory is a work tree besides the main one.

    CLI Example:

        salt myminion git.is_worktree /path/to/repo
    """
    return _is_worktree(ctx, options, cwd)


def _is_worktree(ctx: MinionContext, options: GitOptions, cwd: str) -> bool:
    path = git.directory(cwd)
    if not ctx.host.is_dir(path):
        return False
    outcome = outcome_of(ctx, options, cwd, "rev-parse", "--show-toplevel", fail=False)
    if outcome.retcode != 0:
        return False
    link = os.path.join(outcome.stdout.rstrip("\n"), ".git")
    text = None if ctx.host.is_dir(link) else ctx.host.read_text(link)
    return text is not None and "/worktrees/" in text


@takes_options(GitOptions, "user password output_encoding")
def list_worktrees(
    ctx: MinionContext, options: GitOptions, /, cwd: str, stale: bool = False, **kwargs: Any
) -> dict[str, Any]:
    """The work trees of a repository; ``stale`` are those that are gone, ``all`` both.

    CLI Example:

        salt myminion git.list_worktrees /path/to/repo all=True
    """
    given = git.own(kwargs, "all")
    trees = git.parse_worktrees(text_of(ctx, options, cwd, "worktree", "list", "--porcelain"))
    for path, tree in trees.items():
        tree["stale"] = not ctx.host.is_dir(path)
        if tree["detached"] and "HEAD" in tree:
            text = text_of(ctx, options, cwd, "tag", "--points-at", tree["HEAD"])
            tree |= {"tags": text.splitlines()} if text else {}
    if given.get("all"):
        return trees
    return {path: tree for path, tree in trees.items() if tree["stale"] == bool(stale)}


@takes_options(GitOptions, LOCAL)
def worktree_add(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    worktree_path: str,
    ref: str | None = None,
    reset_branch: bool | None = None,
    force: bool | None = None,
    detach: bool = False,
    **kwargs: Any,
) -> str:
    """Make another work tree; ``branch`` names a new branch for it, without which it is its name.

    CLI Example:

        salt myminion git.worktree_add /path/to/repo ../hotfix ref=origin/master
        salt myminion git.worktree_add /path/to/repo ../hotfix branch=hotfix21 ref=v2.1.9.3
    """
    given = git.own(kwargs, "branch")
    name = given.get("branch")
    if name and detach:
        raise UsageError("Only one of 'branch' and 'detach' is allowed")
    words = ["--detach"] * bool(detach) + ["--force"] * bool(force)
    if not (name or detach):
        name = os.path.basename(str(worktree_path).rstrip("/"))
    if name:
        words += ["-B" if reset_branch else "-b", str(name)]
    words += [*git.option_words(options.opts), str(worktree_path), *([str(ref)] if ref else [])]
    outcome = outcome_of(ctx, options, cwd, "worktree", "add", *words)
    said = (outcome.stderr.rstrip(), outcome.stdout.rstrip())
    return "\n".join(part for part in said if part)


@takes_options(GitOptions, LOCAL)
def worktree_prune(
    ctx: MinionContext,
    options: GitOptions,
    /,
    cwd: str,
    dry_run: bool = False,
    verbose: bool = True,
    expire: str | None = None,
) -> str:
    """Forget work trees that are gone.

    CLI Example:

        salt myminion git.worktree_prune /path/to/repo dry_run=True
    """
    words = ["--dry-run"] * bool(dry_run) + ["--verbose"] * bool(verbose)
    words += ["--expire", str(expire)] if expire else []
    return said_by(ctx, options, cwd, "worktree", "prune", *words, *git.option_words(options.opts))


@takes_options(GitOptions, "user output_encoding")
def worktree_rm(ctx: MinionContext, options: GitOptions, /, cwd: str) -> bool:
    """Remove the directory of a work tree; ``git.worktree_prune`` then forgets it.

    CLI Example:

        salt myminion git.worktree_rm /path/to/worktree
    """
    path = git.directory(cwd)
    if not ctx.host.exists(path):
        raise FunctionError(f"{path} does not exist")
    if not _is_worktree(ctx, options, path):
        raise FunctionError(f"{path} is not a git worktree")
    try:
        with reach(path) as spot:
            spot.remove()
    except OSError as error:
        raise FunctionError(f"Unable to remove {path}: {error.strerror}") from error
    return True
