"""``salt.utils.path``."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from typing import Any


def which(exe: str | None = None) -> str | None:
    """The path of a program, ``None`` without it; the places that administrators use count too."""
    if not exe:
        return None
    own = os.environ.get("PATH", os.defpath)
    return shutil.which(exe, path=f"{own}:/sbin:/bin:/usr/sbin:/usr/bin:/usr/local/bin")


def which_bin(exes: object) -> str | None:
    """The path of the first program that is there; ``None`` without any."""
    if not isinstance(exes, Iterable) or isinstance(exes, str):
        return None
    return next((found for exe in exes if (found := which(exe))), None)


def islink(path: str) -> bool:
    """Whether it is a symbolic link."""
    return os.path.islink(path)


def readlink(path: str, canonical: bool = False) -> str:
    """Where a symbolic link leads."""
    return os.path.realpath(path) if canonical else os.readlink(path)


def join(*parts: str, **kwargs: Any) -> str:
    """A path of its parts; an absolute part does not begin anew."""
    if not parts:
        return ""
    root, *rest = (str(part) for part in parts)
    rest = [part.lstrip(os.sep) for part in rest]
    return os.path.normpath(os.path.join(root, *rest))


def os_walk(top: str, *args: Any, **kwargs: Any) -> Iterator[tuple[str, list[str], list[str]]]:
    """``os.walk``."""
    return os.walk(top, *args, **kwargs)


def safe_path(path: str, allow_path: object = None) -> bool:
    """Whether a path is no place of the system."""
    real = os.path.realpath(path)
    return not any(real == each or real.startswith(f"{each}/") for each in ("/proc", "/sys"))


def sanitize_win_path(winpath: str) -> str:
    """A path without what Windows does not take in one."""
    return re.sub(r"[:?*\"|<>]", "_", winpath)


def check_or_die(command: str | None) -> None:
    """Raise CommandNotFoundError if a program is not there."""
    from saltlite.compat.salt.exceptions import CommandNotFoundError

    if command is None:
        raise CommandNotFoundError("'None' is not a valid command.")
    if not which(command):
        raise CommandNotFoundError(f"'{command}' is not in the path")
