"""Paths and environment names that come from elsewhere: the one gate before they meet a directory.

Called by the server for what minions send, and by the client for what a user, an SLS file or a
master names. Knows no disk.
"""

from __future__ import annotations

from saltlite.core.dataclasses import dataclass

SCHEME = "salt://"
PATH_LIMIT_BYTES = 4096
NAME_LIMIT_BYTES = 255


@dataclass(frozen=True, slots=True)
class Location:
    """``salt://path?saltenv=env`` taken apart; ``saltenv`` is ``None`` where it is not given."""

    path: str
    saltenv: str | None = None


def split_url(url: str) -> Location:
    """Take a ``salt://`` address, or the path behind it, apart.

    All behind the first ``?`` is a query of which only ``saltenv`` counts; a leading ``|`` (Salt's
    mark of an escaped path) is dropped. Source: docs/wire.md#files; observed on Salt 3006.30.
    """
    path, _, query = url.removeprefix(SCHEME).partition("?")
    saltenv = None
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if name == "saltenv" and value:
            saltenv = value
    return Location(path.removeprefix("|"), saltenv)


def safe_parts(path: object) -> tuple[str, ...] | None:
    """The components of a relative path; ``None`` for one that could lead anywhere else.

    Empty components and ``.`` do not count. Absolute paths, ``..``, NUL, text that is no UTF-8, and
    what is longer than the system takes, are refused.
    """
    if not isinstance(path, str) or path.startswith("/") or "\0" in path:
        return None
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if not parts or ".." in parts:
        return None
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return None
    if max(sizes) > NAME_LIMIT_BYTES or sum(sizes) + len(sizes) > PATH_LIMIT_BYTES:
        return None
    return parts


def safe_name(name: object) -> bool:
    """Whether a text may stand for one directory's name."""
    parts = safe_parts(name)
    return parts is not None and parts == (name,)
