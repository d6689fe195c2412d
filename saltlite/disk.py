"""How saltlite puts bytes on disk: whole or not at all, private from the first moment.

Every file that matters (keys, tokens, job loads, results, session keys, the pinned master key) is
written through :func:`write_file`. Every path with a part that came from a peer is built by
:func:`child`. Nobody else joins paths with remote parts or opens files for writing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import stat
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from saltlite.errors import StoreError, UntrustedPath
from saltlite.openat import Spot, has_proc, keep_replaced, reach

log = logging.getLogger(__name__)

PRIVATE_FILE = 0o600
PRIVATE_DIR = 0o700
OTHERS_RIGHTS = 0o037
SELINUX_LABEL = "security.selinux"
OTHERS_WRITE = 0o022

_FLOCK = struct.Struct("@hhqqi4x")
"""``struct flock``: type, whence, start, length, process id."""

_FIRST_LOOK_S = 0.0005
_LONGEST_LOOK_S = 0.02

TICK_NS = 50_000_000
"""What changed this shortly ago may change again without a new time of change."""


def make_dir(path: Path, mode: int = PRIVATE_DIR) -> None:
    """Make ``path`` and its parents; a directory made here has ``mode`` from the start.

    Raises:
        StoreError: the directory cannot be made; the text names it.
    """
    if path.is_dir():
        return
    try:
        if not path.parent.is_dir():
            make_dir(path.parent, 0o755)
        os.mkdir(path, mode)
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(f"cannot make directory {path}: {error.strerror}") from error


def child(parent: Path, name: str) -> Path:
    """The path of ``name`` directly below ``parent``; the only way a remote part enters a path.

    Raises:
        ValueError: ``name`` is empty, ``.``, ``..``, or holds a separator or NUL.
    """
    if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
        raise ValueError(f"not a file name: {name!r}")
    return parent / name


@contextlib.contextmanager
def with_umask(mask: int | None) -> Iterator[None]:
    """Another umask meanwhile, for all that this process makes; the same one with ``None``."""
    if mask is None:
        yield
        return
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def write_file(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    mode: int = PRIVATE_FILE,
    flush: bool = True,
    owner: tuple[int, int] | None = None,
) -> os.stat_result:
    """Replace ``path`` by ``data``: temporary file beside it, then rename; the new file's status.

    ``data`` may come in pieces; an error while they are made passes, and nothing was changed.
    ``flush`` also waits until the disk has it (file and directory): it survives a power cut.
    ``owner`` is a user and a group id; without it the file is ours.

    Raises:
        StoreError: nothing was changed.
    """
    with _store_errors(path):
        return _replace_file(path, None, data, mode, owner, flush=flush)


def create_file(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> bool:
    """Make a file as :func:`write_file` does; ``False`` if something is there already, and stays.

    Raises:
        StoreError: it cannot be made.
    """
    draft = path.with_name(f".{path.name}.{threading.get_native_id()}.new.tmp")
    write_file(draft, data, mode=mode)
    with _store_errors(path):
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
        finally:
            os.unlink(draft)
        flush_dir(path.parent)
    return True


def write_at(
    spot: Spot,
    data: bytes | Iterable[bytes],
    *,
    mode: int = PRIVATE_FILE,
    owner: tuple[int, int] | None = None,
    label: bytes | None = None,
) -> None:
    """Replace the name in an open directory, as :func:`write_file` does; not flushed.

    ``label`` is the SELinux label of the file.

    Raises:
        OSError: nothing was changed.
    """
    _replace_file(Path(spot.name), spot.fd, data, mode, owner, label=label)


def put_file(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    mode: int = PRIVATE_FILE,
    owner: tuple[int, int] | None = None,
    user: int | None = None,
) -> None:
    """Replace ``path`` in a directory that may be another user's; of a link the link.

    Raises:
        StoreError: nothing was changed.
        UntrustedPath: a link on the way is not to be followed.
    """
    with _store_errors(path), reach(str(path), user=user) as spot:
        write_at(spot, data, mode=mode, owner=owner)


def make_way(path: Path, mode: int = 0o755, *, owner: tuple[int, int] | None = None) -> None:
    """Make ``path`` and its parents, as :func:`make_dir` does, where others may write.

    ``owner`` is for ``path`` alone, if it is made here.

    Raises:
        StoreError: the directory cannot be made.
        UntrustedPath: a link on the way is not to be followed.
    """
    if path.is_dir():
        return
    if not path.parent.is_dir():
        make_way(path.parent)
    try:
        with reach(str(path), user=None if owner is None else owner[0]) as spot:
            os.mkdir(spot.name, mode, dir_fd=spot.fd)
            if owner is not None:
                with spot.hold() as held:
                    held.chown(*owner)
    except FileExistsError:
        return
    except UntrustedPath:
        raise
    except OSError as error:
        raise StoreError(f"cannot make directory {path}: {error.strerror}") from error


def _replace_file(
    path: Path,
    folder: int | None,
    data: bytes | Iterable[bytes],
    mode: int,
    owner: tuple[int, int] | None,
    *,
    label: bytes | None = None,
    flush: bool = False,
) -> os.stat_result:
    """Replace ``path``, which is relative to the directory ``folder`` if that is given.

    The status of the file that is there then.
    """
    name = os.fsdecode(os.fsencode(path.name)[:200])  # a name may have 255 bytes
    writer = threading.get_native_id()  # the process id, but for threads beside the first
    temporary = path.with_name(f".{name}.{writer}.tmp")
    try:
        fd = _open_new(temporary, mode & 0o700, folder)
        try:
            status = _fill_file(fd, data, mode, owner, label)
            if flush:
                os.fsync(fd)
        finally:
            os.close(fd)
        _rename_within(temporary, path, folder)
        if flush:
            flush_dir(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    return status


def may_write(writer: int) -> bool:
    """Whether a process or thread may still write: not if it is gone, or a zombie.

    ``writer`` is the number in the name of a temporary file. ``True`` where it cannot be told.
    """
    try:
        os.kill(writer, 0)
        # A zombie can be sent signals until whoever has to has heard of its end: that may be long.
        with open(f"/proc/{writer}/stat", "rb") as file:
            state = file.read().rpartition(b")")[2].split()[0]
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return state not in (b"Z", b"X")


def _open_new(path: Path, mode: int, folder: int | None) -> int:
    """Make a file for writing; what a writer that was killed has left there goes."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, mode, dir_fd=folder)
    except FileExistsError:
        os.unlink(path, dir_fd=folder)
        return os.open(path, flags, mode, dir_fd=folder)


def _rename_within(old: Path, new: Path, folder: int | None) -> None:
    """Rename within a directory; the last part of a path is never followed."""
    if folder is None:
        os.rename(old, new)
    elif has_proc():
        os.rename(f"/proc/self/fd/{folder}/{old}", f"/proc/self/fd/{folder}/{new}")
    else:
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)


def _fill_file(
    fd: int,
    data: bytes | Iterable[bytes],
    mode: int,
    owner: tuple[int, int] | None,
    label: bytes | None,
) -> os.stat_result:
    """Write a new file that has no more than its owner's rights; its status."""
    if owner is not None:
        os.fchown(fd, *owner)
    if label is not None:
        with contextlib.suppress(OSError):
            os.setxattr(fd, SELINUX_LABEL, label)
    for piece in (data,) if isinstance(data, bytes) else data:
        _write_all(fd, piece)
    status = os.fstat(fd)
    if stat.S_IMODE(status.st_mode) == mode:
        return status
    os.fchmod(fd, mode)  # after writing, which takes special bits off
    return os.fstat(fd)


@contextlib.contextmanager
def _store_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except UntrustedPath:
        raise
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def rewrite(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    mode: int = 0o644,
    user: int | None = None,
    owner: tuple[int, int] | None = None,
    was: bytes | None = None,
) -> None:
    """Give a file of the system new content; its owner, group and mode stay.

    Links are followed as :func:`saltlite.openat.reach` does, ``user`` being the id of the user
    whose file it is. ``mode`` and ``owner`` are for a file that is not there yet. A file that
    something is mounted on, as ``/etc/hosts`` in a container, cannot be replaced and is written in
    place. ``was`` is what it had when the new content was made: what one user may not read does not
    become another one's if the files were exchanged meanwhile.

    Raises:
        StoreError: it cannot be written.
        UntrustedPath: a link is not to be followed, or the file has another content than it had.
    """
    with _store_errors(path), reach(str(path), follow=True, user=user) as spot:
        found = spot.lstat()
        if found is None:
            write_at(spot, data, mode=mode, owner=owner)
            return
        if not stat.S_ISREG(found.st_mode):
            number = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL
            raise OSError(number, f"{os.strerror(number)}: no regular file")
        if was is not None and _read_at(spot) != was:
            raise UntrustedPath(str(path), "it was changed meanwhile")
        keep_replaced(spot)
        now = (found.st_uid, found.st_gid)
        kept = None if now == (os.geteuid(), os.getegid()) else now
        try:
            write_at(spot, data, mode=stat.S_IMODE(found.st_mode), owner=kept)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            whole = data if isinstance(data, bytes) else b"".join(data)
            write_in_place(spot, whole, found)


def _read_at(spot: Spot) -> bytes:
    fd, status = spot.open_regular(os.O_RDONLY)
    try:
        return _read_all(fd, status.st_size, status.st_size)
    finally:
        os.close(fd)


def write_in_place(spot: Spot, data: bytes, found: os.stat_result) -> None:
    """Write into the regular file itself that was ``found`` there; raises OSError."""
    fd, now = spot.open_regular(os.O_WRONLY)
    try:
        if not os.path.samestat(found, now) or spot.is_foreign(now):
            raise UntrustedPath(spot.path, "it was replaced meanwhile")
        _write_all(fd, data)
        os.ftruncate(fd, len(data))
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def append_whole(
    path: Path, data: bytes, *, mode: int = PRIVATE_FILE, follow: bool = False
) -> None:
    """Add to the end of a file, all of it or nothing; what several processes add does not mix.

    ``follow``: where the path is a link, to the file that it leads to.

    Raises:
        StoreError: it cannot be written; the file has the end that it had.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    with _store_errors(path):
        fd = os.open(path, flags if follow else flags | os.O_NOFOLLOW, mode)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            _append_or_cut(fd, data)
        finally:
            os.close(fd)


def _append_or_cut(fd: int, data: bytes) -> None:
    before = os.fstat(fd)
    try:
        _write_all(fd, data)
    except OSError:
        if stat.S_ISREG(before.st_mode):
            os.ftruncate(fd, before.st_size)
        raise


def flush_dir(path: Path) -> None:
    """Wait until the names in directory ``path`` are on disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot flush directories
            raise
    finally:
        os.close(fd)


def read_regular(path: Path | str, *, limit_bytes: int = 64 * 1024 * 1024) -> bytes | None:
    """The bytes of a regular file, ``None`` if there is none.

    Never waits on a FIFO or device, never follows a link in the last component.

    Raises:
        StoreError: it is there but cannot be read, is not a regular file, or is too large.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"cannot read {path}: not a regular file")
        if status.st_size > limit_bytes:
            raise StoreError(f"cannot read {path}: larger than {limit_bytes} bytes")
        return _read_all(fd, status.st_size, limit_bytes)
    finally:
        os.close(fd)


def _read_all(fd: int, size: int, limit_bytes: int) -> bytes:
    """To the end of the file, which may have grown since it had ``size`` bytes."""
    data = os.read(fd, size + 1)
    while len(data) > size and len(data) <= limit_bytes:
        size = len(data)
        more = os.read(fd, min(limit_bytes + 1 - size, 1 << 20))
        if not more:
            break
        data += more
    return data


def identify_file(status: os.stat_result) -> tuple[int, ...]:
    """What is another one for another file, and for the same after a change that has settled."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def is_settled(status: os.stat_result) -> bool:
    """Whether a further change would show in the times of the file."""
    return max(status.st_mtime_ns, status.st_ctime_ns) < time.time_ns() - TICK_NS


def check_secret(path: Path) -> None:
    """A private key must be ours (or root's) and closed to others; the group may read it.

    One of ours that others may only read is closed, with a warning. One that they may write is
    not used: they may have put another key there.

    Raises:
        StoreError: it is not; the text says what to do.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    if status.st_uid not in (0, os.geteuid()):
        raise StoreError(f"{path} belongs to user {status.st_uid}; it must be ours: chown it")
    mode = stat.S_IMODE(status.st_mode)
    if mode & OTHERS_WRITE or (mode & OTHERS_RIGHTS and status.st_uid != os.geteuid()):
        raise StoreError(
            f"{path} is a private key that others may use (mode {mode:04o}):"
            " chmod 0400 it, or replace it if they should not have seen it"
        )
    if mode & OTHERS_RIGHTS:
        _close_secret(path, mode)


def _close_secret(path: Path, mode: int) -> None:
    closed = mode & PRIVATE_FILE
    try:
        os.chmod(path, closed)
    except OSError as error:
        raise StoreError(f"cannot chmod {path}, which others may read: {error.strerror}") from error
    log.warning(
        "%s is a private key that others could read (mode %04o); changed to %04o."
        " Replace it if they should not have seen it",
        path,
        mode,
        closed,
    )


def check_origin(path: str) -> None:
    """Refuse a file that somebody else could have put there, or into its directory.

    Source: CVE-2021-22004.

    Raises:
        PermissionError: it or its directory is another user's, or everybody may write there.
        OSError: there is no such file.
    """
    for each in (path, os.path.dirname(path)):
        status = os.stat(each)
        if status.st_uid not in (0, os.geteuid()):
            raise PermissionError(f"{each} belongs to user {status.st_uid}")
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            raise PermissionError(f"{each} is writable by everybody")


def entries_of(directory: Path | str) -> list[tuple[os.DirEntry[str], os.stat_result]]:
    """What is in a directory, each with its status; what vanishes meanwhile is not there.

    Links are not followed. No directory is an empty one.
    """
    found = []
    try:
        entries = os.scandir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
    with entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                found.append((entry, entry.stat(follow_symlinks=False)))
    return found


def newest_first(directory: Path, suffix: str) -> list[Path]:
    """The files of a directory whose names end so, by the time of their writing."""
    found = [(one, status) for one, status in entries_of(directory) if one.name.endswith(suffix)]
    found.sort(key=lambda each: each[1].st_mtime_ns, reverse=True)
    return [Path(entry.path) for entry, _status in found]


def remove(path: Path) -> bool:
    """Delete a file; ``False`` if it was not there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"cannot delete {path}: {error.strerror}") from error
    return True


@contextlib.contextmanager
def hold_lock_part(path: Path, name: str) -> Iterator[None]:
    """Hold a lock on ``name`` in a file of locks, against other processes; not against threads.

    One at a time in a process: what else it has locked in this file would be free with it. Other
    names are hardly ever kept waiting.
    """
    import zlib  # half a millisecond, which most commands need not spend

    part = zlib.crc32(name.encode())
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX, 1, part)
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def hold_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold an exclusive lock on ``path``; the kernel frees it when the process ends, however.

    Yields ``False`` (and holds nothing) if ``wait`` is off and somebody else has it.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(fd)


@contextlib.contextmanager
def hold_dir_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a directory, which needs no file for that; see :func:`hold_lock`.

    Raises:
        StoreError: there is no such directory.
    """
    with _store_errors(path):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def hold_lock_slot(path: Path, slot: int, *, patience_s: float = 10.0) -> Iterator[None]:
    """Hold exclusively lock ``slot`` of the many that the empty file ``path`` stands for.

    The locks belong to the open file, not to the process, so that neither threads nor another use
    of the file in this process can release them; the kernel does when the process ends.
    Source: fcntl(2), "Open file description locks".

    Raises:
        StoreError: somebody else held it for all of ``patience_s``, or there can be no such file.
    """
    fd = _open_lock_file(path)
    try:
        _wait_for_slot(fd, slot, path, time.monotonic() + patience_s)
        yield
    finally:
        os.close(fd)


def _open_lock_file(path: Path) -> int:
    """Open it, made if need be; what root makes belongs to whom the directory belongs to."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(path, flags, PRIVATE_FILE)
    except OSError as error:
        raise StoreError(f"cannot open {path}: {error.strerror}") from error
    if os.geteuid() == 0:
        owner, directory = os.fstat(fd), os.stat(path.parent)
        if owner.st_uid != directory.st_uid:
            os.fchown(fd, directory.st_uid, directory.st_gid)
    return fd


def _wait_for_slot(fd: int, slot: int, path: Path, until_s: float) -> None:
    pause_s = _FIRST_LOOK_S
    while True:
        try:
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, slot, 1, 0))
        except (BlockingIOError, PermissionError) as error:
            if time.monotonic() > until_s:
                raise StoreError(f"{path} is locked by another process") from error
        except OSError as error:
            raise StoreError(f"cannot lock {path}: {error.strerror}") from error
        else:
            return
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_LOOK_S)
