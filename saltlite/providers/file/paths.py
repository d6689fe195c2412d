"""Files and directories as wholes: make, copy, move, remove; and paths as callers give them."""

from __future__ import annotations

import errno
import os
import stat

from saltlite.errors import UntrustedPath, UsageError
from saltlite.openat import reach
from saltlite.providers.file import content
from saltlite.providers.file.content import uid_of


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


def remove_tree(path: str) -> None:
    """Remove what is at a path, a directory and all below it; links are removed, not followed.

    Raises:
        OSError: something could not be removed.
    """
    with reach(path) as spot:
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
        OSError: it cannot be moved; it is where it was.
    """
    if os.path.isdir(dst) and not _is_same(src, dst):
        dst = os.path.join(dst, os.path.basename(src.rstrip("/")))
        if os.path.lexists(dst):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), dst)
    try:
        with reach(src) as old, reach(dst) as new:
            old.rename(new)
    except OSError as error:
        if isinstance(error, UntrustedPath):
            raise
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
