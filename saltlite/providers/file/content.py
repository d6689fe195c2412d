"""Put content where a file is: whole or not at all, with the owner and mode that it has.

A file is replaced by a new one. Where that would lose something it is written in place: other names
of the same file (hard links), access lists and attributes, a mount point, or a caller that was told
to keep the file itself. Where other users may write to the directory, a file with other names is
replaced all the same: one of them may be of a file that is none of theirs.

Everything goes through :mod:`saltlite.openat`; ``user`` is always the id of the user whose file it
is declared to be, whose links are followed to what is his.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from saltlite.core.dataclasses import dataclass
from saltlite.core.numbers import is_digits
from saltlite.disk import SELINUX_LABEL, may_write, write_at, write_in_place
from saltlite.errors import UntrustedPath, UsageError
from saltlite.openat import SHARED, Spot, keep_replaced, reach
from saltlite.providers.file import texts

PIECE_BYTES = 1024 * 1024
SPECIAL = "it is no regular file, and other users may write to its directory"


@dataclass(frozen=True, slots=True)
class Content:
    """What is in a file, and the status of the file that it was read from."""

    data: bytes
    status: os.stat_result


def load(path: str, *, user: int | None = None) -> Content:
    """Read a regular file that is to be changed; links are followed.

    Raises:
        OSError: it is not there, cannot be read or is no regular file.
    """
    with reach(path, follow=True, user=user) as spot:
        fd, status = _open_to_read(spot)
        with open(fd, "rb") as file:
            return Content(file.read(), status)


def _open_to_read(spot: Spot) -> tuple[int, os.stat_result]:
    """As ``Spot.open_regular``, but where only root can have put a device it may be read too."""
    if not spot.is_trusted:
        return spot.open_regular(os.O_RDONLY)
    fd = spot.open(os.O_RDONLY)
    status = os.fstat(fd)
    if stat.S_ISDIR(status.st_mode) or stat.S_ISFIFO(status.st_mode):
        os.close(fd)
        number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
        raise OSError(number, os.strerror(number), spot.path)
    return fd, status


def put_data(
    path: str,
    data: bytes | Iterable[bytes],
    *,
    keep: bool = False,
    keep_names: bool = True,
    user: int | None = None,
    was: os.stat_result | None = None,
) -> None:
    """Give an existing file new content, or make a new one; links are followed.

    ``keep``: it stays the same file, for whoever has it open or mounted; ``keep_names``: if it has
    other names. ``was`` is the status of
    the file that the content was made from: nothing else is changed, and nothing that one user may
    not read becomes another one's.

    Raises:
        OSError: nothing was changed.
    """
    with reach(path, follow=True, user=user) as spot:
        found = spot.lstat()
        if was is not None and (found is None or not os.path.samestat(found, was)):
            raise UntrustedPath(spot.path, "it was replaced meanwhile")
        if found is None:
            _create_at(spot, data, None, None)
        else:
            _put_at(spot, found, data, keep or (keep_names and found.st_nlink > 1))


def _put_at(spot: Spot, found: os.stat_result, data: bytes | Iterable[bytes], keep: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        _write_special(spot, found, data)
        return
    with spot.hold() as held:
        more, label = _has_more(held.path), _read_label(held.path)
    if not spot.is_foreign(found) and (keep or more):
        keep_replaced(spot)
        write_in_place(spot, _join_pieces(data), found)
        return
    owner = _other_owner((found.st_uid, found.st_gid))
    try:
        _create_at(spot, data, stat.S_IMODE(found.st_mode), owner, label)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        write_in_place(spot, _join_pieces(data), found)


@contextlib.contextmanager
def open_in_place(path: str, flags: int, *, user: int | None = None) -> Iterator[int]:
    """A descriptor of a file that is there, to be written in place; links are followed.

    Raises:
        OSError: it is not there, or is no file that may be written in place.
    """
    with reach(path, follow=True, user=user) as spot:
        fd = spot.open(flags)
        try:
            found = os.fstat(fd)
            if spot.is_foreign(found):
                raise UntrustedPath(spot.path, SHARED)
            if not stat.S_ISREG(found.st_mode) and not spot.is_trusted:
                raise UntrustedPath(spot.path, SPECIAL)
            keep_replaced(spot)
            os.set_blocking(fd, True)
            yield fd
        finally:
            os.close(fd)


def _write_special(spot: Spot, found: os.stat_result, data: bytes | Iterable[bytes]) -> None:
    """Write to a device that root has put there; what a user put there is refused."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), spot.path)
    if not spot.is_trusted:
        raise UntrustedPath(spot.path, SPECIAL)
    fd = spot.open(os.O_WRONLY)
    with open(fd, "wb", buffering=0) as file:
        file.write(_join_pieces(data))


def create(
    path: str,
    data: bytes | Iterable[bytes],
    mode: int | None = None,
    owner: tuple[int, int] | None = None,
    *,
    follow: bool = False,
) -> None:
    """Make or replace a file; without a mode it has the one that the umask leaves.

    ``owner`` is a user and a group id, -1 for our own. A link is replaced, but with ``follow``
    what it leads to.

    Raises:
        OSError: nothing was changed.
    """
    with reach(path, follow=follow, user=uid_of(owner)) as spot:
        _create_at(spot, data, mode, owner)


def uid_of(owner: tuple[int, int] | None) -> int | None:
    """The user of an owner as functions here take it: ``None`` in place of -1."""
    return None if owner is None or owner[0] < 0 else owner[0]


def _other_owner(owner: tuple[int, int]) -> tuple[int, int] | None:
    return None if owner == (os.geteuid(), os.getegid()) else owner


def _create_at(
    spot: Spot,
    data: bytes | Iterable[bytes],
    mode: int | None,
    owner: tuple[int, int] | None,
    label: bytes | None = None,
) -> None:
    _sweep_unfinished(spot)
    keep_replaced(spot)
    try:
        write_at(
            spot, data, mode=default_mode() if mode is None else mode, owner=owner, label=label
        )
    except UntrustedPath:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, spot.path) from error


def _sweep_unfinished(spot: Spot) -> None:
    """Remove what writers of this file left behind that were killed."""
    begin = f".{os.fsdecode(os.fsencode(spot.name)[:200])}."
    for left in _unfinished_names(os.path.dirname(spot.path)):
        process = left.removeprefix(begin).removesuffix(".tmp")
        if left.startswith(begin) and is_digits(process) and not may_write(int(process)):
            with contextlib.suppress(OSError):
                os.unlink(left, dir_fd=spot.fd)


@functools.lru_cache(maxsize=256)
def _unfinished_names(folder: str) -> tuple[str, ...]:
    """Names that unfinished files have; looked for once, as there may be many files."""
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    return tuple(name for name in names if name.startswith(".") and name.endswith(".tmp"))


def _has_more(path: str) -> bool:
    """Whether a file has more to it than owner and mode."""
    try:
        return bool(set(os.listxattr(path)) - {SELINUX_LABEL})
    except OSError:
        return False


def _read_label(path: str) -> bytes | None:
    """The SELinux label of a file, ``None`` where there are none."""
    try:
        return os.getxattr(path, SELINUX_LABEL)
    except OSError:
        return None


def restore(path: str, data: bytes, mode: int, owner: tuple[int, int]) -> None:
    """Give a file the content, mode and owner that it had, in one step; links are followed.

    Raises:
        OSError: nothing was changed.
    """
    with reach(path, follow=True, user=uid_of(owner)) as spot:
        found, label = spot.lstat(), None
        if found is not None:
            if not stat.S_ISREG(found.st_mode):
                number = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL
                raise OSError(number, f"{os.strerror(number)}: no regular file", spot.path)
            with spot.hold() as held:
                label = _read_label(held.path)
        _create_at(spot, data, mode, _other_owner(owner), label)


def _join_pieces(data: bytes | Iterable[bytes]) -> bytes:
    return data if isinstance(data, bytes) else b"".join(data)


def pieces(path: str, *, user: int | None = None) -> Iterator[bytes]:
    """The content of a regular file, in pieces; links are followed.

    Raises:
        OSError: it cannot be read or is no regular file.
    """
    with reach(path, follow=True, user=user) as spot:
        fd, _ = spot.open_regular(os.O_RDONLY)
    with open(fd, "rb") as file:
        yield from _read_pieces(file)


def _read_pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece


def copy(source: str, target: str, *, follow: bool = False, user: int | None = None) -> None:
    """Copy a file with owner, mode and times.

    ``target`` is replaced, of a link the link, but with ``follow`` what it leads to.
    """
    with reach(source, follow=True, user=user) as spot:
        fd, found = spot.open_regular(os.O_RDONLY)
    with open(fd, "rb") as file, reach(target, follow=follow, user=user) as made:
        owner = _other_owner((found.st_uid, found.st_gid))
        _create_at(made, _read_pieces(file), stat.S_IMODE(found.st_mode), owner)
        times = (found.st_atime_ns, found.st_mtime_ns)
        os.utime(made.name, ns=times, dir_fd=made.fd, follow_symlinks=False)


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


def require_text(path: str, data: bytes) -> None:
    """Raises UsageError for what is no text file."""
    if not texts.is_text(data[: texts.SNIFFED_BYTES]):
        raise UsageError(f"Cannot perform string replacements on a binary file: {path}")


def keep_copy(path: str, ending: object, link: str | None = None) -> None:
    """A copy beside the file; of a link, a link to the copy beside it as well."""
    if not ending:
        return
    copy(path, f"{path}{ending}")
    if link and link != path:
        with reach(link) as spot, reach(f"{link}{ending}") as beside:
            target = os.readlink(spot.name, dir_fd=spot.fd)
            with contextlib.suppress(FileNotFoundError):
                beside.unlink()
            os.symlink(f"{target}{ending}", beside.name, dir_fd=beside.fd)


def default_mode() -> int:
    """The mode of a new file that nobody gave a mode."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def encode_lines(lines: Iterable[str]) -> bytes:
    """Each line with its end, as bytes."""
    return "".join(f"{line}\n" for line in lines).encode()


def append_lines(path: str, lines: Sequence[str]) -> None:
    """Add lines at the end of a file; a last line without an end is ended first.

    Raises:
        OSError: it is not there, or cannot be written.
    """
    data = encode_lines(lines)
    with open_in_place(path, os.O_RDWR) as fd, open(fd, "rb+", closefd=False) as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n" and lines:
                data = b"\n" + data
        file.write(data)


def prepend_lines(path: str, lines: Sequence[str]) -> None:
    """Put lines before those of a file; a file that is not there is made.

    Raises:
        OSError: it cannot be written.
        UnicodeDecodeError: it is of another encoding, and is left alone.
    """
    new = encode_lines(lines)
    try:
        old = load(path)
    except FileNotFoundError:
        put_data(path, new)
        return
    old.data.decode()
    put_data(path, new + old.data, was=old.status)
