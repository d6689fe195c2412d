"""Copies of files on this machine: their hashes, and how they are replaced in one step."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from saltlite.disk import make_dir, rewrite
from saltlite.errors import FunctionError, SaltliteError, WireError
from saltlite.fileserver.sources import READ_BYTES

CACHE_DIR_MODE: Final = 0o700
FILE_MODE: Final = 0o644


class TransferError(SaltliteError):
    """A file did not arrive as its hash says."""


def file_hash(path: str, hash_type: str) -> str:
    """The hash of a file of this machine in hexadecimal; raises OSError, ValueError."""
    digest = hashlib.new(hash_type, usedforsecurity=False)
    for piece in file_pieces(path):
        digest.update(piece)
    return digest.hexdigest()


def file_pieces(path: str) -> Iterator[bytes]:
    """The content of a file of this machine, piece by piece."""
    with open(path, "rb") as file:
        while piece := file.read(READ_BYTES):
            yield piece


def hash_or_none(path: Path, hash_type: str) -> str:
    """The hash of a file that may not be there, ``""`` then."""
    try:
        return file_hash(str(path), hash_type) if path.is_file() else ""
    except (OSError, ValueError):
        return ""


def has_hash(path: Path, hash_type: str, wanted: str) -> bool:
    """Whether a file is there and has this hash."""
    return bool(wanted) and hash_or_none(path, hash_type) == wanted


def has_content(path: Path, data: bytes) -> bool:
    """Whether a file is there and is this; quicker for a small one than two hashes."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        status = os.fstat(fd)
        is_so_long = stat.S_ISREG(status.st_mode) and status.st_size == len(data)
        return is_so_long and os.pread(fd, len(data) + 1, 0) == data
    finally:
        os.close(fd)


def verify_pieces(
    pieces: Iterable[bytes], hash_type: str, wanted: str, path: str
) -> Iterator[bytes]:
    """The pieces as they come; an error at their end if the whole has another hash."""
    try:
        digest = hashlib.new(hash_type, usedforsecurity=False)
    except ValueError as error:
        raise WireError(f"the master hashes with {hash_type!r}, which is not known here") from error
    for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != wanted:
        raise TransferError(f"{path} did not arrive as the master has it")


def replace_file(target: Path, data: bytes | Iterable[bytes], *, new_mode: int = FILE_MODE) -> None:
    """Replace a file, or what a link leads to; it keeps its owner and mode.

    ``new_mode`` is for a file that is not there yet.

    Raises:
        FunctionError: something is there that is no regular file.
        StoreError: it cannot be written; what was there stays.
    """
    if target.exists() and not target.is_file():
        raise FunctionError(f"{target} is not a regular file")
    rewrite(target, data, mode=new_mode)


def clear_way(place: Path, cachedir: Path) -> None:
    """Make the directories of a copy; what lies in its way in the cache has changed its kind."""
    import shutil

    for folder in reversed([one for one in place.parents if cachedir in one.parents]):
        if not folder.is_dir() and os.path.lexists(folder):
            folder.unlink()
        make_dir(folder, CACHE_DIR_MODE)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
