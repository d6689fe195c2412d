"""Put content where a file is: whole or not at all, with the owner and mode that it has.

A file is replaced by a new one. Where that would lose something it is written in place: other names
of the same file (hard links), access lists and attributes, a mount point, or a caller that was told
to keep the file itself.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from saltlite.disk import write_file
from saltlite.errors import StoreError, UsageError
from saltlite.modules._file import texts

PIECE_BYTES = 1024 * 1024
_LABEL = "security.selinux"


def put(path: str, data: bytes | Iterable[bytes], *, keep: bool = False) -> None:
    """Give an existing file new content, or make a new one; links are followed.

    ``keep``: it stays the same file, for whoever has it open or mounted.

    Raises:
        OSError: nothing was changed.
    """
    target = os.path.realpath(path)
    try:
        found = os.stat(target)
    except FileNotFoundError:
        create(target, data)
        return
    if keep or found.st_nlink > 1 or not stat.S_ISREG(found.st_mode) or _has_more(target):
        _write_in_place(target, data)
        return
    owner, label = (found.st_uid, found.st_gid), _label(target)
    try:
        _create(target, data, stat.S_IMODE(found.st_mode), _other(owner))
        _set_label(target, label)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        _write_in_place(target, data)


def create(
    path: str,
    data: bytes | Iterable[bytes],
    mode: int | None = None,
    owner: tuple[int, int] | None = None,
) -> None:
    """Make or replace a file; without a mode it has the one that the umask leaves.

    ``owner`` is a user and a group id, -1 for our own.

    Raises:
        OSError: nothing was changed.
    """
    from saltlite.modules._file.owners import default_mode

    _create(path, data, default_mode() if mode is None else mode, owner)


def _other(owner: tuple[int, int]) -> tuple[int, int] | None:
    return None if owner == (os.geteuid(), os.getegid()) else owner


def _create(
    path: str, data: bytes | Iterable[bytes], mode: int, owner: tuple[int, int] | None
) -> None:
    _sweep(path)
    try:
        write_file(Path(path), data, mode=mode, owner=owner, flush=False)
    except StoreError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError):
            raise
        raise OSError(cause.errno, cause.strerror, path) from error
    if mode & 0o6000:
        os.chmod(path, mode)  # giving a file away takes these bits off, and so may writing


def _sweep(path: str) -> None:
    """Remove what writers of this file left behind that were killed."""
    folder, name = os.path.split(path)
    if not folder:
        return
    begin = f".{os.fsdecode(os.fsencode(name)[:200])}."
    for left in _unfinished(folder):
        process = left.removeprefix(begin).removesuffix(".tmp")
        if left.startswith(begin) and process.isdecimal() and not _is_alive(int(process)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, left))


@functools.lru_cache(maxsize=256)
def _unfinished(folder: str) -> tuple[str, ...]:
    """Names that unfinished files have; looked for once, as there may be many files."""
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    return tuple(name for name in names if name.startswith(".") and name.endswith(".tmp"))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _has_more(path: str) -> bool:
    """Whether a file has more to it than owner and mode."""
    try:
        return bool(set(os.listxattr(path)) - {_LABEL})
    except OSError:
        return False


def _label(path: str) -> bytes | None:
    """The SELinux label of a file, ``None`` where there are none."""
    try:
        return os.getxattr(path, _LABEL)
    except OSError:
        return None


def _set_label(path: str, label: bytes | None) -> None:
    if label is not None:
        with contextlib.suppress(OSError):
            os.setxattr(path, _LABEL, label)


def _write_in_place(path: str, data: bytes | Iterable[bytes]) -> None:
    whole = data if isinstance(data, bytes) else b"".join(data)
    with open(path, "r+b") as file:
        file.write(whole)
        file.truncate()


def pieces(path: str) -> Iterator[bytes]:
    """The content of a regular file, in pieces.

    Raises:
        OSError: it cannot be read or is no regular file.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
            raise OSError(number, os.strerror(number), path)
        while piece := file.read(PIECE_BYTES):
            yield piece


def copy(source: str, target: str) -> None:
    """Copy a file with owner, mode and times; replaces ``target``, whatever it points to."""
    found = os.stat(source)
    owner = _other((found.st_uid, found.st_gid))
    _create(target, pieces(source), stat.S_IMODE(found.st_mode), owner)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


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
    os.mkdir(path, 0o777 if mode is None else mode & 0o700)
    if owner != (-1, -1):
        os.chown(path, *owner)
    if mode is not None:
        os.chmod(path, mode)


def remove_tree(path: str) -> None:
    """Remove a directory and all below it; links are removed, not followed."""
    import shutil  # it brings modules for archives

    shutil.rmtree(path)


@contextlib.contextmanager
def scratch(data: bytes) -> Iterator[str]:
    """The path of a private file with this content, gone afterwards."""
    path = keep_scratch(data)
    try:
        yield path
    finally:
        drop_scratch(path)


SCRATCH_PREFIX = "__salt.tmp."


def keep_scratch(data: bytes) -> str:
    """The path of a private file with this content; the caller drops it."""
    import tempfile

    fd, path = tempfile.mkstemp(prefix=SCRATCH_PREFIX)
    with open(fd, "wb") as file:
        file.write(data)
    return path


def drop_scratch(path: str) -> None:
    """Remove such a file; any other path is left alone."""
    import tempfile

    if os.path.dirname(path) != tempfile.gettempdir():
        return
    if os.path.basename(path).startswith(SCRATCH_PREFIX):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def require_text(path: str) -> None:
    """Raises UsageError for what is no text file."""
    begin = b"\0"
    if os.path.isfile(path):
        with open(path, "rb") as file:
            begin = file.read(texts.SNIFFED_BYTES)
    if not texts.is_text(begin):
        raise UsageError(f"Cannot perform string replacements on a binary file: {path}")


def keep_copy(path: str, ending: Any, link: str | None = None) -> None:
    """A copy beside the file; of a link, a link to the copy beside it as well."""
    if not ending:
        return
    copy(path, f"{path}{ending}")
    if link and link != path:
        beside = f"{link}{ending}"
        if os.path.lexists(beside):
            os.unlink(beside)
        os.symlink(f"{os.readlink(link)}{ending}", beside)
