"""Directories below a path of their own (``mountpoint``): of git repositories, as files and pillar.

Each is a :class:`Roots` of one environment, :data:`TREE`; nothing in it leads out of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from saltlite.core import dataclasses
from saltlite.fileserver.paths import safe_parts
from saltlite.fileserver.roots import Listing, OpenFile, Roots

if TYPE_CHECKING:
    from saltlite.fileserver.roots import FileOptions

TREE: Final = "tree"
"""The environment of each directory by itself."""

Mount = tuple[str, tuple[str, ...]]
"""A directory, and the components of the path that its files are below."""

Mounted = tuple[Roots, tuple[str, ...]]


class Mounts:
    """Directories of one environment, the first one that has a file serves it."""

    name = "mounts"

    def __init__(self, options: FileOptions, saltenv: str, mounts: Iterable[Mount]) -> None:
        self._saltenv = saltenv
        self._places = [(tree(options, directory), below) for directory, below in mounts]

    def envs(self) -> list[str]:
        """The one environment."""
        return [self._saltenv]

    def open(self, path: object, saltenv: object) -> OpenFile | None:
        """Open a file; ``None`` if there is no such file."""
        return open_in(self._places, path) if saltenv == self._saltenv else None

    def listing(self, saltenv: object) -> Listing:
        """All that is there."""
        return list_all(self._places) if saltenv == self._saltenv else Listing()

    def forget(self) -> None:
        """Read lists again."""
        for roots, _below in self._places:
            roots.forget()

    def clear(self) -> bool:
        """What is on disk is another's."""
        return False

    def update(self) -> bool:
        """The directories are as they are."""
        return False


def tree(options: FileOptions, directory: str) -> Roots:
    """A directory as what :func:`open_in` takes."""
    return Roots(
        dataclasses.replace(
            options, file_roots={TREE: [directory]}, fileserver_followsymlinks=False
        )
    )


def open_in(places: Iterable[Mounted], path: object) -> OpenFile | None:
    """Open a file by its path with the mountpoint; ``None`` if no place has it."""
    parts = safe_parts(path)
    if parts is None:
        return None
    for roots, below in places:
        if parts[: len(below)] != below:
            continue
        file = roots.open("/".join(parts[len(below) :]), TREE)
        if file is not None:
            file.rel = "/".join(parts)
            return file
    return None


def list_all(places: Iterable[Mounted]) -> Listing:
    """All that is in some places, with their mountpoints."""
    files: set[str] = set()
    dirs: set[str] = set()
    links: dict[str, str] = {}
    for roots, below in places:
        before = "/".join(below)
        found = roots.listing(TREE)
        files.update(_join_paths(before, name) for name in found.files)
        dirs.update(_join_paths(before, name) for name in found.dirs)
        dirs.update([before] if before and found.files else [])
        links = {**{_join_paths(before, name): to for name, to in found.links.items()}, **links}
    return Listing(sorted(files), sorted(dirs), [], dict(sorted(links.items())))


def _join_paths(before: str, name: str) -> str:
    return f"{before}/{name}" if before else name
