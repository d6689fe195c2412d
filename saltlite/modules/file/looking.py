"""What is there: kinds, status, links, what is below a directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.keywords import own_keywords
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError, UsageError
from saltlite.providers.file import hashes, permissions
from saltlite.providers.file.paths import absolute, home

_KINDS = (
    (stat.S_ISREG, "file"),
    (stat.S_ISLNK, "link"),
    (stat.S_ISDIR, "dir"),
    (stat.S_ISCHR, "char"),
    (stat.S_ISBLK, "block"),
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
)


def access(path: str, mode: object) -> bool:
    """Whether we may use a file: ``f`` it is there, ``r`` read, ``w`` write, ``x`` run.

    CLI Example:

        salt '*' file.access /path/to/file f
    """
    path = absolute(path, "Path to link must be absolute.")
    modes = {"f": os.F_OK, "r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
    if mode in modes:
        return os.access(path, modes[mode])
    if mode in (os.F_OK, os.R_OK, os.W_OK, os.X_OK):
        return os.access(path, mode)
    raise UsageError("Invalid mode specified.")


def file_exists(path: str) -> bool:
    """Whether a regular file is there.

    CLI Example:

        salt '*' file.file_exists /etc/passwd
    """
    return os.path.isfile(home(path))


def directory_exists(path: str) -> bool:
    """Whether a directory is there.

    CLI Example:

        salt '*' file.directory_exists /etc
    """
    return os.path.isdir(home(path))


def path_exists_glob(path: str) -> bool:
    """Whether anything fits a path with ``*``, ``?`` and ``[...]``.

    CLI Example:

        salt '*' file.path_exists_glob /etc/pam*/pass*
    """
    import glob

    return bool(glob.glob(home(path)))


def is_link(path: str) -> bool:
    """Whether a path is a symbolic link.

    CLI Example:

        salt '*' file.is_link /path/to/link
    """
    return os.path.islink(home(path))


def is_hardlink(path: str) -> Any:
    """Whether a file has more than one name; empty if there is none.

    CLI Example:

        salt '*' file.is_hardlink /path/to/link
    """
    found = lstat(path)
    return found and found["st_nlink"] > 1


def _is_kind(path: str, test: Callable[[int], bool]) -> bool:
    try:
        return test(os.stat(home(path)).st_mode)
    except FileNotFoundError:
        return False


def is_blkdev(name: str) -> bool:
    """Whether a block device is there.

    CLI Example:

        salt '*' file.is_blkdev /dev/blk
    """
    return _is_kind(name, stat.S_ISBLK)


def is_chrdev(name: str) -> bool:
    """Whether a character device is there.

    CLI Example:

        salt '*' file.is_chrdev /dev/chr
    """
    return _is_kind(name, stat.S_ISCHR)


def is_fifo(name: str) -> bool:
    """Whether a named pipe is there.

    CLI Example:

        salt '*' file.is_fifo /dev/fifo
    """
    return _is_kind(name, stat.S_ISFIFO)


def get_devmm(name: str) -> tuple[int, int]:
    """Major and minor number of a device, ``(0, 0)`` for anything else.

    CLI Example:

        salt '*' file.get_devmm /dev/chr
    """
    name = home(name)
    if not (is_chrdev(name) or is_blkdev(name)):
        return 0, 0
    number = os.stat(name).st_rdev
    return os.major(number), os.minor(number)


def lstat(path: str) -> dict[str, Any]:
    """The status of a file, a link's own; empty if there is none.

    CLI Example:

        salt '*' file.lstat /path/to/file
    """
    path = absolute(path, "Path to file must be absolute.")
    try:
        found = os.lstat(path)
    except OSError:
        return {}
    return {
        "st_atime": found.st_atime,
        "st_ctime": found.st_ctime,
        "st_gid": found.st_gid,
        "st_mode": found.st_mode,
        "st_mtime": found.st_mtime,
        "st_nlink": found.st_nlink,
        "st_size": found.st_size,
        "st_uid": found.st_uid,
    }


def stats(path: str, hash_type: object = None, follow_symlinks: bool = True) -> dict[str, Any]:
    """Owner, times, size, mode and kind of a file; its hash too if a type is given.

    CLI Example:

        salt '*' file.stats /etc/passwd
    """
    path = home(path)
    found = permissions.status(path, follow=follow_symlinks)
    result = {
        "inode": found.st_ino,
        "uid": found.st_uid,
        "gid": found.st_gid,
        "group": permissions.group_name(found.st_gid),
        "user": permissions.user_name(found.st_uid),
        "atime": found.st_atime,
        "mtime": found.st_mtime,
        "ctime": found.st_ctime,
        "size": found.st_size,
        "mode": permissions.mode_text(found.st_mode),
    }
    if hash_type:
        result["sum"] = hashes.file_hash(path, hash_type)
    result["type"] = next((kind for test, kind in _KINDS if test(found.st_mode)), "file")
    result["target"] = os.path.realpath(path)
    return result


def statvfs(path: str) -> dict[str, int]:
    """The status of the file system that a file is on.

    CLI Example:

        salt '*' file.statvfs /path/to/file
    """
    path = absolute(path)
    try:
        found = os.statvfs(path)
    except OSError as error:
        raise FunctionError(f"Could not statvfs '{path}'") from error
    return {
        "f_bavail": found.f_bavail,
        "f_bfree": found.f_bfree,
        "f_blocks": found.f_blocks,
        "f_bsize": found.f_bsize,
        "f_favail": found.f_favail,
        "f_ffree": found.f_ffree,
        "f_files": found.f_files,
        "f_flag": found.f_flag,
        "f_frsize": found.f_frsize,
        "f_namemax": found.f_namemax,
    }


def readdir(path: str) -> list[str]:
    """The names in a directory, ``.`` and ``..`` first.

    CLI Example:

        salt '*' file.readdir /path/to/dir/
    """
    path = absolute(path, "Dir path must be absolute.")
    if not os.path.isdir(path):
        raise UsageError(f"A valid directory was not specified: {path}")
    return [".", "..", *os.listdir(path)]


def readlink(path: str, canonicalize: bool = False) -> str:
    """Where a symbolic link points; with ``canonicalize`` to the very end.

    CLI Example:

        salt '*' file.readlink /path/to/link
    """
    path = absolute(path, "Path to link must be absolute: {}")
    if not os.path.islink(path):
        raise UsageError(f"A valid link was not specified: {path}")
    return os.path.realpath(path) if canonicalize else os.readlink(path)


def diskusage(path: str) -> int:
    """The bytes of a file, or of all files below a directory; each file counts once.

    CLI Example:

        salt '*' file.diskusage /path/to/check
    """
    seen: dict[tuple[int, int], int] = {}
    for found in _files_below(path):
        try:
            status = os.stat(found)
        except OSError:
            continue
        seen[status.st_dev, status.st_ino] = status.st_size
    return sum(seen.values())


def _files_below(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)


def open_files(by_pid: bool = False) -> dict[Any, Any]:
    """The files that processes have open: by path, or by process.

    CLI Example:

        salt '*' file.open_files
        salt '*' file.open_files by_pid=True
    """
    of_process = {int(name): _open_by(name) for name in os.listdir("/proc") if is_digits(name)}
    if by_pid:
        return of_process
    of_file: dict[str, list[int]] = {}
    for pid, paths in of_process.items():
        for path in paths:
            of_file.setdefault(path, []).append(pid)
    return of_file


def _open_by(pid: str) -> list[str]:
    folder = f"/proc/{pid}/fd"
    found = []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        try:
            path = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if os.path.exists(path) and path not in found:
            found.append(path)
    return sorted(found)


def find(ctx: MinionContext, path: str, *args: str, **kwargs: Any) -> Any:
    r"""The files below a path that meet all criteria, or what actions say about them.

    Criteria: ``name`` and ``iname`` (globs), ``regex`` and ``iregex``, ``type`` (letters
    ``bcdflps``), ``owner``, ``group``, ``size`` (``[+-]number[bkmgt]``), ``mtime``
    (``[+-]1w2d3h4m5s``), ``grep``. Depths: ``mindepth``, ``maxdepth``. Actions: ``delete`` (letters
    of types), ``exec`` (``{}`` is the path), ``print`` (``group md5 mode mtime name path size type
    user``).

    CLI Example:

        salt '*' file.find / type=f name=\*.bak size=+10m
        salt '*' file.find /var mtime=+30d size=+10m print=path,size,mtime
        salt '*' file.find /var/log name=\*.[0-9] mtime=+30d size=+10m delete
    """
    import glob

    from saltlite.providers.file.find import CriterionError, Finder

    options = own_keywords(kwargs)
    if "delete" in args:
        options["delete"] = "f"
    elif "print" in args:
        options["print"] = "path"
    path = home(path)
    try:
        finder = Finder(options, ctx.host)
    except CriterionError as error:
        return f"error: {error}"
    starts = glob.glob(path) if any(char in path for char in "*?[") else [path]
    return sorted(said for start in starts for said in finder.find(start))
