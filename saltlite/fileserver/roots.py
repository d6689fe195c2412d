"""The ``roots`` back end: environments that are directories of this machine (``file_roots``).

Used by :mod:`saltlite.fileserver.server` only. No path leaves its root but through a link that the
administrator has put there, and through none with ``fileserver_followsymlinks: False``. Nothing
here waits on a FIFO or opens a device.
"""

from __future__ import annotations

import fnmatch
import logging
import os
import re
import stat
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from saltlite import disk
from saltlite.core.dataclasses import dataclass, field
from saltlite.fileserver.paths import safe_name, safe_parts

if TYPE_CHECKING:
    from saltlite.config import master, minion

    FileOptions: TypeAlias = master.FileOptions | minion.FileOptions

log = logging.getLogger(__name__)

ANY_ENV = "__env__"
"""The entry of ``file_roots`` for every environment that has none of its own."""

LISTINGS_KEPT = 64
"""Lists in memory; environments below ``__env__`` can be named by anybody."""


@dataclass(slots=True)
class OpenFile:
    """A regular file of an environment, open for reading. ``path`` is the one on this machine."""

    fd: int
    path: str
    rel: str
    status: os.stat_result

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self.fd)


@dataclass(slots=True)
class Listing:
    """What is in an environment, sorted, relative to its roots. ``links`` has their targets."""

    files: list[str] = field(default_factory=list)
    dirs: list[str] = field(default_factory=list)
    empty_dirs: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)


class Roots:
    """The directories of ``file_roots``; the first one that has a file serves it."""

    name = "roots"

    def __init__(self, options: FileOptions) -> None:
        self._options = options
        self._ignored = _Ignored(options.file_ignore_regex, options.file_ignore_glob)
        self._listings: dict[str, _Kept] = {}

    def envs(self) -> list[str]:
        """The names of ``file_roots``, ``__env__`` among them as in Salt."""
        return list(self._options.file_roots)

    def directories(self, saltenv: object) -> list[str]:
        """The directories of an environment in their order; none for an unknown one."""
        roots = self._options.file_roots
        if not isinstance(saltenv, str):
            return []
        if saltenv in roots:
            return list(roots[saltenv])
        if ANY_ENV not in roots or not safe_name(saltenv):
            return []
        return [directory.replace(ANY_ENV, saltenv) for directory in roots[ANY_ENV]]

    def open(self, path: object, saltenv: object) -> OpenFile | None:
        """Open a file of an environment; ``None`` if it has no such file."""
        parts = safe_parts(path)
        if parts is None or self._ignored("/".join(parts)):
            return None
        for root in self.directories(saltenv):
            found = self._open_below(root, parts)
            if found is not None:
                return found
        return None

    def _open_below(self, root: str, parts: Sequence[str]) -> OpenFile | None:
        path = os.path.join(root, *parts)
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # opening a device can do things
                return None
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
                log.debug("cannot serve %s: %s", path, error.strerror)
            return None
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or not self._may_serve(fd, root):
            os.close(fd)
            return None
        return OpenFile(fd, path, "/".join(parts), status)

    def _may_serve(self, fd: int, root: str) -> bool:
        """Whether what was opened, wherever links led, is below the root, if it has to be."""
        if self._options.fileserver_followsymlinks:
            return True
        try:
            return _is_below(os.readlink(f"/proc/self/fd/{fd}"), os.path.realpath(root))
        except OSError:
            return False

    def listing(self, saltenv: object) -> Listing:
        """All that is in an environment; read again only when a directory has changed."""
        directories = self.directories(saltenv)
        if not directories:
            return Listing()
        key = str(saltenv)
        kept = self._listings.get(key)
        if kept is None or not kept.holds():
            if len(self._listings) >= LISTINGS_KEPT:
                self._listings.clear()
            kept = self._listings[key] = self._read_tree(directories)
        return kept.listing

    def forget(self) -> None:
        """Read all lists again when they are asked for."""
        self._listings.clear()

    def clear(self) -> bool:
        """Nothing is kept on disk."""
        return False

    def update(self) -> bool:
        """The directories of this machine are as they are."""
        return False

    def _read_tree(self, directories: Sequence[str]) -> _Kept:
        began_ns = time.time_ns()
        walk = _DirectoryWalk(self._options, self._ignored)
        for directory in directories:
            walk.read(directory)
        return _Kept(walk.listing(), walk.stamps, began_ns)


class _Ignored:
    """``file_ignore_regex`` (search) and ``file_ignore_glob`` (of the whole path)."""

    def __init__(self, expressions: Sequence[str], globs: Sequence[str]) -> None:
        sources = [*filter(_is_valid, expressions), *map(fnmatch.translate, globs)]
        self._searches = [re.compile(source) for source in sources]

    def __call__(self, rel: str) -> bool:
        return any(search.search(rel) for search in self._searches)


def _is_valid(expression: str) -> bool:
    try:
        re.compile(expression)
    except re.error as error:
        log.warning("file_ignore_regex: %r is not valid: %s", expression, error)
        return False
    return True


_Stamp: TypeAlias = "tuple[int, int] | None"
"""Inode and time of change of a directory; ``None`` where there is nothing."""


def _stamp_of(path: str) -> _Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


@dataclass(slots=True)
class _Kept:
    """A list and what it depends on: every directory that was read, every link that led nowhere."""

    listing: Listing
    stamps: dict[str, _Stamp]
    began_ns: int

    def holds(self) -> bool:
        latest_ns = max((stamp[1] for stamp in self.stamps.values() if stamp), default=0)
        if latest_ns > self.began_ns - disk.TICK_NS:
            return False
        return all(_stamp_of(path) == stamp for path, stamp in self.stamps.items())


@dataclass(frozen=True, slots=True)
class _Folder:
    """A directory on the way: its path, the path below the root, and those it lies in."""

    path: str
    rel: str
    inode: tuple[int, int]
    parent: _Folder | None

    def is_in(self, inode: tuple[int, int]) -> bool:
        folder: _Folder | None = self
        while folder is not None:
            if folder.inode == inode:
                return True
            folder = folder.parent
        return False


class _DirectoryWalk:
    """Reads directories into one :class:`Listing`; a link back up is not followed."""

    def __init__(self, options: FileOptions, ignored: _Ignored) -> None:
        self._follow = options.fileserver_followsymlinks
        self._show_links = not options.fileserver_ignoresymlinks
        self._ignored = ignored
        self._files: set[str] = set()
        self._dirs: set[str] = set()
        self._empty: set[str] = set()
        self._links: dict[str, str] = {}
        self.stamps: dict[str, _Stamp] = {}

    def listing(self) -> Listing:
        return Listing(
            files=sorted(self._files),
            dirs=sorted(self._dirs),
            empty_dirs=sorted(self._empty),
            links=dict(sorted(self._links.items())),
        )

    def read(self, root: str) -> None:
        first = self._open_folder(root, "", None)
        waiting = [first] if first is not None else []
        while waiting:
            folder = waiting.pop()
            waiting += self._read_entries(folder, root)

    def _open_folder(self, path: str, rel: str, parent: _Folder | None) -> _Folder | None:
        try:
            status = os.stat(path)
        except OSError:
            self.stamps[path] = None
            return None
        inode = (status.st_dev, status.st_ino)
        if parent is not None and parent.is_in(inode):
            return None
        self.stamps[path] = (status.st_ino, status.st_mtime_ns)
        return _Folder(path, rel, inode, parent)

    def _read_entries(self, folder: _Folder, root: str) -> list[_Folder]:
        below = []
        try:
            entries = [entry for entry in os.scandir(folder.path) if _can_travel(entry.name)]
        except OSError as error:
            log.debug("cannot list %s: %s", folder.path, error.strerror)
            return []
        if not entries and folder.rel:
            self._empty.add(folder.rel)
        for entry in entries:
            rel = f"{folder.rel}/{entry.name}" if folder.rel else entry.name
            is_link = entry.is_symlink()
            if is_link:
                self._add_link(entry.path, rel, root)
            if _is_dir(entry):
                below += self._add_directory(entry.path, rel, is_link, folder)
            elif is_link or entry.is_file():
                self._add_file(entry.path, rel, is_link)
        return below

    def _add_link(self, path: str, rel: str, root: str) -> None:
        if not self._show_links or self._ignored(rel):
            return
        try:
            target = os.readlink(path)
        except OSError:
            return
        leads_to = os.path.normpath(os.path.join(os.path.dirname(path), target))
        if not self._follow or _is_below(leads_to, os.path.normpath(root)):
            self._links.setdefault(rel, target)

    def _add_directory(self, path: str, rel: str, is_link: bool, parent: _Folder) -> list[_Folder]:
        if not self._ignored(rel) and (self._show_links or not is_link):
            self._dirs.add(rel)
        if is_link and not self._follow:
            return []
        folder = self._open_folder(path, rel, parent)
        return [folder] if folder is not None else []

    def _add_file(self, path: str, rel: str, is_link: bool) -> None:
        if is_link and not os.path.exists(path):
            self.stamps[path] = None
        if not self._ignored(rel) and (self._show_links or not is_link):
            self._files.add(rel)


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _can_travel(name: str) -> bool:
    """Whether a name can travel; names that are no UTF-8 cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
