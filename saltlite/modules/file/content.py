"""Read and write content, whole or in pieces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.providers import textfile
from saltlite.providers.file import content, paths
from saltlite.providers.file.paths import home


def read(path: str, binary: bool = False) -> str | bytes:
    """The content of a file.

    CLI Example:

        salt '*' file.read /path/to/file
    """
    with open(path, "rb") as file:
        content = file.read()
    return content if binary else content.decode()


def seek_read(path: str, size: Any, offset: Any) -> bytes:
    """A piece of a file.

    CLI Example:

        salt '*' file.seek_read /path/to/file 4096 0
    """
    fd = os.open(home(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.lseek(fd, int(offset), os.SEEK_SET)
        return os.read(fd, int(size))
    finally:
        os.close(fd)


def seek_write(ctx: MinionContext, path: str, data: object, offset: Any) -> int:
    """Write a piece into a file; how many bytes were written.

    CLI Example:

        salt '*' file.seek_write /path/to/file 'some data' 4096
    """
    piece = data if isinstance(data, bytes) else str(data).encode()
    path = home(path)
    with textfile.hold(ctx, path), content.open_in_place(path, os.O_WRONLY) as fd:
        os.lseek(fd, int(offset), os.SEEK_SET)
        return os.write(fd, piece)


def truncate(ctx: MinionContext, path: str, length: Any) -> None:
    """Cut a file off after so many bytes.

    CLI Example:

        salt '*' file.truncate /path/to/file 512
    """
    path = home(path)
    with textfile.hold(ctx, path), content.open_in_place(path, os.O_RDWR) as fd:
        os.ftruncate(fd, int(length))


def touch(name: str, atime: Any = None, mtime: Any = None) -> bool:
    """Make an empty file, or set the times of one: seconds, now without them.

    CLI Example:

        salt '*' file.touch /var/log/emptyfile
    """
    name = home(name)
    paths.touch(name, atime, mtime)
    return os.path.exists(name)


def _texts_given(args: Sequence[object], kwargs: dict[str, Any]) -> list[str]:
    """The lines to write; ``args=`` wins, for texts with an equals sign."""
    given: Any = args
    if "args" in kwargs:
        given = kwargs["args"] if isinstance(kwargs["args"], list) else [kwargs["args"]]
    return [str(text) for text in given]


def append(ctx: MinionContext, path: str, *args: str, **kwargs: Any) -> str:
    """Add lines to the end of a file.

    CLI Example:

        salt '*' file.append /etc/motd "With all thine offerings thou shalt offer salt."
        salt '*' file.append /etc/motd args="['cheese=spam','spam=cheese']"
    """
    path = home(path)
    lines = _texts_given(args, kwargs)
    with textfile.hold(ctx, path):
        content.append_lines(path, lines)
    return f'Wrote {len(lines)} lines to "{path}"'


def prepend(ctx: MinionContext, path: str, *args: str, **kwargs: Any) -> str:
    """Put lines before those of a file.

    CLI Example:

        salt '*' file.prepend /etc/motd "With all thine offerings thou shalt offer salt."
    """
    path = home(path)
    lines = _texts_given(args, kwargs)
    with textfile.hold(ctx, path):
        content.prepend_lines(path, lines)
    return f'Prepended {len(lines)} lines to "{path}"'


def write(ctx: MinionContext, path: str, *args: str, **kwargs: Any) -> str:
    """Write lines into a file, in place of all that is in it.

    CLI Example:

        salt '*' file.write /etc/motd "With all thine offerings thou shalt offer salt."
    """
    path = home(path)
    lines = _texts_given(args, kwargs)
    with textfile.hold(ctx, path):
        content.put_data(path, content.encode_lines(lines))
    return f'Wrote {len(lines)} lines to "{path}"'
