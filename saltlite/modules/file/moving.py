"""Move, copy, remove."""

from __future__ import annotations

import os
import time
from typing import Any

from saltlite.errors import UsageError
from saltlite.openat import reach
from saltlite.providers.file import paths
from saltlite.providers.file.paths import absolute, home

SECONDS_A_DAY = 86400


def rename(src: str, dst: str) -> bool:
    """Rename a file or directory.

    CLI Example:

        salt '*' file.rename /path/to/src /path/to/dst
    """
    paths.rename(absolute(src), home(dst))
    return True


def move(src: str, dst: str, disallow_copy_and_unlink: bool = False) -> Any:
    """Move a file or directory, also to another file system if that is not disallowed.

    CLI Example:

        salt '*' file.move /path/to/src /path/to/dst
    """
    src = absolute(src, "Source path must be absolute.")
    dst = absolute(dst, "Destination path must be absolute.")
    if disallow_copy_and_unlink:
        return rename(src, dst)
    paths.move(src, dst)
    return {"result": True, "comment": f"'{src}' moved to '{dst}'"}


def copy(src: str, dst: str, recurse: bool = False, remove_existing: bool = False) -> bool:
    """Copy a file with owner and mode, or with ``recurse`` a directory over another one.

    ``remove_existing`` empties the directory before.

    CLI Example:

        salt '*' file.copy /path/to/src /path/to/dst
        salt '*' file.copy /path/to/src_dir /path/to/dst_dir recurse=True remove_existing=True
    """
    paths.copy(absolute(src), home(dst), recurse=recurse, remove_existing=remove_existing)
    return True


def remove(path: str, **kwargs: Any) -> bool:
    """Remove whatever is at a path, a directory with all that is in it; ``False`` without anything.

    CLI Example:

        salt '*' file.remove /tmp/foo
    """
    return paths.remove(absolute(path, "File path must be absolute: {}"))


def _parse_days(older_than: Any) -> float:
    try:
        return float(older_than)
    except (TypeError, ValueError) as error:
        raise UsageError(f"older_than: {older_than!r} is no number of days") from error


def rmdir(
    path: str, recurse: bool = False, verbose: bool = False, older_than: object = None
) -> Any:
    """Remove an empty directory; with ``recurse`` also the empty ones in it.

    ``older_than`` is in days. ``verbose`` tells what was done: ``deleted``, ``errors``, ``result``.

    CLI Example:

        salt '*' file.rmdir /tmp/foo/
    """
    path = absolute(path)
    if not os.path.isdir(path):
        raise UsageError(f"A valid directory was not specified: {path}")
    since = time.time() - _parse_days(older_than) * SECONDS_A_DAY if older_than else None
    folders = [path]
    if recurse:
        folders = [folder for folder, _, _ in os.walk(path, topdown=False)]
    deleted, errors = [], []
    for folder in folders:
        if since is not None and os.path.getmtime(folder) >= since:
            continue
        complaint = _remove_dir(folder)
        if complaint:
            errors.append([folder, complaint])
        else:
            deleted.append(folder)
    if verbose:
        return {"deleted": deleted, "errors": errors, "result": not errors}
    return not errors


def _remove_dir(folder: str) -> str:
    try:
        with reach(folder) as spot:
            os.rmdir(spot.name, dir_fd=spot.fd)
    except OSError as error:
        error.filename = folder
        return str(error)
    return ""
