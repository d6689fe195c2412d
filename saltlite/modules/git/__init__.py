"""git: clone, look at and change repositories.

``opts`` are words for the subcommand, ``git_opts`` for git itself; ``user`` is who runs it,
``identity`` a file with a key for ssh (or several, or on the master: ``salt://``), ``password`` is
for systems where a user cannot be changed without one. Source: observed on
Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping

PARTS: Mapping[str, tuple[str, ...]] = {
    "repositories": ("archive", "clone", "init", "submodule", "version"),
    "working": ("add", "commit", "discard_local_changes", "reset", "rm", "stash", "status"),
    "revisions": (
        "describe",
        "diff",
        "merge_base",
        "merge_tree",
        "rev_parse",
        "revision",
        "symbolic_ref",
    ),
    "branches": (
        "branch",
        "checkout",
        "current_branch",
        "list_branches",
        "list_tags",
        "merge",
        "rebase",
        "tag",
    ),
    "remotes": (
        "fetch",
        "ls_remote",
        "pull",
        "push",
        "remote_get",
        "remote_refs",
        "remote_set",
        "remotes",
    ),
    "settings": (
        "config_get",
        "config_get_regex",
        "config_get_regexp",
        "config_set",
        "config_unset",
    ),
    "worktrees": ("is_worktree", "list_worktrees", "worktree_add", "worktree_prune", "worktree_rm"),
}
