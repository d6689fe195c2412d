"""Names of files, as texts: nothing is looked at."""

from __future__ import annotations

import os


def basename(path: str) -> str:
    """The last part of a path.

    CLI Example:

        salt '*' file.basename 'test/test.config'
    """
    return os.path.basename(path)


def dirname(path: str) -> str:
    """A path without its last part.

    CLI Example:

        salt '*' file.dirname 'test/path/filename.config'
    """
    return os.path.dirname(path)


def join(*args: str) -> str:
    """Parts of a path, put together.

    CLI Example:

        salt '*' file.join '/' 'usr' 'local' 'bin'
    """
    return os.path.join(*args)


def normpath(path: str) -> str:
    """A path without ``..``, ``.`` and double slashes.

    CLI Example:

        salt '*' file.normpath 'a/b/c/..'
    """
    return os.path.normpath(path)


def pardir() -> str:
    """What the directory above is called here.

    CLI Example:

        salt '*' file.pardir
    """
    return os.path.pardir
