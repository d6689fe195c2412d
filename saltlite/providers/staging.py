"""Unpack archives where other users may write: in a private directory first, then into place.

Programs such as ``tar`` follow links that lie in their way, and go where a directory is that was
exchanged meanwhile. Where somebody else could have put one, they work in a directory that is ours
alone; what comes out is then moved, name by name, through open directories.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator

from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex
from saltlite.errors import UntrustedPath
from saltlite.openat import Spot, is_closed, reach_folder, remove_tree, trusted_users

DEPTH_LIMIT = 400
"""How deep the directories of an archive may be."""

_HELD = regex(r"/proc/\d+/fd/\d+")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Existing:
    """What becomes of a file that is there already: replaced, or kept, or it is an error."""

    keep: bool = False
    refuse: bool = False


def is_shared(top: str, members: Iterable[str]) -> bool:
    """Whether others may write to a directory, one above it, or one that the members go into."""
    if _HELD.fullmatch(top):
        return not is_closed(os.stat(top))  # it is open already
    top, real = os.path.abspath(top), os.path.realpath(top)
    if not _is_closed(real) or not all(
        map(_is_steady, {*_walk_parents(top), *_walk_parents(real)})
    ):
        return True
    folders = {folder for member in members for folder in _walk_parents(member.strip("/"))}
    there = (os.path.join(real, folder) for folder in sorted(folders) if folder)
    return any(os.path.lexists(path) and not _is_closed(path) for path in there)


def _walk_parents(path: str) -> Iterator[str]:
    while path not in ("", "/"):
        path = os.path.dirname(path)
        yield path


def _is_closed(path: str) -> bool:
    found = os.lstat(path)
    return stat.S_ISDIR(found.st_mode) and is_closed(found)


def _is_steady(path: str) -> bool:
    """Whether others can put nothing in the place of what root has in a directory."""
    found = os.stat(path)
    return is_closed(found) or bool(
        found.st_mode & stat.S_ISVTX and found.st_uid in trusted_users()
    )


@contextlib.contextmanager
def room(top: str, members: Iterable[str]) -> Iterator[str]:
    """The directory to unpack these members in: ``top`` itself where nobody else may write.

    Raises: as :func:`aside`.
    """
    if os.path.isdir(top) and is_shared(top, members):
        with aside(top, user=None, existing=Existing()) as folder:
            yield folder
    else:
        yield top


@contextlib.contextmanager
def aside(top: str, *, user: int | None, existing: Existing) -> Iterator[str]:
    """A private directory; what is in it afterwards comes into ``top``, if there was no error.

    ``user`` is the id of the user that the files are declared to have.

    Raises:
        UntrustedPath: a link in the way is not to be followed.
        OSError: something cannot be put into its place; what was before it is there.
    """
    with reach_folder(top, user=user) as spot:
        name = f".salt-{os.urandom(8).hex()}"
        os.mkdir(name, 0o700, dir_fd=spot.fd)
        fd = _open_own(spot, name)
        try:
            yield f"/proc/{os.getpid()}/fd/{fd}"
            _Merge(user, existing).move(fd, os.path.realpath(spot.folder), spot.fd, 0)
        finally:
            os.close(fd)
            with contextlib.suppress(OSError):
                remove_tree(spot.fd, name)


def _open_own(spot: Spot, name: str) -> int:
    """The directory that was just made, not one that was put there instead."""
    fd = os.open(name, _FOLDER, dir_fd=spot.fd)
    found = os.fstat(fd)
    if found.st_uid != os.geteuid() or found.st_mode & 0o077 or os.listdir(fd):
        os.close(fd)
        raise UntrustedPath(spot.path, "what was made there was replaced meanwhile")
    return fd


@dataclass(frozen=True, slots=True)
class _Merge:
    """Names of one directory that come into another one."""

    user: int | None
    existing: Existing

    def move(self, source: int, path: str, target: int, depth: int) -> None:
        """Move all; ``path`` is that of the directory ``target``."""
        if depth > DEPTH_LIMIT:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
        for name in os.listdir(source):
            status = os.stat(name, dir_fd=source, follow_symlinks=False)
            place = os.path.join(path, name)
            there = _lstat_at(target, name)
            if there is None:
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
            elif stat.S_ISDIR(status.st_mode):
                self._merge_into(source, name, place, depth)
            else:
                self._replace_entry(source, name, place, target, there)

    def _merge_into(self, source: int, name: str, place: str, depth: int) -> None:
        """What is in a directory goes into the one that is there, or that root's link leads to."""
        below = os.open(name, _FOLDER, dir_fd=source)
        try:
            with reach_folder(place, user=self.user) as spot:
                self.move(below, place, spot.fd, depth + 1)
        finally:
            os.close(below)

    def _replace_entry(
        self, source: int, name: str, place: str, target: int, there: os.stat_result
    ) -> None:
        if stat.S_ISDIR(there.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place)
        if self.existing.refuse:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place)
        if not self.existing.keep:
            os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)


def _lstat_at(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
