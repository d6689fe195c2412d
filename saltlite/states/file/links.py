"""Symbolic and hard links."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.resource import Declared, Verdict
from saltlite.providers.file import permissions
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states._file.checks import explain_bad_name, failure, owner_of, primary_group
from saltlite.states._file.links import HardLink, Symlink


def symlink(
    ctx: MinionContext,
    name: str,
    target: str,
    force: bool = False,
    backupname: object = None,
    makedirs: bool = False,
    user: object = None,
    group: object = None,
    mode: object = None,
    atomic: bool = False,
    disallow_copy_and_unlink: bool = False,
    inherit_user_and_group: bool = False,
    follow_symlinks: bool = True,
    **kwargs: Any,
) -> Declared:
    """A symbolic link.

    ``inherit_user_and_group``: one that is there keeps its owner and group, unless others are
    declared.
    """
    wrong = explain_bad_name(name, "symlink")
    if wrong:
        return wrong
    name, own = os.path.expanduser(name), permissions.user_name(os.geteuid())
    user = owner_of(user, kwargs)
    keeps = (user is None, group is None) if inherit_user_and_group else (False, False)
    user = own if user is None else user
    if group is None:
        group = primary_group(user)
    wrong = _refuse_unknown(user, group)
    if wrong:
        return wrong
    owner = (
        permissions.user_name(permissions.user_id(user)),
        permissions.group_name(permissions.group_id(group)),
    )
    return Symlink(
        name=name, target=target, owner=owner, force=force,
        backupname=str(backupname or ""), makedirs=makedirs,
        dirs=DesiredPermissions(user=user, group=group, mode=mode), keeps=keeps,
    )  # fmt: skip


def _refuse_unknown(user: object, group: object) -> Verdict | None:
    missing = []
    if user is not None and permissions.user_id(user) == "":
        missing.append(f"User {user} does not exist")
    if group is not None and permissions.group_id(group) == "":
        missing.append(f"Group {group} does not exist")
    if not missing:
        return None
    return failure(
        missing[0] if len(missing) == 1 else "".join(f"{one}. " for one in missing).strip()
    )


def hardlink(
    ctx: MinionContext,
    name: str,
    target: str,
    force: bool = False,
    makedirs: bool = False,
    user: object = None,
    group: object = None,
    dir_mode: object = None,
    **kwargs: Any,
) -> Declared:
    """Another name of a file."""
    wrong = explain_bad_name(name, "hardlink")
    if wrong:
        return wrong
    target = os.path.expanduser(target)
    if not os.path.isabs(target):
        return failure(f"Specified target {target} is not an absolute path")
    wrong = _refuse_unknown(user, group)
    if wrong:
        return wrong
    dirs = DesiredPermissions(user=user, group=group, mode=dir_mode)
    name = os.path.expanduser(name)
    return HardLink(name=name, target=target, force=force, makedirs=makedirs, dirs=dirs)


def shortcut(ctx: MinionContext, name: str, target: str, **kwargs: Any) -> Declared:
    """A shortcut of Windows: nothing for this machine."""
    return failure("Shortcuts are only supported on Windows")
