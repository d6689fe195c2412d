"""Copies and renames on the minion."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.resource import Declared
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states._file import moves
from saltlite.states._file.checks import explain_bad_name, failure, owner_of, primary_group


def copy(
    ctx: MinionContext,
    name: str,
    source: str,
    force: bool = False,
    makedirs: bool = False,
    preserve: bool = False,
    user: object = None,
    group: object = None,
    mode: object = None,
    dir_mode: object = None,
    subdir: bool = False,
    **kwargs: Any,
) -> Declared:
    """A copy of a file of this machine."""
    wrong = explain_bad_name(name, "copy")
    if wrong:
        return wrong
    source = os.path.expanduser(source)
    if not os.path.isabs(source):
        return failure(f'Source file "{source}" is not present')
    user = owner_of(user, kwargs)
    if user is not None and group is None:
        group = primary_group(user)
    wanted = (
        DesiredPermissions() if preserve else DesiredPermissions(user=user, group=group, mode=mode)
    )
    name = os.path.expanduser(name)
    return moves.copy_path(
        name, source, wanted, force=force, makedirs=makedirs, subdir=subdir, dir_mode=dir_mode
    )


def rename(
    ctx: MinionContext,
    name: str,
    source: str,
    force: bool = False,
    makedirs: bool = False,
    **kwargs: Any,
) -> Declared:
    """A file under another name than the one that it had."""
    wrong = explain_bad_name(name, "rename")
    if wrong:
        return wrong
    return moves.Renamed(
        name=os.path.expanduser(name), source=os.path.expanduser(source), force=force,
        makedirs=makedirs,
    )  # fmt: skip
