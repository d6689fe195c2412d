"""Add lines to a file. The caller holds the file (``textfile.hold``)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from saltlite.providers.file import place


def encode_lines(lines: Iterable[str]) -> bytes:
    """Each line with its end, as bytes."""
    return "".join(f"{line}\n" for line in lines).encode()


def append_lines(path: str, lines: Sequence[str]) -> None:
    """Add lines at the end of a file; a last line without an end is ended first.

    Raises:
        OSError: it is not there, or cannot be written.
    """
    data = encode_lines(lines)
    with place.open_in_place(path, os.O_RDWR) as fd, open(fd, "rb+", closefd=False) as file:
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
        old = place.load(path)
    except FileNotFoundError:
        place.put_data(path, new)
        return
    old.data.decode()
    place.put_data(path, new + old.data, was=old.status)
