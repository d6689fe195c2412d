"""Text files of the system that are read, changed in a few lines, and written again.

Bytes that are no UTF-8 come back as they were. Owner and mode stay.
"""

from __future__ import annotations

from pathlib import Path

from saltlite import disk
from saltlite.errors import FunctionError, StoreError
from saltlite.host import Host


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
