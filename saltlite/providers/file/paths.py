"""Files and directories as wholes: make, copy, move, remove; and paths as callers give them."""

from __future__ import annotations

import errno
import logging
import os
import stat
import time
from typing import Any

from saltlite.errors import FunctionError, UntrustedPath, UsageError
from saltlite.openat import keep_replaced, reach
from saltlite.providers.file import content
from saltlite.providers.file.content import uid_of
from saltlite.providers.file.permissions import DesiredPermissions, mode_number

log = logging.getLogger(__name__)


def home(path: str) -> str:
    """A path with ``~`` resolved."""
    return os.path.expanduser(path)


def absolute(path: str, complaint: str = "File path must be absolute.") -> str:
    """The same, of a path that has to begin at the root; ``{}`` in the complaint is the path."""
    path = home(path)
    if not os.path.isabs(path):
        raise UsageError(complaint.format(path))
    return path


def make_dirs(path: str, mode: int | None = None, owner: tuple[int, int] = (-1, -1)) -> None:
    """Make a directory and those above it; each that is made has this mode and owner.

    Raises:
        OSError: it cannot be made, or is there already.
    """
    parent = os.path.dirname(path.rstrip("/"))
    if parent and not os.path.exists(parent):
        make_dirs(parent, mode, owner)
    if os.path.basename(path.rstrip("/")) == "." and os.path.isdir(path):
        return
    with reach(path, user=uid_of(owner)) as spot:
        os.mkdir(spot.name, 0o777 if mode is None else mode & 0o700, dir_fd=spot.fd)
        if mode is None and owner == (-1, -1):
            return
        with spot.hold() as held:
            if not stat.S_ISDIR(held.status().st_mode):
                raise UntrustedPath(path, "it was replaced meanwhile")
            if owner != (-1, -1):
                held.chown(*owner)
            if mode is not None:
                held.chmod(mode)


def make_folder(path: str, wanted: DesiredPermissions) -> None:
    """As :func:`make_dirs`, with owner and mode as they are declared.

    Raises:
        FunctionError: such a mode is none.
        OSError: it cannot be made, or is there already.
    """
    mode = None if wanted.mode is None else mode_number(wanted.mode)
    make_dirs(path, mode, wanted.owner())


def remove(path: str) -> bool:
    """Remove whatever is at a path, a directory with all that is in it; ``False`` without anything.

    Raises:
        FunctionError: it is the root, a link with ``/`` at its end, or cannot be removed.
    """
    try:
        if not os.path.lexists(path):
            return False
        if os.path.isdir(path) and (path.endswith("/") or not os.path.islink(path)):
            _refuse_link_or_root(path)
        remove_tree(path)
    except OSError as error:
        raise FunctionError(f"Could not remove '{path}': {error}") from error
    return True


def _refuse_link_or_root(path: str) -> None:
    """Raise OSError for the root, and for a link with ``/`` at its end."""
    if os.path.islink(path.rstrip("/")):
        raise NotADirectoryError(20, os.strerror(20), path)
    if os.path.realpath(path) == "/":
        raise PermissionError(1, os.strerror(1), path)


def remove_tree(path: str) -> None:
    """Remove what is at a path, a directory and all below it; links are removed, not followed.

    Raises:
        OSError: something could not be removed.
    """
    with reach(path) as spot:
        keep_replaced(spot)
        spot.remove()


def copy_file(src: str, dst: str) -> None:
    """Copy a file with owner, mode and times; a directory ``dst`` gets it under its own name.

    Raises:
        OSError: it cannot be copied; what was there stays.
    """
    if os.path.isdir(dst):
        dst = os.path.join(dst, os.path.basename(src))
    if os.path.exists(dst) and os.path.samefile(src, dst):
        raise OSError(f"{src!r} and {dst!r} are the same file")
    content.copy(src, dst, follow=True)


def copy_tree(src: str, dst: str, *, keep_links: bool = False) -> None:
    """Copy a directory over another one; its links are copied only with ``keep_links``.

    Raises:
        OSError: something cannot be copied; what was copied before stays.
    """
    with reach(src, follow=True) as old:
        fd = old.open(os.O_RDONLY | os.O_DIRECTORY)
    try:
        names, status = sorted(os.listdir(fd)), os.fstat(fd)
    finally:
        os.close(fd)
    _make_dir(dst)
    for name in names:
        one, other = os.path.join(src, name), os.path.join(dst, name)
        if keep_links and os.path.islink(one):
            _copy_link(one, other)
        elif os.path.isdir(one):
            copy_tree(one, other, keep_links=keep_links)
        else:
            copy_file(one, other)
    with reach(dst, follow=True) as new, new.hold() as held:
        held.chmod(stat.S_IMODE(status.st_mode))
        os.utime(held.path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _make_dir(path: str) -> None:
    with reach(path, follow=True) as spot:
        try:
            os.mkdir(spot.name, 0o700, dir_fd=spot.fd)
        except FileExistsError:
            found = spot.lstat()
            if found is None or not stat.S_ISDIR(found.st_mode):
                raise


def _copy_link(src: str, dst: str) -> None:
    with reach(src) as old, reach(dst) as new:
        os.symlink(os.readlink(old.name, dir_fd=old.fd), new.name, dir_fd=new.fd)


def move(src: str, dst: str) -> None:
    """Rename a file or directory, also to another file system; a directory ``dst`` takes it in.

    Raises:
        FunctionError: it cannot be moved; it is where it was.
    """
    try:
        if os.path.isdir(dst) and not _is_same(src, dst):
            dst = os.path.join(dst, os.path.basename(src.rstrip("/")))
            if os.path.lexists(dst):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), dst)
        _move_to(src, dst)
    except OSError as error:
        raise FunctionError(f"Unable to move '{src}' to '{dst}': {error}") from error


def _move_to(src: str, dst: str) -> None:
    try:
        with reach(src) as old, reach(dst) as new:
            keep_replaced(new)
            old.rename(new)
    except UntrustedPath:
        raise
    except OSError as error:
        if error.errno != errno.EXDEV:  # its own path is that of a name in an open directory
            raise OSError(error.errno, error.strerror, src) from error
        _copy_away(src, dst)


def _copy_away(src: str, dst: str) -> None:
    if os.path.islink(src):
        _copy_link(src, dst)
    elif os.path.isdir(src):
        copy_tree(src, dst, keep_links=True)
    else:
        copy_file(src, dst)
    remove_tree(src)


def _is_same(one: str, other: str) -> bool:
    return os.path.lexists(one) and os.path.samestat(os.lstat(one), os.stat(other))


def rename(src: str, dst: str) -> None:
    """Rename a file or directory; raises FunctionError."""
    try:
        with reach(src) as old, reach(dst) as new:
            keep_replaced(new)
            old.rename(new)
    except UntrustedPath as error:
        raise FunctionError(f"Could not rename '{src}' to '{dst}': {error}") from error
    except OSError as error:
        raise FunctionError(f"Could not rename '{src}' to '{dst}'") from error


def copy(src: str, dst: str, *, recurse: bool = False, remove_existing: bool = False) -> None:
    """Copy a file, or with ``recurse`` a directory over another one, which may be emptied before.

    Raises:
        FunctionError: it cannot be copied.
    """
    if not os.path.exists(src):
        raise FunctionError(f"No such file or directory '{src}'")
    is_tree = os.path.isdir(src)
    if not recurse and (is_tree or os.path.isdir(dst)):
        raise UsageError("Cannot copy overwriting a directory without recurse flag set to true!")
    try:
        if is_tree:
            if remove_existing and os.path.isdir(dst):
                remove_tree(dst)
            copy_tree(src, dst)
        else:
            copy_file(src, dst)
    except UntrustedPath as error:
        raise FunctionError(f"Could not copy '{src}' to '{dst}': {error}") from error
    except OSError as error:
        log.error("could not copy %s to %s: %s", src, dst, error)
        raise FunctionError(f"Could not copy '{src}' to '{dst}'") from error


def touch(name: str, atime: Any = None, mtime: Any = None) -> None:
    """Make an empty file, or set the times of one: seconds, now without them.

    Raises:
        FunctionError: the times are no numbers, or cannot be set.
    """
    now = time.time()
    try:
        times = (now if atime is None else int(atime), now if mtime is None else int(mtime))
    except (TypeError, ValueError):
        raise UsageError("atime and mtime must be integers") from None
    try:
        with reach(name, follow=True) as spot:
            if spot.lstat() is None:
                os.close(spot.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            os.utime(spot.name, times, dir_fd=spot.fd, follow_symlinks=False)
    except OSError as error:
        raise FunctionError(error.strerror or str(error)) from error


def place_link(src: str, path: str, user: int | None = None) -> None:
    """In one step, so that there is always something at ``path``."""
    with reach(path, user=user) as spot:
        temporary = f"{spot.name}.{os.urandom(4).hex()}.tmp"
        os.symlink(src, temporary, dir_fd=spot.fd)
        keep_replaced(spot)
        try:
            os.replace(temporary, spot.name, src_dir_fd=spot.fd, dst_dir_fd=spot.fd)
        except OSError:
            os.unlink(temporary, dir_fd=spot.fd)
            raise


def link(src: str, path: str) -> None:
    """Make a hard link; raises FunctionError."""
    try:
        with reach(src) as there, reach(path) as spot:
            os.link(
                there.name, spot.name, src_dir_fd=there.fd, dst_dir_fd=spot.fd,
                follow_symlinks=False,
            )  # fmt: skip
    except OSError as error:
        raise FunctionError(f"Could not create '{path}': {error}") from error


NODES = {
    "c": ("Character device", stat.S_IFCHR),
    "b": ("Block device", stat.S_IFBLK),
    "p": ("Fifo pipe", stat.S_IFIFO),
}
"""By the letter of a node what it is called, and its bits of a mode."""


def make_node(name: str, kind: str, numbers: tuple[int, int], wanted: DesiredPermissions) -> None:
    """Make a device or named pipe; ``numbers`` are major and minor one.

    Raises:
        FunctionError: such a mode is none.
        OSError: it cannot be made, or is there already.
    """
    _, file_type = NODES[kind]
    number = 0 if kind == "p" else os.makedev(*numbers)
    mode = None if wanted.mode is None else mode_number(wanted.mode)
    uid, gid = wanted.owner()
    with reach(name, user=uid_of((uid, gid))) as spot:
        os.mknod(spot.name, file_type | 0o600, number, dir_fd=spot.fd)
        with spot.hold() as held:
            held.chown(uid, gid)
            if mode is not None:
                held.chmod(mode)
