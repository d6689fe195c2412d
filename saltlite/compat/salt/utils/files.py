"""``salt.utils.files``."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from typing import Any

from saltlite.compat.salt.exceptions import CommandExecutionError
from saltlite.compat.salt.utils import stringutils
from saltlite.disk import with_umask

HASHES = {"sha512": 128, "sha384": 96, "sha256": 64, "sha224": 56, "sha1": 40, "md5": 32}
HASHES_REVMAP = {length: name for name, length in HASHES.items()}
REMOTE_PROTOS = ("http", "https", "ftp", "swift", "s3")
VALID_PROTOS = ("salt", "file", *REMOTE_PROTOS)
TEMPFILE_PREFIX = "__salt.tmp."


def fopen(*args: Any, **kwargs: Any) -> Any:
    """``open``, with UTF-8 for text; the file is closed when a program is run.

    Raises:
        TypeError: the name is a number of 0, 1 or 2.
    """
    if args and args[0] in (0, 1, 2) and isinstance(args[0], int):
        raise TypeError(f"{args[0]} is not a permitted file descriptor")
    mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
    if "b" not in mode:
        kwargs.setdefault("encoding", "utf-8")
        kwargs.setdefault("newline", "" if kwargs.pop("keep_newlines", False) else None)
    return open(*args, **kwargs)


@contextlib.contextmanager
def flopen(*args: Any, **kwargs: Any) -> Iterator[Any]:
    """``fopen`` with a lock on the file."""
    with fopen(*args, **kwargs) as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_SH)
        try:
            yield file
        finally:
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)


@contextlib.contextmanager
def fpopen(*args: Any, **kwargs: Any) -> Iterator[Any]:
    """``fopen`` with owner, group and mode of the file."""
    uid, gid = kwargs.pop("uid", -1), kwargs.pop("gid", -1)
    mode = kwargs.pop("mode", None)
    with fopen(*args, **kwargs) as file:
        os.chown(file.fileno(), uid, gid)
        if mode is not None:
            os.chmod(file.fileno(), mode)
        yield file


def mkstemp(*args: Any, **kwargs: Any) -> Any:
    """The path of a new file for a while; with ``close_fd=False`` its descriptor too."""
    kwargs.setdefault("prefix", TEMPFILE_PREFIX)
    close = kwargs.pop("close_fd", True)
    fd, path = tempfile.mkstemp(*args, **kwargs)
    if not close:
        return fd, path
    os.close(fd)
    return path


def safe_rm(tgt: str) -> None:
    """Delete a file, if it can be."""
    with contextlib.suppress(OSError):
        os.remove(tgt)


def remove(path: str) -> None:
    """Delete a file, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def rm_rf(path: str) -> None:
    """Delete a file or a directory with all in it, if it is there."""
    if os.path.islink(path) or not os.path.isdir(path):
        safe_rm(path)
    else:
        shutil.rmtree(path)


def rename(src: str, dst: str) -> None:
    """Give a file another name, in the place of what has it."""
    os.replace(src, dst)


def copyfile(source: str, dest: str, backup_mode: str = "", cachedir: str = "") -> None:
    """Put a copy of a file in the place of another, with owner and mode of that.

    Raises:
        OSError: the source or the directory is not there.
    """
    for path, there in ((source, os.path.isfile(source)), (os.path.dirname(dest), True)):
        if not there or not os.path.exists(path):
            raise OSError(errno.ENOENT, f"[Errno {errno.ENOENT}] No such file or directory: {path}")
    temporary = mkstemp(dir=os.path.dirname(dest))
    shutil.copyfile(source, temporary)
    if os.path.isfile(dest):
        status = os.stat(dest)
        os.chown(temporary, status.st_uid, status.st_gid)
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
    shutil.move(temporary, dest)


def recursive_copy(source: str, dest: str) -> None:
    """Copy all below a directory into another, keeping what is there."""
    shutil.copytree(source, dest, dirs_exist_ok=True)


set_umask = with_umask


def is_fcntl_available(check_sunos: bool = False) -> bool:
    """Whether files can be locked."""
    return True


def is_empty(filename: str) -> bool:
    """Whether a file is there and empty."""
    try:
        return os.stat(filename).st_size == 0
    except OSError:
        return False


def is_binary(path: str) -> bool:
    """Whether a file does not look like text."""
    try:
        with open(path, "rb") as file:
            return stringutils.is_binary(file.read(2048))
    except OSError:
        return False


def is_text(fp_: Any, blocksize: int = 512) -> bool:
    """Whether a file looks like text."""
    if isinstance(fp_, str):
        return not is_binary(fp_)
    block = fp_.read(blocksize)
    return not stringutils.is_binary(block)


def list_files(directory: str) -> list[str]:
    """The directory and everything below it."""
    found = {directory}
    for root, dirs, files in os.walk(directory):
        found.update(os.path.join(root, name) for name in (*dirs, *files))
    return list(found)


def safe_walk(top: str, topdown: bool = True, onerror: Any = None, followlinks: bool = True,
              _seen: object = None) -> Iterator[tuple[str, list[str], list[str]]]:  # fmt: skip
    """``os.walk`` through links too, but each directory once."""
    seen: set[tuple[int, int]] = set()
    for root, dirs, files in os.walk(top, True, onerror, followlinks):
        status = os.stat(root)
        if (status.st_dev, status.st_ino) in seen:
            dirs[:] = []
            continue
        seen.add((status.st_dev, status.st_ino))
        yield root, dirs, files


def normalize_mode(mode: object) -> Any:
    """A mode as text of digits without ``0o`` and zeros too many; ``None`` stays."""
    if mode is None:
        return None
    text = mode if isinstance(mode, str) else str(mode)
    text = text.replace("0o", "0").replace("0O", "0")
    return text.strip('"').strip("'").lstrip("0").zfill(4)


def human_size_to_bytes(human_size: str) -> int:
    """The number of bytes that ``10K`` stands for; 0 if it is none."""
    return stringutils.human_to_bytes(human_size)


def safe_filename_leaf(file_basename: str) -> str:
    """A name of a file without what has a meaning in paths."""
    from urllib.parse import quote

    return "".join(quote(each, safe="") if each in "/\0" else each for each in file_basename)


def safe_filepath(file_path_name: str, dir_sep: str | None = None) -> str:
    """A path whose every part is a safe name."""
    sep = dir_sep or os.sep
    return sep.join(safe_filename_leaf(part) for part in file_path_name.split(sep))


def backup_minion(path: str, bkroot: str) -> None:
    """Keep a copy of a file below ``bkroot``, with the time in its name."""
    import time

    directory, name = os.path.split(path)
    place = os.path.join(bkroot, directory.lstrip("/"))
    os.makedirs(place, exist_ok=True)
    moment = time.strftime("%a_%b_%d_%H:%M:%S_%Y")
    target = os.path.join(place, f"{name}_{moment}")
    shutil.copyfile(path, target)
    status = os.stat(path)
    os.chown(target, status.st_uid, status.st_gid)
    os.chmod(target, stat.S_IMODE(status.st_mode))


def get_encoding(path: str) -> str:
    """The name of a file's encoding.

    Raises:
        CommandExecutionError: there is no such file, or none that is known.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(2048)
    except OSError as error:
        raise CommandExecutionError(f"Not a file: {path}") from error
    for name in ("UTF-8", "UTF-16"):
        try:
            data.decode(name)
        except UnicodeDecodeError:
            continue
        return name
    raise CommandExecutionError("Could not detect file encoding")


@contextlib.contextmanager
def await_lock(*args: Any, **kwargs: Any) -> Iterator[None]:
    """Hold a lock on a path."""
    with wait_lock(*args, **kwargs):
        yield


@contextlib.contextmanager
def wait_lock(
    path: str, lock_fn: str | None = None, timeout: float = 5, sleep: float = 0.1,
    time_start: object = None,
) -> Iterator[None]:  # fmt: skip
    """Hold a lock on a path."""
    from pathlib import Path

    from saltlite.disk import hold_lock

    with hold_lock(Path(lock_fn or f"{path}.w")):
        yield
