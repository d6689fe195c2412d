"""``git``: pillar files in branches of git repositories.

Each entry is ``branch url``, ``url``, or a map from one of these to a list of ``{option: value}``
(:data:`OPTIONS`); ``git_pillar_<option>`` are the general ones. The branch ``__env__`` is that of
the minion's environment, or ``all_saltenvs`` for each of them; ``fallback`` is taken where a branch
is missing. Each repository has its own top file and, with ``git_pillar_includes``, sees the files
of the others of its environment; with ``mountpoint`` its own files are below that path, for the top
files of others. Source: Salt's documentation of the driver; observed on Salt 3006.30.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from saltlite.context import MinionContext
from saltlite.core.data import merge_by
from saltlite.core.dataclasses import dataclass
from saltlite.fileserver.gitfs import BASE, Remote, join_maps, path_parts, remotes
from saltlite.fileserver.gitrepo import redact_url
from saltlite.pillar.external import ExternalFailed

if TYPE_CHECKING:
    from saltlite.fileserver.mounts import Mount

log = logging.getLogger(__name__)

ANY: Final = "__env__"
ERRORS: Final = "_errors"
OPTIONS: Final = (
    *("root", "mountpoint", "env", "base", "name", "all_saltenvs", "fallback"),
    *("user", "password", "insecure_auth", "privkey", "pubkey", "passphrase"),
    *("ssl_verify", "proxy", "refspecs", "update_interval"),
)
"""What one repository may be given."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What an entry wants: a branch of a remote, the environment and path that its files are at."""

    remote: Remote
    branch: str
    env: str
    mountpoint: str


def ext_pillar(
    ctx: MinionContext, _pillar: Mapping[str, object], *entries: Any, **named: Any
) -> Mapping[str, Any]:
    """The pillar that lies in git repositories."""
    from saltlite.pillar.context import compile_directories

    if named:
        raise ExternalFailed(
            f"it takes a list of repositories, not a map with {redact_url(min(named))}"
        )
    pillarenv = ctx.config.pillar.pillarenv
    wishes = [_build_wish(ctx, entry) for entry in entries]
    places = [
        (wish.env, place)
        for wish in wishes
        if (not pillarenv or wish.env == pillarenv) and (place := _find_mount(wish)) is not None
    ]
    merged: dict[str, Any] = {}
    errors: list[str] = []
    for env, place in places:
        found = compile_directories(ctx, env, _list_mounts(ctx, env, place, places))
        errors += found.pop(ERRORS, [])
        merged = merge_by(
            ctx.config.pillar.pillar_source_merging_strategy,
            merged,
            found,
            renderer=ctx.config.files.renderer,
            merge_lists=ctx.config.pillar.pillar_merge_lists,
        )
    return {**merged, ERRORS: list(dict.fromkeys(errors))} if errors else merged


def check(entries: object) -> None:
    """Look at what the option has, without asking any repository.

    Raises:
        ExternalFailed: an entry names no repository, or has an option that there is not.
    """
    if not isinstance(entries, (list, tuple, str)):
        raise ExternalFailed(f"it takes a list of repositories, not {redact_url(str(entries))}")
    for entry in [entries] if isinstance(entries, str) else entries:
        _split_entry(entry)


def _split_entry(entry: object) -> tuple[str, str, dict[str, Any]]:
    """The branch of an entry, ``""`` if it has none, its address, its own options."""
    named, own = next(iter(entry.items())) if isinstance(entry, Mapping) and entry else (entry, [])
    branch, url = _split_branch(named)
    given = join_maps(own)
    for name in given:
        if name not in OPTIONS:
            near = get_close_matches(name, OPTIONS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(OPTIONS)}"
            raise ExternalFailed(
                f"{redact_url(url)}: {name!r} is no option of a repository; {hint}"
            )
    return branch, url, given


def _build_wish(ctx: MinionContext, entry: object) -> Wish:
    branch, url, own = _split_entry(entry)
    directory = Path(ctx.config.paths.cachedir) / "git_pillar"
    (remote,) = remotes(ctx.config.extra, directory, [{url: [own]}], "git_pillar")
    mountpoint = str(own.get("mountpoint") or "")
    base = str(remote.options.base or "master")
    branch = branch or str(remote.options.branch or "master")
    if branch == ANY:
        env = ctx.config.pillar.pillarenv or ctx.config.files.saltenv or BASE
        branch = str(remote.options.all_saltenvs or (base if env == BASE else env))
    else:
        env = BASE if branch == base else branch
    return Wish(remote, branch, str(remote.options.env or env), mountpoint)


def _split_branch(named: object) -> tuple[str, str]:
    """The branch of an entry, ``""`` if it has none, and the address."""
    text = str(named).strip()
    branch, _blank, url = text.rpartition(" ")
    if "/" not in url and ":" not in url:
        raise ExternalFailed(f"{redact_url(text)} is no branch and address of a repository")
    return branch.strip(), url


def _find_mount(wish: Wish) -> Mount | None:
    """The directory with the files that an entry wants, and the path they are at."""
    repository, below = wish.remote.repository, path_parts(wish.mountpoint)
    if not below and wish.mountpoint.removeprefix("salt://").strip("./"):
        log.error("git_pillar: mountpoint leads out of the pillar: %s", repository.public_url)
        return None
    names, fallback = repository.names(wish.remote.interval_s), wish.remote.options.fallback
    commit = names.commit(wish.branch)
    if commit is None and fallback:
        commit = names.commit(str(fallback))
    tree = None if commit is None else repository.tree(commit)
    if tree is None:
        log.error("git_pillar: %s has no branch or tag %s", repository.public_url, wish.branch)
        return None
    root = tree.joinpath(*path_parts(wish.remote.options.root))
    if not Path(os.path.realpath(root)).is_relative_to(os.path.realpath(tree)):
        log.error("git_pillar: root leads out of %s", repository.public_url)
        return None
    return str(root), below


def _list_mounts(
    ctx: MinionContext, env: str, place: Mount, places: Sequence[tuple[str, Mount]]
) -> Sequence[Mount]:
    if ctx.config.extra.get("git_pillar_includes") is False:
        return (place,)
    return (place, *(other for its_env, other in places if its_env == env and other != place))
