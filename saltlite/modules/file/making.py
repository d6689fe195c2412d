"""Make directories, device nodes, links."""

from __future__ import annotations

import os
import stat
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UntrustedPath, UsageError
from saltlite.openat import reach
from saltlite.providers.file import content, paths, permissions
from saltlite.providers.file.paths import absolute, home
from saltlite.providers.file.permissions import DesiredPermissions

INTERNAL = ("place_link",)
"""Functions for states; nobody calls them by name."""


def _owner_and_mode(
    user: object, group: object, mode: object
) -> tuple[int | None, tuple[int, int]]:
    number = None if mode is None else permissions.mode_number(mode)
    return number, DesiredPermissions(user=user, group=group).owner()


def mkdir(dir_path: str, user: object = None, group: object = None, mode: object = None) -> bool:
    """Make a directory and those above it; one that is there stays as it is.

    CLI Example:

        salt '*' file.mkdir /opt/jetty/context
    """
    path = os.path.normpath(home(dir_path))
    if not os.path.isdir(path):
        paths.make_dirs(path, *_owner_and_mode(user, group, mode))
    return True


def makedirs(
    path: str, user: object = None, group: object = None, mode: object = None
) -> str | None:
    """Make the directories that a path is in; with ``/`` at its end also the last.

    CLI Example:

        salt '*' file.makedirs /opt/code/
    """
    folder = os.path.dirname(home(path))
    if os.path.isdir(folder):
        return f"Directory '{folder}' already exists"
    if os.path.exists(folder):
        return f"The path '{folder}' already exists and is not a directory"
    if not os.path.isabs(folder):
        raise UsageError(
            "Recursive creation for path '' would result in an infinite loop. Please use an"
            " absolute path."
        )
    paths.make_dirs(os.path.normpath(folder), *_owner_and_mode(user, group, mode))
    return None


def makedirs_perms(
    name: str, user: object = None, group: object = None, mode: object = "0755"
) -> None:
    """Make a directory and those above it, each with this owner and mode.

    CLI Example:

        salt '*' file.makedirs_perms /opt/code
    """
    paths.make_dirs(home(name), *_owner_and_mode(user, group, mode))


def mknod(
    ctx: MinionContext,
    name: str,
    ntype: str,
    major: int = 0,
    minor: int = 0,
    user: object = None,
    group: object = None,
    mode: object = "0600",
) -> dict[str, Any]:
    """Make a block device (``b``), a character device (``c``) or a named pipe (``p``).

    CLI Example:

        salt '*' file.mknod /dev/chr c 180 31
        salt '*' file.mknod /dev/fifo p
    """
    if ntype == "c":
        return mknod_chrdev(ctx, name, major, minor, user, group, mode)
    if ntype == "b":
        return mknod_blkdev(ctx, name, major, minor, user, group, mode)
    if ntype == "p":
        return mknod_fifo(ctx, name, user, group, mode)
    raise UsageError(
        f"Node type unavailable: '{ntype}'. Available node types are character ('c'), block ('b'),"
        " and pipe ('p')."
    )


def mknod_chrdev(
    ctx: MinionContext,
    name: str,
    major: int,
    minor: int,
    user: object = None,
    group: object = None,
    mode: object = "0660",
) -> dict[str, Any]:
    """Make a character device.

    CLI Example:

        salt '*' file.mknod_chrdev /dev/chr 180 31
    """
    number = os.makedev(int(major), int(minor))
    return _make_node(ctx, name, "Character device", stat.S_IFCHR, number, (user, group, mode))


def mknod_blkdev(
    ctx: MinionContext,
    name: str,
    major: int,
    minor: int,
    user: object = None,
    group: object = None,
    mode: object = "0660",
) -> dict[str, Any]:
    """Make a block device.

    CLI Example:

        salt '*' file.mknod_blkdev /dev/blk 8 999
    """
    number = os.makedev(int(major), int(minor))
    return _make_node(ctx, name, "Block device", stat.S_IFBLK, number, (user, group, mode))


def mknod_fifo(
    ctx: MinionContext, name: str, user: object = None, group: object = None, mode: object = "0660"
) -> dict[str, Any]:
    """Make a named pipe.

    CLI Example:

        salt '*' file.mknod_fifo /dev/fifo
    """
    return _make_node(ctx, name, "Fifo pipe", stat.S_IFIFO, 0, (user, group, mode))


def _make_node(
    ctx: MinionContext,
    name: str,
    kind: str,
    file_type: int,
    number: int,
    owner_and_mode: tuple[object, object, object],
) -> dict[str, Any]:
    name = home(name)
    ret: dict[str, Any] = {"name": name, "changes": {}, "comment": "", "result": False}
    if os.path.lexists(name):
        ret["comment"] = f"File {name} exists and cannot be overwritten"
        return ret
    ret["changes"] = {"new": f"{kind} {name} created."}
    if ctx.config.files.test:
        ret["result"] = None
        return ret
    mode, (uid, gid) = _owner_and_mode(*owner_and_mode)
    with reach(name, user=content.uid_of((uid, gid))) as spot:
        os.mknod(spot.name, file_type | 0o600, number, dir_fd=spot.fd)
        with spot.hold() as held:
            held.chown(uid, gid)
            if mode is not None:
                held.chmod(mode)
    ret["result"] = True
    return ret


def link(src: str, path: str) -> bool:
    """Make a hard link.

    CLI Example:

        salt '*' file.link /path/to/file /path/to/link
    """
    src = absolute(src)
    try:
        with reach(src) as there, reach(path) as spot:
            os.link(
                there.name,
                spot.name,
                src_dir_fd=there.fd,
                dst_dir_fd=spot.fd,
                follow_symlinks=False,
            )
    except OSError as error:
        raise FunctionError(f"Could not create '{path}': {error}") from error
    return True


def symlink(src: str, path: str, force: bool = False, atomic: bool = False) -> bool:
    """Make a symbolic link at ``path``; ``force`` and ``atomic`` replace a file that is there.

    CLI Example:

        salt '*' file.symlink /path/to/file /path/to/link
    """
    path = absolute(path, "Link path must be absolute: {}")
    if os.path.islink(path):
        if os.path.normpath(os.readlink(path)) == os.path.normpath(src):
            return True
        if not force and not atomic:
            raise FunctionError(f"Found existing symlink: {path}")
    elif os.path.exists(path) and not force and not atomic:
        raise FunctionError(f"Existing path is not a symlink: {path}")
    try:
        place_link(src, path)
    except UntrustedPath as error:
        raise FunctionError(f"Could not create '{path}': {error}") from error
    except OSError as error:
        raise FunctionError(f"Could not create '{path}'") from error
    return True


def place_link(src: str, path: str, user: int | None = None) -> None:
    """In one step, so that there is always something at ``path``."""
    with reach(path, user=user) as spot:
        temporary = f"{spot.name}.{os.urandom(4).hex()}.tmp"
        os.symlink(src, temporary, dir_fd=spot.fd)
        try:
            os.replace(temporary, spot.name, src_dir_fd=spot.fd, dst_dir_fd=spot.fd)
        except OSError:
            os.unlink(temporary, dir_fd=spot.fd)
            raise
