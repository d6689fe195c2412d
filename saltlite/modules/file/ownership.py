"""Owners and modes."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UntrustedPath
from saltlite.providers.file import permissions
from saltlite.providers.file.paths import home
from saltlite.providers.file.permissions import DesiredPermissions, refuse_context


def uid_to_user(uid: object) -> Any:
    """The name of a user id.

    CLI Example:

        salt '*' file.uid_to_user 0
    """
    return permissions.user_name(uid)


def user_to_uid(user: object) -> Any:
    """The id of a user.

    CLI Example:

        salt '*' file.user_to_uid root
    """
    return permissions.user_id(user)


def gid_to_group(gid: object) -> Any:
    """The name of a group id.

    CLI Example:

        salt '*' file.gid_to_group 0
    """
    return permissions.group_name(gid)


def group_to_gid(group: object) -> Any:
    """The id of a group.

    CLI Example:

        salt '*' file.group_to_gid root
    """
    return permissions.group_id(group)


def get_uid(path: str, follow_symlinks: bool = True) -> int:
    """The id of the user that a file belongs to.

    CLI Example:

        salt '*' file.get_uid /etc/passwd
    """
    return permissions.status(home(path), follow=follow_symlinks).st_uid


def get_user(path: str, follow_symlinks: bool = True) -> Any:
    """The user that a file belongs to.

    CLI Example:

        salt '*' file.get_user /etc/passwd
    """
    return permissions.user_name(get_uid(path, follow_symlinks))


def get_gid(path: str, follow_symlinks: bool = True) -> int:
    """The id of the group that a file belongs to.

    CLI Example:

        salt '*' file.get_gid /etc/passwd
    """
    return permissions.status(home(path), follow=follow_symlinks).st_gid


def get_group(path: str, follow_symlinks: bool = True) -> Any:
    """The group that a file belongs to.

    CLI Example:

        salt '*' file.get_group /etc/passwd
    """
    return permissions.group_name(get_gid(path, follow_symlinks))


def get_mode(path: str, follow_symlinks: bool = True) -> str:
    """The mode of a file.

    CLI Example:

        salt '*' file.get_mode /etc/passwd
    """
    return permissions.mode_text(permissions.status(home(path), follow=follow_symlinks).st_mode)


def set_mode(path: str, mode: object) -> str:
    """Set the mode of a file; gives back the mode.

    CLI Example:

        salt '*' file.set_mode /etc/passwd 0644
    """
    path = home(path)
    if not os.path.exists(path):
        raise FunctionError(f"{path}: File not found")
    try:
        number = permissions.mode_number(mode)
        with permissions.hold_file(path, follow=True) as held:
            held.chmod(number)
    except UntrustedPath as error:
        raise FunctionError(str(error)) from error
    except (FunctionError, OSError):
        return f"Invalid Mode {mode}"
    return get_mode(path)


def chown(path: str, user: object, group: object) -> str | None:
    """Give a file to a user and a group; ``""`` leaves one as it is.

    CLI Example:

        salt '*' file.chown /etc/passwd root root
    """
    return permissions.chown(home(path), user, group, follow=True)


def lchown(path: str, user: object, group: object) -> str | None:
    """Give a file to a user and a group; of a link, the link itself.

    CLI Example:

        salt '*' file.lchown /etc/passwd root root
    """
    return permissions.chown(home(path), user, group, follow=False)


def chgrp(path: str, group: object) -> str | None:
    """Give a file to a group.

    CLI Example:

        salt '*' file.chgrp /etc/passwd root
    """
    path = home(path)
    permissions.status(path)
    return permissions.chown(path, None, group, follow=True)


def check_perms(
    ctx: MinionContext,
    name: str,
    ret: dict[str, Any] | None,
    user: object,
    group: object,
    mode: object,
    attrs: str | None = None,
    follow_symlinks: bool = False,
    seuser: object = None,
    serole: object = None,
    setype: object = None,
    serange: object = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Set owner, mode and attributes where they differ; a state's return, and what was before.

    CLI Example:

        salt '*' file.check_perms /etc/sudoers '{}' root root 400 ai
    """
    refuse_context("file.check_perms", seuser, serole, setype, serange)
    wanted = DesiredPermissions(user=user, group=group, mode=mode, attrs=attrs)
    test = ctx.config.files.test
    return permissions.check(home(name), ret, wanted, ctx.host, follow=follow_symlinks, test=test)
