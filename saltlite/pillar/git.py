"""``git``: pillar files in branches of git repositories.

Each entry is ``branch url`` or ``{branch url: [{option: value}, ...]}`` with ``root``, ``env``,
``name``, ``base``, ``update_interval`` and those of access; ``git_pillar_<option>`` are the general
ones. The branch ``__env__`` is that of the minion's environment. Each repository has its own top
file and, with ``git_pillar_includes``, sees the files of the others of its environment. Source:
Salt's documentation of the driver; observed on Salt 3006.30.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import merge_by
from saltlite.fileserver.gitfs import BASE, Remote, path_parts, remotes
from saltlite.pillar.external import ExternalFailed

log = logging.getLogger(__name__)

ANY = "__env__"
ERRORS = "_errors"


@dataclass(frozen=True, slots=True)
class Wish:
    """What an entry wants: a branch of a remote, and the environment that its files are of."""

    remote: Remote
    branch: str
    env: str


def _git(ctx: MinionContext, _pillar: Mapping[str, Any], *entries: Any) -> Mapping[str, Any]:
    from saltlite.pillar.context import compile_directories

    pillarenv = ctx.config.pillar.pillarenv
    wishes = [_wish(ctx, entry) for entry in entries]
    places = [
        (wish.env, place)
        for wish in wishes
        if (not pillarenv or wish.env == pillarenv) and (place := _place(wish)) is not None
    ]
    merged: dict[str, Any] = {}
    errors: list[str] = []
    for env, place in places:
        found = compile_directories(ctx, env, _roots(ctx, env, place, places))
        errors += found.pop(ERRORS, [])
        merged = merge_by(
            ctx.config.pillar.pillar_source_merging_strategy,
            merged,
            found,
            renderer=ctx.config.files.renderer,
            merge_lists=ctx.config.pillar.pillar_merge_lists,
        )
    return {**merged, ERRORS: errors} if errors else merged


def _wish(ctx: MinionContext, entry: Any) -> Wish:
    named, own = next(iter(entry.items())) if isinstance(entry, Mapping) and entry else (entry, [])
    branch, blank, url = str(named).partition(" ")
    if not blank:
        raise ExternalFailed(f"{named} is no branch and address of a repository")
    directory = Path(ctx.config.paths.cachedir) / "git_pillar"
    (remote,) = remotes(ctx.config.extra, directory, [{url.strip(): own}], "git_pillar")
    base = str(remote.options.get("base") or "master")
    if branch == ANY:
        env = ctx.config.pillar.pillarenv or ctx.config.files.saltenv or BASE
        return Wish(remote, base if env == BASE else env, str(remote.options.get("env") or env))
    env = BASE if branch == base else branch
    return Wish(remote, branch, str(remote.options.get("env") or env))


def _place(wish: Wish) -> str | None:
    """The directory with the files that an entry wants."""
    repository = wish.remote.repository
    commit = repository.names(wish.remote.interval_s).commit(wish.branch)
    tree = None if commit is None else repository.tree(commit)
    if tree is None:
        log.error("git_pillar: %s has no branch or tag %s", repository.shown, wish.branch)
        return None
    root = tree.joinpath(*path_parts(wish.remote.options.get("root")))
    if not Path(os.path.realpath(root)).is_relative_to(os.path.realpath(tree)):
        log.error("git_pillar: root leads out of %s", repository.shown)
        return None
    return str(root)


def _roots(ctx: MinionContext, env: str, place: str, places: list[tuple[str, str]]) -> list[str]:
    if ctx.config.extra.get("git_pillar_includes") is False:
        return [place]
    return [place, *(other for its_env, other in places if its_env == env and other != place)]


SOURCES = {"git": _git}
