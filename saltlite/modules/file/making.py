"""Make directories, device nodes, links."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UntrustedPath, UsageError
from saltlite.providers.file import paths
from saltlite.providers.file.paths import absolute, home
from saltlite.providers.file.permissions import DesiredPermissions


def _join_wanted(user: object, group: object, mode: object) -> DesiredPermissions:
    return DesiredPermissions(user=user, group=group, mode=mode)


def mkdir(dir_path: str, user: object = None, group: object = None, mode: object = None) -> bool:
    """Make a directory and those above it; one that is there stays as it is.

    CLI Example:

        salt '*' file.mkdir /opt/jetty/context
    """
    path = os.path.normpath(home(dir_path))
    if not os.path.isdir(path):
        paths.make_folder(path, _join_wanted(user, group, mode))
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
    paths.make_folder(os.path.normpath(folder), _join_wanted(user, group, mode))
    return None


def makedirs_perms(
    name: str, user: object = None, group: object = None, mode: object = "0755"
) -> None:
    """Make a directory and those above it, each with this owner and mode.

    CLI Example:

        salt '*' file.makedirs_perms /opt/code
    """
    paths.make_folder(home(name), _join_wanted(user, group, mode))


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
    if ntype not in paths.NODES:
        raise UsageError(
            f"Node type unavailable: '{ntype}'. Available node types are character ('c'), block"
            " ('b'), and pipe ('p')."
        )
    return _make_node(ctx, name, ntype, (major, minor), _join_wanted(user, group, mode))


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
    return _make_node(ctx, name, "c", (major, minor), _join_wanted(user, group, mode))


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
    return _make_node(ctx, name, "b", (major, minor), _join_wanted(user, group, mode))


def mknod_fifo(
    ctx: MinionContext, name: str, user: object = None, group: object = None, mode: object = "0660"
) -> dict[str, Any]:
    """Make a named pipe.

    CLI Example:

        salt '*' file.mknod_fifo /dev/fifo
    """
    return _make_node(ctx, name, "p", (0, 0), _join_wanted(user, group, mode))


def _make_node(
    ctx: MinionContext, name: str, kind: str, numbers: tuple[Any, Any], wanted: DesiredPermissions
) -> dict[str, Any]:
    name = home(name)
    ret: dict[str, Any] = {"name": name, "changes": {}, "comment": "", "result": False}
    if os.path.lexists(name):
        return {**ret, "comment": f"File {name} exists and cannot be overwritten"}
    ret["changes"] = {"new": f"{paths.NODES[kind][0]} {name} created."}
    if ctx.config.files.test:
        return {**ret, "result": None}
    major, minor = numbers
    paths.make_node(name, kind, (int(major), int(minor)), wanted)
    return {**ret, "result": True}


def link(src: str, path: str) -> bool:
    """Make a hard link.

    CLI Example:

        salt '*' file.link /path/to/file /path/to/link
    """
    paths.link(absolute(src), path)
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
        paths.place_link(src, path)
    except UntrustedPath as error:
        raise FunctionError(f"Could not create '{path}': {error}") from error
    except OSError as error:
        raise FunctionError(f"Could not create '{path}'") from error
    return True
