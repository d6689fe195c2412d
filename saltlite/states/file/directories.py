"""Directories, and trees out of a source."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.chunk import LOWSTATE
from saltlite.highstate.resource import Declared
from saltlite.providers.file import sources
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states._file import directory as directories
from saltlite.states._file import tree
from saltlite.states._file.checks import explain_bad_name, failure, owner_of
from saltlite.states.file.links import symlink
from saltlite.states.file.managed import managed


def directory(
    ctx: MinionContext,
    name: str,
    user: object = None,
    group: object = None,
    recurse: object = None,
    max_depth: object = None,
    dir_mode: object = None,
    file_mode: object = None,
    makedirs: bool = False,
    clean: bool = False,
    require: object = None,
    exclude_pat: object = None,
    follow_symlinks: bool = False,
    force: bool = False,
    backupname: object = None,
    allow_symlink: bool = True,
    children_only: bool = False,
    mode: object = None,
    **kwargs: Any,
) -> Declared:
    """A directory, and whose and how open everything in it is."""
    wrong = explain_bad_name(name, "directory")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    if name != "/":
        name = name.rstrip("/")
    if clean and max_depth is not None:
        return failure("Cannot specify both max_depth and clean")
    wanted_mode = mode if dir_mode is None else dir_mode
    own = DesiredPermissions(
        user=owner_of(user, kwargs), group=group, mode=wanted_mode, attrs=kwargs.get("attrs")
    )
    return directories.Directory(
        name=name, own=own, file_mode=wanted_mode if file_mode is None else file_mode,
        recursion=directories.recursion(recurse, own, max_depth), clean=clean,
        keep=_required_paths(ctx, require, name) if clean else frozenset(), exclude=exclude_pat,
        makedirs=makedirs, force=force, backupname=str(backupname or ""), follow=follow_symlinks,
        allow_symlink=allow_symlink, children_only=children_only,
    )  # fmt: skip


def _required_paths(ctx: MinionContext, require: object, name: str) -> frozenset[str]:
    """The paths below a directory that required states are about, and those they are in."""
    low = ctx.state.get(LOWSTATE, ())
    pairs = [
        pair for one in (require if isinstance(require, list) else []) if isinstance(one, dict)
        for pair in one.items()
    ]  # fmt: skip
    return directories.list_kept(name, low, pairs)


def recurse(
    ctx: MinionContext,
    name: str,
    source: object,
    keep_source: bool = True,
    clean: bool = False,
    require: object = None,
    user: object = None,
    group: object = None,
    dir_mode: object = None,
    file_mode: object = None,
    sym_mode: object = None,
    template: object = None,
    context: object = None,
    replace: bool = True,
    defaults: object = None,
    include_empty: bool = False,
    backup: object = "",
    include_pat: object = None,
    exclude_pat: object = None,
    maxdepth: Any = None,
    keep_symlinks: bool = False,
    force_symlinks: bool = False,
    saltenv: str = "base",
    **kwargs: Any,
) -> Declared:
    """A directory of the file server with all that is in it."""
    wrong = explain_bad_name(name, "recurse")
    if wrong:
        return wrong
    if "mode" in kwargs:
        return failure(
            "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'."
        )
    user = owner_of(user, kwargs)
    name = os.path.expanduser(name).rstrip("/")
    if saltenv == "base":
        saltenv = kwargs.get("__env__") or saltenv
    for one in source if isinstance(source, list) else [source]:
        if not str(one).startswith("salt://"):
            return failure(f"Invalid source '{one}' (must be a salt:// URI)")
    origin = _tree_source(ctx, source, saltenv)
    wish = tree.Wish(
        include=include_pat, exclude=exclude_pat, include_empty=include_empty,
        depth=None if maxdepth is None else int(maxdepth), keep_symlinks=keep_symlinks,
    )  # fmt: skip

    def of_file(path: str, below: str) -> Any:
        head, _, query = origin.partition("?")
        return managed(
            ctx, path, f"{head}/{below}?{query or f'saltenv={saltenv}'}", user=user, group=group,
            mode=file_mode, template=template, context=context, replace=replace,
            defaults=defaults, backup=backup, saltenv=saltenv, dir_mode=dir_mode,
            show_changes=kwargs.get("show_changes", True), keep_source=keep_source,
        )  # fmt: skip

    def of_link(path: str, target: str) -> Any:
        return symlink(ctx, path, target, force=force_symlinks, user=user, group=group)

    dirs = DesiredPermissions(user=user, group=group, mode=dir_mode)
    found = tree.listing(ctx, origin, saltenv, wish)
    parts, folders = tree.list_declared(name, found, dirs, of_file, of_link, sym_mode)
    return tree.Tree(
        name=name, origin=found, parts=parts, folders=folders, own=dirs, clean=clean,
        exclude=exclude_pat, keep=_required_paths(ctx, require, name), forget=not keep_source,
    )  # fmt: skip


def _tree_source(ctx: MinionContext, source: object, saltenv: str) -> str:
    try:
        given = source if isinstance(source, list) else [source]
        found, _ = sources.choose_source(ctx, [str(one).rstrip("/") for one in given], "", saltenv)
    except FunctionError as error:
        raise FunctionError(f"Recurse failed: {error}") from error
    return str(found)
