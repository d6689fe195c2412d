"""Walk below a directory, ask about every file, act on those that fit; ``file.find``."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from saltlite.errors import CommandError
from saltlite.host import Host
from saltlite.providers.file import criteria, hashes, owners
from saltlite.providers.file.criteria import CriterionError, FoundFile, Question
from saltlite.providers.file.place import remove_tree

Action = Callable[[FoundFile], Any]

_CONDITIONS = ("name", "iname", "regex", "iregex", "type", "owner", "group", "size", "mtime")
_CHEAP_FIRST = (*_CONDITIONS, "grep")
_ACTIONS = ("delete", "exec", "print")
_DEPTHS = ("maxdepth", "mindepth")
ALL_KINDS = "".join(criteria.TYPES)


class Finder:
    """A search as the options of ``file.find`` describe it.

    Raises:
        CriterionError: an option is unknown or has no such value; the text is Salt's.
    """

    def __init__(self, options: Mapping[str, Any], host: Host) -> None:
        self._host = host
        for name, value in options.items():
            if name not in (*_CHEAP_FIRST, *_ACTIONS, *_DEPTHS):
                raise CriterionError(f'invalid option "{name}"')
            if name not in _DEPTHS and (value is None or len(str(value)) == 0 or value == 0):
                raise CriterionError(f'missing value for "{name}" option')
        self._maxdepth = options.get("maxdepth")
        self._mindepth = options.get("mindepth") or 0
        self._questions = [
            self._build_question(name, options[name]) for name in _CHEAP_FIRST if name in options
        ]
        actions = {name: options[name] for name in options if name in _ACTIONS}
        self._actions = [
            self._build_action(name, value)
            for name, value in (actions or {"print": "path"}).items()
        ]

    def _build_question(self, name: str, value: Any) -> Question:
        simple = criteria.SIMPLE.get(name)
        if simple is not None:
            return simple(value)
        if name == "mtime":
            return criteria.by_age(value, time.time())
        if name == "owner":
            return criteria.by_owner(value, "user", owners.user_id)
        if name == "group":
            return criteria.by_owner(value, "group", owners.group_id)
        pattern = criteria.containing(value)
        return lambda entry: _matches_content(entry, pattern)

    def _build_action(self, name: str, value: Any) -> Action:
        if name == "print":
            return _build_print(value)
        if name == "exec":
            return lambda entry: _run_command(self._host, str(value), entry)
        kinds = criteria.kinds(value.lower().replace("a", ALL_KINDS))
        return lambda entry: _delete_entry(entry, kinds)

    def find(self, path: str) -> Iterator[Any]:
        """What the actions say about the files at and below ``path`` that fit.

        Directories that links point to are looked at, not into.
        """
        for found in self._walk_paths(path):
            entry = _stat_entry(found)
            if entry is not None and all(asked(entry) for asked in self._questions):
                yield from (said for act in self._actions if (said := act(entry)) is not None)

    def _walk_paths(self, path: str) -> Iterator[str]:
        """The paths that are deep enough and not too deep."""
        if not os.path.lexists(path):
            return
        if self._mindepth < 1:
            yield path
        for folder, folders, files in os.walk(path):
            depth = _depth_of(path, folder) + 1
            if self._maxdepth is not None and depth >= self._maxdepth:
                names = [*folders, *files] if depth == self._maxdepth else []
                folders.clear()
            else:
                names = [*folders, *files]
            if depth >= self._mindepth:
                yield from (os.path.join(folder, name) for name in names)


def _depth_of(root: str, folder: str) -> int:
    below = os.path.relpath(folder, root)
    return 0 if below == "." else below.count(os.sep) + 1


def _stat_entry(path: str) -> FoundFile | None:
    """A file that is there; a link counts as its target, if it has one."""
    try:
        status = os.stat(path)
    except OSError:
        try:
            status = os.lstat(path)
        except OSError:
            return None
    return FoundFile(
        path=path,
        name=os.path.basename(path),
        mode=status.st_mode,
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size,
        mtime=status.st_mtime,
    )


def _matches_content(entry: FoundFile, pattern: re.Pattern[bytes]) -> bool:
    """Whether the content of a regular file is matched; it is mapped, not read."""
    import mmap

    if not stat.S_ISREG(entry.mode):
        return False
    try:
        with open(entry.path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return pattern.search(b"") is not None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return pattern.search(content) is not None
    except OSError:
        return False


def _build_print(value: str) -> Action:
    wanted = [name for name in value.replace(",", " ").split() if name]
    shown = [_SHOWN[name] for name in wanted if name in _SHOWN]
    if len(wanted) == 1 and shown:
        return shown[0]
    return lambda entry: [show(entry) for show in shown]


_SHOWN: Mapping[str, Action] = {
    "path": lambda entry: entry.path,
    "name": lambda entry: entry.name,
    "size": lambda entry: entry.size,
    "type": lambda entry: criteria.LETTERS.get(stat.S_IFMT(entry.mode), "?"),
    "mode": lambda entry: stat.S_IMODE(entry.mode),
    "mtime": lambda entry: int(entry.mtime),
    "user": lambda entry: owners.user_name(entry.uid),
    "group": lambda entry: owners.group_name(entry.gid),
    "md5": lambda entry: hashes.file_hash(entry.path, "md5") if stat.S_ISREG(entry.mode) else "",
}


def _delete_entry(entry: FoundFile, kinds: set[int]) -> str | None:
    """The path of what was deleted, ``None`` if it is of another kind or stays."""
    if stat.S_IFMT(entry.mode) not in kinds:
        return None
    with contextlib.suppress(OSError):
        remove_tree(entry.path)
        return entry.path
    return None


def _run_command(host: Host, command: str, entry: FoundFile) -> str:
    """What a command says about a file; no shell reads it."""
    argv = [part.replace("{}", entry.path) for part in shlex.split(command)]
    try:
        done = host.run(argv)
    except (CommandError, IndexError):
        return f"{entry.path}: Failed"
    return f"{command.replace('{}', entry.path)}:\n{done.stdout}\n"
