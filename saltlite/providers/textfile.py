"""Text files of the system that are read, changed in a few lines, and written again.

Bytes that are no UTF-8 come back as they were. Owner and mode stay.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, StoreError
from saltlite.host import Host

LOCKS: Final = ".edits.lock"
"""A file of locks in the cache directory, one for each text; see ``disk.hold_lock_slot``."""

PATIENCE_S: Final = 60.0


def hold(ctx: MinionContext, path: str) -> contextlib.AbstractContextManager[None]:
    """Keep other jobs of this minion from a file between its reading and its writing.

    As :func:`hold_name`, of the file that the path leads to.
    """
    return hold_name(ctx, os.path.realpath(path))


@contextlib.contextmanager
def hold_name(ctx: MinionContext, name: str) -> Iterator[None]:
    """Keep other jobs of this minion from a text that programs read and write for us.

    What is held already is not to be held again.

    Raises:
        StoreError: another job had it for too long, or there can be no such lock.
    """
    folder = Path(ctx.config.paths.cachedir)
    disk.make_dir(folder)
    slot = zlib.crc32(name.encode("utf-8", "surrogateescape"))
    with disk.hold_lock_slot(folder / LOCKS, slot, patience_s=PATIENCE_S):
        yield


def hold_to_edit(
    ctx: MinionContext, path: str, *, dry_run: bool = False
) -> contextlib.AbstractContextManager[None]:
    """As :func:`hold`, for a function that can also be tried; then nothing is held."""
    return contextlib.nullcontext() if dry_run else hold(ctx, path)


def load(host: Host, path: str) -> str | None:
    """The text of a file, ``None`` if it cannot be read."""
    data = host.read_bytes(path)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The bytes that :func:`load` made a text of."""
    return text.encode("utf-8", "surrogateescape")


def save(path: str, text: str, *, mode: int = 0o644, was: str | None = None) -> None:
    """Replace the text of a file. ``mode`` is for one that is new.

    ``was`` is the text that it had; a file that has another one now is left alone.

    Raises:
        FunctionError: it cannot be written.
    """
    try:
        disk.rewrite(Path(path), encode(text), mode=mode, was=None if was is None else encode(was))
    except StoreError as error:
        raise FunctionError(str(error)) from error
