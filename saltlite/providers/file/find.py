"""``file.find``: walk below a directory, ask about every file, act on those that fit.

What a user writes becomes a question about one file. Salt's patterns are its own: ``name`` is a
glob where ``?`` may also stand for nothing and ``[!a]`` is a set with an exclamation mark;
``regex`` is matched from the begin of the name.
Source: observed on Salt 3006.30; tests/unit/providers/file/test_find.py.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits
from saltlite.errors import CommandError, FunctionError
from saltlite.host import Host
from saltlite.providers.file import hashes
from saltlite.providers.file.paths import remove_tree
from saltlite.providers.file.permissions import group_id, group_name, user_id, user_name

TYPES = {
    "b": stat.S_IFBLK,
    "c": stat.S_IFCHR,
    "d": stat.S_IFDIR,
    "f": stat.S_IFREG,
    "l": stat.S_IFLNK,
    "p": stat.S_IFIFO,
    "s": stat.S_IFSOCK,
}
LETTERS = {kind: letter for letter, kind in TYPES.items()}

_SIZE = regex(r"([+-]?)\s*(\d+(?:\.\d*)?)\s*([bkmgt]?)", re.IGNORECASE)
_UNITS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_INTERVAL = regex(
    r"\s*([+-]?)\s*(?=\d)(?:(\d+(?:\.\d*)?)\s*w)?\s*(?:(\d+(?:\.\d*)?)\s*d)?"
    r"\s*(?:(\d+(?:\.\d*)?)\s*h)?\s*(?:(\d+(?:\.\d*)?)\s*m)?\s*(?:(\d+(?:\.\d*)?)\s*s)?\s*",
    re.IGNORECASE,
)
_SECONDS = (604800, 86400, 3600, 60, 1)


class CriterionError(FunctionError):
    """A criterion is not well formed; the text is Salt's."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that was come upon. ``status`` is that of a link's target, if it has one."""

    path: str
    name: str
    mode: int
    uid: int
    gid: int
    size: int
    mtime: float


Question = Callable[[FoundFile], bool]


def _by_pattern(pattern: str, shown: str, flags: int = 0) -> Question:
    """Whether the name begins as an expression says; ``shown`` is what the user wrote."""
    compiled = _compile_regex(pattern, flags, shown)
    return lambda entry: compiled.match(entry.name) is not None


def _glob_regex(value: str) -> str:
    return f"^{value.replace('.', chr(92) + '.').replace('?', '.?').replace('*', '.*')}$"


def _compile_regex(pattern: str, flags: int, shown: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except re.error:
        raise CriterionError(f'invalid regular expression: "{shown}"') from None


def containing(value: str) -> re.Pattern[bytes]:
    """The pattern that is searched in the content of files."""
    try:
        return re.compile(value.encode())
    except re.error:
        raise CriterionError(f'invalid regular expression: "{value}"') from None


def kinds(value: str) -> set[int]:
    """The kinds of files that letters stand for."""
    letters = value.strip().replace(",", "").replace(" ", "")
    for letter in letters:
        if letter not in TYPES:
            raise CriterionError(f'invalid file type "{letter}"')
    return {TYPES[letter] for letter in letters}


def by_type(value: str) -> Question:
    """Whether a file is of one of some kinds."""
    wanted = kinds(value)
    return lambda entry: stat.S_IFMT(entry.mode) in wanted


def by_size(value: str) -> Question:
    """Whether a file is as large as ``[+-]number[unit]``: at least, at most, or of that unit."""
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise CriterionError(f'invalid size: "{value}"')
    unit = 1024 ** _UNITS[match[3].lower() or "b"]
    size = int(float(match[2]) * unit)
    least = 0 if match[1] == "-" else size
    most = {"+": None, "-": size}.get(match[1], size + unit - 1)
    return lambda entry: entry.size >= least and (most is None or entry.size <= most)


def interval_s(value: str) -> tuple[str, float]:
    """Sign and seconds of ``[+-][num]w[num]d[num]h[num]m[num]s``."""
    match = _INTERVAL.fullmatch(str(value))
    if match is None:
        raise CriterionError(f"invalid time interval: '{value}'")
    numbers = match.groups()[1:]
    seconds = sum(
        float(number) * unit for number, unit in zip(numbers, _SECONDS, strict=True) if number
    )
    return match[1], seconds


def by_age(value: str, now_s: float) -> Question:
    """Whether a file was changed longer ago than an interval, or since then with a minus."""
    sign, seconds = interval_s(value)
    moment = now_s - seconds
    if sign == "-":
        return lambda entry: entry.mtime >= moment
    return lambda entry: entry.mtime <= moment


def by_owner(value: object, kind: str, id_of: Callable[[str], Any]) -> Question:
    """Whether a file belongs to one of some users or groups (``kind``), by names or ids."""
    wanted = set()
    for name in str(value).replace(",", " ").split():
        number = int(name) if is_digits(name) else id_of(name)
        if number == "":
            raise CriterionError(f'no such {kind} "{name}"')
        wanted.add(number)
    if kind == "user":
        return lambda entry: entry.uid in wanted
    return lambda entry: entry.gid in wanted


SIMPLE: Mapping[str, Callable[[str], Question]] = {
    "name": lambda value: _by_pattern(_glob_regex(value), value),
    "iname": lambda value: _by_pattern(_glob_regex(value), value, re.IGNORECASE),
    "regex": lambda value: _by_pattern(value, value),
    "iregex": lambda value: _by_pattern(value, value, re.IGNORECASE),
    "type": by_type,
    "size": by_size,
}
"""The options that need nothing but their value."""


Action = Callable[[FoundFile], Any]

_CONDITIONS = ("name", "iname", "regex", "iregex", "type", "owner", "group", "size", "mtime")
_CHEAP_FIRST = (*_CONDITIONS, "grep")
_ACTIONS = ("delete", "exec", "print")
_DEPTHS = ("maxdepth", "mindepth")
ALL_KINDS = "".join(TYPES)


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
        simple = SIMPLE.get(name)
        if simple is not None:
            return simple(value)
        if name == "mtime":
            return by_age(value, time.time())
        if name == "owner":
            return by_owner(value, "user", user_id)
        if name == "group":
            return by_owner(value, "group", group_id)
        pattern = containing(value)
        return lambda entry: _matches_content(entry, pattern)

    def _build_action(self, name: str, value: Any) -> Action:
        if name == "print":
            return _build_print(value)
        if name == "exec":
            return lambda entry: _run_command(self._host, str(value), entry)
        chosen = kinds(value.lower().replace("a", ALL_KINDS))
        return lambda entry: _delete_entry(entry, chosen)

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
    "type": lambda entry: LETTERS.get(stat.S_IFMT(entry.mode), "?"),
    "mode": lambda entry: stat.S_IMODE(entry.mode),
    "mtime": lambda entry: int(entry.mtime),
    "user": lambda entry: user_name(entry.uid),
    "group": lambda entry: group_name(entry.gid),
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
