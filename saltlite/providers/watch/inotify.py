"""Changes of files and directories, as the kernel tells them: inotify through the C library.

:class:`Inotify` is the descriptor with its watches, :class:`WatchedPath` a path as it is
configured: with what is below it, if wanted, also what appears there later, and itself when it
comes back. Source: inotify(7).
"""

from __future__ import annotations

import ctypes
import errno
import functools
import logging
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from saltlite.core.dataclasses import dataclass, field

log = logging.getLogger(__name__)


class Mask(IntEnum):
    """What a mask is made of. Source: inotify(7)."""

    ACCESS = 0x1
    MODIFY = 0x2
    ATTRIB = 0x4
    CLOSE_WRITE = 0x8
    CLOSE_NOWRITE = 0x10
    OPEN = 0x20
    MOVED_FROM = 0x40
    MOVED_TO = 0x80
    CREATE = 0x100
    DELETE = 0x200
    DELETE_SELF = 0x400
    MOVE_SELF = 0x800
    UNMOUNT = 0x2000
    Q_OVERFLOW = 0x4000
    IGNORED = 0x8000
    ONLYDIR = 0x1000000
    DONT_FOLLOW = 0x2000000
    EXCL_UNLINK = 0x4000000
    MASK_CREATE = 0x10000000
    MASK_ADD = 0x20000000
    ISDIR = 0x40000000
    ONESHOT = 0x80000000


WORDS: Final[Mapping[str, int]] = {one.name.lower(): int(one) for one in Mask}
"""The same in the words of configurations."""

DEFAULT: Final = ("create", "delete", "modify")
ISDIR: Final = Mask.ISDIR
OVERFLOW: Final = Mask.Q_OVERFLOW
IGNORED: Final = Mask.IGNORED

_STRUCTURAL: Final = Mask.CREATE | Mask.MOVED_TO | Mask.DELETE_SELF | Mask.MOVE_SELF
"""What we want to know ourselves to keep watches complete, whoever asked for it."""

_NOT_ASKED: Final = Mask.UNMOUNT | OVERFLOW | IGNORED | ISDIR
"""What the kernel tells without being asked; it refuses to be asked for it."""

_HEAD: Final = struct.Struct("iIII")
READ_BYTES: Final = 1 << 20
EVENTS_LIMIT: Final = 10_000
"""So many events are read at one look; the rest at the next."""

WATCHES_LIMIT: Final = 200_000


def mask_of(words: Iterable[str]) -> int:
    """The mask of words; raises ValueError for an unknown one."""
    mask = 0
    for word in words:
        if str(word).lower() not in WORDS:
            raise ValueError(f"{word!r:.40} is none of {', '.join(WORDS)}")
        mask |= WORDS[str(word).lower()]
    return mask


def name_of(mask: int) -> str:
    """``IN_CREATE|IN_ISDIR``."""
    return "|".join(f"IN_{word.upper()}" for word, bit in WORDS.items() if mask & bit)


@dataclass(frozen=True, slots=True)
class Told:
    """One event of the kernel: of which watch, what, and the name in its directory.

    Both halves of a move have one ``cookie``.
    """

    watch: int
    mask: int
    name: str
    cookie: int = 0


def parse(data: bytes) -> Iterator[Told]:
    """The events in what was read from the descriptor. Pure."""
    at = 0
    while at + _HEAD.size <= len(data):
        watch, mask, cookie, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield Told(watch, mask, os.fsdecode(data[at : at + length].rstrip(b"\0")), cookie)
        at += length


@functools.cache
def _load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


class Inotify:
    """An inotify descriptor. Watches are numbers of the kernel's."""

    def __init__(self) -> None:
        """Raises OSError: there are too many of them already."""
        self._fd = _load_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise _last_error("an inotify descriptor")

    def watch(self, path: str, mask: int) -> int:
        """Watch a path; raises OSError."""
        number = _load_libc().inotify_add_watch(
            self._fd, os.fsencode(path), ctypes.c_uint32(mask & 0xFFFFFFFF)
        )
        if number < 0:
            raise _last_error(path)
        return int(number)

    def ignore(self, watch: int) -> None:
        """Watch it no more; one that is not there is not watched either."""
        _load_libc().inotify_rm_watch(self._fd, watch)

    def read(self) -> list[Told]:
        """What has happened since the last look, at most about ``EVENTS_LIMIT`` events."""
        found: list[Told] = []
        while len(found) < EVENTS_LIMIT:
            try:
                data = os.read(self._fd, READ_BYTES)
            except BlockingIOError:
                break
            found += parse(data)
        return found

    def close(self) -> None:
        """Let go of the descriptor and all its watches."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _last_error(what: str) -> OSError:
    number = ctypes.get_errno()
    if number == errno.ENOSPC:
        text = "the kernel allows no more watches (fs.inotify.max_user_watches)"
        return OSError(number, text, what)
    return OSError(number, os.strerror(number), what)


def _inode_at(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Change(NamedTuple):
    """A watched path, the one that has changed, and how: the kernel's mask, and cookie of a move.

    An overflow, after which something is unknown, has two empty paths.
    """

    watched: str
    path: str
    mask: int
    cookie: int = 0


@dataclass(frozen=True, slots=True)
class WatchedPath:
    """A path to be watched as it is configured; ``is_left_out`` says which ones below it not."""

    path: str
    mask: int
    recurse: bool = False
    auto_add: bool = False
    is_left_out: Callable[[str], bool] = field(default=lambda _path: False)


@dataclass(slots=True)
class _Watch:
    """What a watch is on, and for which configured paths."""

    path: str
    wanted: list[WatchedPath]
    inode: tuple[int, int] | None


class Watches:
    """All configured paths of one beacon, and the watches that they need now."""

    def __init__(self, wanted: Iterable[WatchedPath]) -> None:
        """Raises OSError: there can be no inotify descriptor."""
        self._wanted = list(wanted)
        self._inotify = Inotify()
        self._watches: dict[int, _Watch] = {}
        self._numbers: dict[str, int] = {}
        self._complaints: set[str] = set()
        self._is_full = False
        for missing in self._find_missing():
            self._add_tree(missing, missing.path)

    def close(self) -> None:
        """Watch nothing any more."""
        self._inotify.close()

    def _find_missing(self) -> list[WatchedPath]:
        """The configured paths that are there, but not watched."""
        return [
            wanted
            for wanted in self._wanted
            if wanted.path not in self._numbers and os.path.lexists(wanted.path)
        ]

    def look_for_missing(self) -> list[Change]:
        """Watch the configured paths that have come, or come back; that is a change, too."""
        found = []
        for wanted in self._find_missing():
            self._add_tree(wanted, wanted.path)
            if wanted.mask & Mask.CREATE and wanted.path in self._numbers:
                is_dir = ISDIR if os.path.isdir(wanted.path) else 0
                found.append(Change(wanted.path, wanted.path, Mask.CREATE | is_dir))
        return found

    def changes(self) -> Iterator[Change]:
        """What has changed since the last look."""
        for told in self._inotify.read():
            if told.mask & OVERFLOW:
                self._watch_anew()
                yield Change("", "", OVERFLOW)
                continue
            watch = self._watches.get(told.watch)
            if watch is None:
                continue
            path = os.path.join(watch.path, told.name) if told.name else watch.path
            for wanted in watch.wanted:
                if told.mask & wanted.mask & ~ISDIR and not wanted.is_left_out(path):
                    yield Change(watch.path, path, told.mask, told.cookie)
            self._follow_change(watch, told, path)

    def _follow_change(self, watch: _Watch, told: Told, path: str) -> None:
        """Keep the watches complete when something comes or goes."""
        if told.mask & IGNORED:
            self._forget_watch(told.watch)
        elif told.mask & Mask.MOVE_SELF:
            self._leave_if_gone(told.watch, watch)
        elif told.mask & ISDIR and told.mask & (Mask.CREATE | Mask.MOVED_TO):
            for wanted in watch.wanted:
                if wanted.auto_add and not wanted.is_left_out(path):
                    self._add_tree(wanted, path)

    def _leave_if_gone(self, number: int, watch: _Watch) -> None:
        """Watch what has moved no more, unless it is at the path where we know it by now.

        A watch goes with its file; MOVED_TO, which comes first, may have told us where to.
        """
        if watch.inode is None or _inode_at(watch.path) != watch.inode:
            self._inotify.ignore(number)
            self._forget_watch(number)

    def _forget_watch(self, number: int) -> None:
        watch = self._watches.pop(number, None)
        if watch is not None and self._numbers.get(watch.path) == number:
            del self._numbers[watch.path]

    def _watch_anew(self) -> None:
        """Events are lost: directories may have come of which we know nothing."""
        for wanted in self._wanted:
            if wanted.auto_add and os.path.isdir(wanted.path):
                self._add_tree(wanted, wanted.path)

    def _add_tree(self, wanted: WatchedPath, path: str) -> None:
        self._add_watch(wanted, path)
        if not wanted.recurse or not os.path.isdir(path):
            return
        for folder, names, _files in os.walk(path, onerror=self._log_error):
            names[:] = [n for n in names if not wanted.is_left_out(os.path.join(folder, n))]
            for name in names:
                self._add_watch(wanted, os.path.join(folder, name))

    def _add_watch(self, wanted: WatchedPath, path: str) -> None:
        if len(self._watches) >= WATCHES_LIMIT:
            self._log_once(
                f"more than {WATCHES_LIMIT} directories are too many: {path} is not watched"
            )
            return
        there = self._watches.get(self._numbers.get(path, -1))
        users = [*there.wanted, wanted] if there is not None else [wanted]
        users = list(dict.fromkeys(users))
        mask = _STRUCTURAL
        for each in users:
            mask |= each.mask
        try:
            number = self._inotify.watch(path, mask & ~_NOT_ASKED)
        except OSError as error:
            self._log_error(error)
            return
        before = self._watches.get(number)
        if before is not None and before.path != path and _inode_at(before.path) != before.inode:
            self._forget_watch(number)  # it has moved from there
        self._watches[number] = _Watch(path, users, _inode_at(path))
        self._numbers[path] = number

    def _log_error(self, error: OSError) -> None:
        if error.errno != errno.ENOENT:
            self._log_once(f"{error.filename} is not watched: {error.strerror}")

    def _log_once(self, line: str) -> None:
        """Log what cannot be watched, once."""
        if line not in self._complaints and len(self._complaints) < 1000:
            self._complaints.add(line)
            log.error("%s", line)
