"""Files that minions push (``cp.push``), piece by piece, each below its minion's own directory.

Off unless ``file_recv`` is set. Every component of a path is one name, every directory on the way
is opened without following links, and what is written is a regular file of ours, mode 0600.
Source: docs/wire.md#others; docs/security.md#ids-jids-and-paths (CVE-2024-38824), #limits.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from saltlite import disk
from saltlite.core.ids import valid_minion_id
from saltlite.fileserver.paths import safe_name

QUOTA_BYTES: Final = 1024**3
QUOTA_FILES: Final = 10_000
DEPTH_LIMIT: Final = 64
LOCKS: Final = ".pushed.lock"
"""A file of locks, one for each minion; see ``disk.hold_lock_slot``."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A link could lead anywhere, and to open a FIFO could wait for ever.
_FILE: Final = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PushRefused(Exception):
    """A piece is not taken; the text says why, for our own log."""


def store_piece(
    cachedir: Path,
    minion_id: str,
    path: object,
    begin: object,
    data: object,
    *,
    limit_bytes: int,
    has_key: Callable[[], bool],
) -> None:
    """Write one piece of a file; the first one (``begin`` 0) empties it.

    The quota is looked at and the piece written in one step. ``has_key`` says then whether the
    minion still has its key: it may have been deleted since the request came.

    Raises:
        PushRefused: the minion has no key any more, the path is not safe, the piece does not
            continue the file, it is too large, or the minion has pushed its share (1 GiB, 10,000
            files and directories) already.
        StoreError: another piece of this minion's is being written for too long.
        OSError: the disk does not take it.
    """
    parts = _check_path(path)
    if not valid_minion_id(minion_id):
        raise PushRefused("no such minion")
    if not isinstance(begin, int) or isinstance(begin, bool) or begin < 0:
        raise PushRefused("no such place in a file")
    piece = _as_bytes(data)
    if begin + len(piece) > limit_bytes:
        raise PushRefused(f"larger than {limit_bytes} bytes")
    # Key, quota and piece in one step: two at once would both find room.
    with _lock_minion(cachedir, minion_id):
        if not has_key():
            raise PushRefused("key was removed")
        _check_quota(cachedir / "minions" / minion_id / "files", len(piece))
        _store_bytes(cachedir, ["minions", minion_id, "files", *parts], begin, piece)


def forget(cachedir: Path, minion_id: str) -> None:
    """Remove all that a minion has pushed, and what else is in its directory.

    Raises:
        StoreError: a piece of this minion's is being written for too long.
    """
    import shutil  # with the archive modules it brings; seldom needed

    folder = disk.child(cachedir / "minions", minion_id)
    if not folder.is_dir() or folder.is_symlink():
        return
    with _lock_minion(cachedir, minion_id):
        shutil.rmtree(folder, ignore_errors=True)


def _lock_minion(cachedir: Path, minion_id: str) -> AbstractContextManager[None]:
    return disk.hold_lock_slot(cachedir / LOCKS, zlib.crc32(minion_id.encode()))


def _store_bytes(cachedir: Path, names: Sequence[str], begin: int, piece: bytes) -> None:
    # A later piece continues a file, so there is nothing to be made for it.
    folder = _open_folder(cachedir, names[:-1], make=begin == 0)
    try:
        _write_piece(folder, names[-1], begin, piece)
    finally:
        os.close(folder)


def _as_bytes(data: object) -> bytes:
    """Salt's wire does not tell bytes from text; what is no UTF-8 comes escaped."""
    if isinstance(data, str):
        try:
            return data.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise PushRefused("no data") from None
    if not isinstance(data, bytes):
        raise PushRefused("no data")
    return data


def _check_path(path: object) -> list[str]:
    if not isinstance(path, (list, tuple)) or not 0 < len(path) <= DEPTH_LIMIT:
        raise PushRefused("a path is a list of names")
    if not all(safe_name(part) and "\\" not in part for part in path):
        raise PushRefused("a path is a list of names")
    return list(path)


def _check_quota(top: Path, more_bytes: int) -> None:
    files, size = 0, more_bytes
    for folder, folders, names in os.walk(top):
        files += len(names) + len(folders)
        size += sum(status.st_size for _entry, status in disk.entries_of(folder))
        if files >= QUOTA_FILES or size > QUOTA_BYTES:
            raise PushRefused("this minion has pushed its share")


def _open_folder(top: Path, names: Sequence[str], *, make: bool) -> int:
    """A descriptor of the directory."""
    # The path of cachedir is the administrator's, and may be a link.
    fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in names:
        try:
            below = _enter_folder(fd, name, make)
        finally:
            os.close(fd)
        fd = below
    return fd


def _enter_folder(fd: int, name: str, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=fd)
    except FileNotFoundError:
        if not make:
            raise PushRefused(f"{name} is not there") from None
        os.mkdir(name, 0o700, dir_fd=fd)
        return os.open(name, _FOLDER, dir_fd=fd)
    except OSError as error:
        raise PushRefused(f"{name} is no directory") from error


def _write_piece(folder: int, name: str, begin: int, piece: bytes) -> None:
    try:
        fd = os.open(name, _FILE | (0 if begin else os.O_CREAT), 0o600, dir_fd=folder)
    except OSError as error:
        raise PushRefused(f"{name} is no file") from error
    try:
        status = os.fstat(fd)
        # A second name could be that of a file elsewhere, which would be overwritten.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise PushRefused(f"{name} is no file of its own")
        if begin == 0:
            os.ftruncate(fd, 0)
        # No gap, and no piece twice: two pushes to one name do not mix.
        elif begin != status.st_size:
            raise PushRefused(f"{name} ends at {status.st_size}")
        view, at = memoryview(piece), begin
        while view:
            written = os.pwrite(fd, view, at)
            view, at = view[written:], at + written
    finally:
        os.close(fd)
