"""Directories that are to be emptied of what is old, large or empty."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.openat import reach
from saltlite.providers.file import paths
from saltlite.states.file._checks import failure, system_errors

INTERNAL = ("remove_paths",)
"""For other states of files; nobody calls it by name."""


def pruned(
    ctx: MinionContext,
    name: str,
    recurse: bool = False,
    ignore_errors: bool = False,
    older_than: object = None,
) -> Declared:
    """No directory at a path, unless there is something in it."""
    days = None if older_than is None else _parse_number(older_than, "older_than")
    name = os.path.expanduser(name)
    return Pruned(name=name, recurse=recurse, leave=ignore_errors, older_than=days)


def _parse_number(value: Any, argument: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise FunctionError(f"{argument}: {value!r} is no number") from None


def tidied(
    ctx: MinionContext,
    name: str,
    age: object = 0,
    matches: object = None,
    rmdirs: bool = False,
    size: object = 0,
    exclude: object = None,
    full_path_match: bool = False,
    followlinks: bool = False,
    time_comparison: str = "atime",
    age_size_logical_operator: str = "OR",
    age_size_only: object = None,
    rmlinks: bool = True,
    **kwargs: Any,
) -> Declared:
    """A directory without what is too old (in days) or too large."""
    name = os.path.expanduser(name)
    if not os.path.isabs(name):
        return failure(f"Specified file {name} is not an absolute path")
    only = str(age_size_only or "").lower()
    limits = Limits(
        age=_parse_number(age, "age"), size=_in_bytes(size),
        only=only if only in ("age", "size") else "",
        both=str(age_size_logical_operator).upper() == "AND", clock=str(time_comparison).lower(),
    )  # fmt: skip
    return Tidied(
        name=name, limits=limits, matches=_compile_patterns(matches or ".*", "matches"),
        exclude=_compile_patterns(exclude or [], "exclude"), whole_path=full_path_match,
        folders=rmdirs, links=rmlinks, follow=followlinks,
    )  # fmt: skip


SECONDS_A_DAY = 86400
_NUMBERS = {os.strerror(number): int(number) for number in (errno.ENOTEMPTY, errno.ENOTDIR)}
_UNITS = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


@dataclass(frozen=True, slots=True)
class Prunable:
    """The directories that can go, deepest first, and those that cannot with the reason."""

    is_there: bool
    empty: Sequence[str] = ()
    full: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned(Resource[Prunable]):
    """No directory at a path, unless there is something in it.

    With ``recurse`` the empty ones below go as well. With ``leave`` they do, too, and those that
    are not empty are no failure. ``older_than`` is in days.
    """

    name: str
    recurse: bool = False
    leave: bool = False
    older_than: float | None = None

    def read(self, ctx: MinionContext) -> Prunable:
        if not os.path.isdir(self.name):
            return Prunable(is_there=False)
        since = None if self.older_than is None else time.time() - self.older_than * SECONDS_A_DAY
        gone: dict[str, None] = {}
        full: list[tuple[str, str]] = []
        for folder in self._walk_folders():
            if since is not None and os.lstat(folder).st_mtime >= since:
                continue
            if os.path.islink(folder):
                full.append((folder, "Not a directory"))
            elif any(os.path.join(folder, name) not in gone for name in os.listdir(folder)):
                full.append((folder, "Directory not empty"))
            else:
                gone[folder] = None
        return Prunable(True, list(gone), full)

    def _walk_folders(self) -> Iterator[str]:
        if not self.recurse and not self.leave:
            yield self.name
            return
        for folder, names, _ in os.walk(self.name, topdown=False):
            yield from (
                path for path in (os.path.join(folder, name) for name in names)
                if os.path.islink(path)
            )  # fmt: skip
            yield folder

    def plan(self, now: Prunable) -> Sequence[Step] | Verdict:
        fails = bool(now.full) and not self.leave
        if fails and not now.empty:
            changes = {"deleted": [], "errors": self._list_errors(now)}
            return Verdict(result=False, comment=self._say_failures(now), changes=changes)
        if not now.empty:
            return ()
        steps = [
            Step(
                would=f"Directory {self.name} is set for removal",
                changes={"deleted": self._show_removed(now.empty)},
                run=lambda ctx: self._remove_folders(now.empty),
            )
        ]
        if fails:
            steps.append(Step(would="", run=lambda ctx: self._raise_failures(now)))
        return steps

    def _remove_folders(self, folders: Sequence[str]) -> None:
        with system_errors():
            for folder in folders:
                with reach(folder) as spot:
                    os.rmdir(spot.name, dir_fd=spot.fd)

    def _raise_failures(self, now: Prunable) -> None:
        raise FunctionError(self._say_failures(now))

    def _say_failures(self, now: Prunable) -> str:
        reasons = "".join(f"\n{folder}: {reason}" for folder, reason in now.full)
        return f"Failed to remove directory {self.name}{reasons}"

    def _list_errors(self, now: Prunable) -> list[list[str]]:
        """What cannot go, with the system's words, as Salt tells it."""
        return [
            [folder, f"[Errno {_NUMBERS[reason]}] {reason}: {folder!r}"]
            for folder, reason in now.full
        ]

    def would(self, now: Prunable, steps: Sequence[Step]) -> str:
        return steps[0].would

    def unmet(self, after: Prunable, left: Sequence[Step]) -> str:
        return self._say_failures(after)

    def comment_unchanged(self, now: Prunable) -> str:
        return "" if now.is_there else f"Directory {self.name} is not present"

    def comment_changed(self, before: Prunable, after: Prunable, steps: Sequence[Step]) -> str:
        if self.recurse or self.leave:
            return f"Recursively removed empty directories under {self.name}"
        return f"Removed directory {self.name}"

    def changes(self, before: Prunable, after: Prunable, steps: Sequence[Step]) -> dict[str, Any]:
        gone = [path for path in before.empty if not os.path.lexists(path)]
        found: dict[str, Any] = {"deleted": self._show_removed(gone)}
        if after.full and not self.leave:
            found["errors"] = self._list_errors(after)
        return found

    def _show_removed(self, gone: Sequence[str]) -> Any:
        """What is said to be removed: a list where what is below goes along."""
        return sorted(gone) if self.recurse or self.leave else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is old or large enough to go: ``age`` in days, ``size`` in bytes.

    ``only`` is ``age``, ``size`` or ``""`` for both; then ``both`` says whether one is not enough.
    ``clock`` is the attribute of a status that has the time.
    """

    age: float
    size: int
    only: str
    both: bool
    clock: str

    def exceeds(self, found: os.stat_result, now: float) -> bool:
        """Whether something with this status may go."""
        old = now - float(_time_of(found, self.clock)) >= self.age * SECONDS_A_DAY
        # what is no file has no size of its own
        large = (found.st_size if stat.S_ISREG(found.st_mode) else 0) >= self.size
        if self.only == "age":
            return old
        if self.only == "size":
            return large
        return old and large if self.both else old or large


def _time_of(found: os.stat_result, clock: str) -> float:
    """One of the three times of a status; the last access where the name is none of them."""
    return {"mtime": found.st_mtime, "ctime": found.st_ctime}.get(clock, found.st_atime)


def _in_bytes(size: object) -> int:
    """A size with the unit b, k, m, g or t (or none) in bytes; raises FunctionError."""
    found = re.fullmatch(r"([\d.]+)\s*([bkmgt]?)b?", str(size).strip().lower())
    try:
        return int(float(found[1]) * _UNITS[found[2] or "b"]) if found else _no_size(size)
    except ValueError:
        return _no_size(size)


def _no_size(size: object) -> int:
    raise FunctionError(f"size: {size} is no number of bytes, with b, k, m, g or t as its unit")


def _compile_patterns(given: object, argument: str) -> list[re.Pattern[str]]:
    """Regular expressions; raises FunctionError that names the argument and what is wrong."""
    try:
        return [re.compile(str(one)) for one in _as_list(given)]
    except re.error as error:
        raise FunctionError(f"{argument}: {error.pattern!r} is no expression: {error}") from error


def _as_list(given: object) -> Sequence[Any]:
    return given if isinstance(given, (list, tuple)) else [given]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied(Resource[Sequence[str]]):
    """A directory without what is too old or too large; read gives what has to go.

    A directory goes with all that is in it, whatever that is.
    """

    name: str
    limits: Limits
    matches: Sequence[re.Pattern[str]]
    exclude: Sequence[re.Pattern[str]]
    whole_path: bool = False
    folders: bool = False
    links: bool = True
    follow: bool = False

    def read(self, ctx: MinionContext) -> Sequence[str]:
        now = time.time()
        return [path for path in self._walk_paths() if self._shall_go(path, now)]

    def _walk_paths(self) -> Iterator[str]:
        walk = os.walk(self.name, topdown=False, followlinks=self.follow)
        for folder, names, plain in walk:
            yield from (os.path.join(folder, name) for name in [*plain, *names])

    def _shall_go(self, path: str, now: float) -> bool:
        text = path if self.whole_path else os.path.basename(path)
        if not any(one.match(text) for one in self.matches):
            return False
        if any(one.match(text) for one in self.exclude):
            return False
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return False
        if stat.S_ISLNK(found.st_mode) and not self.links:
            return False
        if stat.S_ISDIR(found.st_mode) and not self.folders:
            return False
        return self.limits.exceeds(found, now)

    def plan(self, now: Sequence[str]) -> Sequence[Step] | Verdict:
        if not os.path.isdir(self.name):
            return failure(f"{self.name} does not exist or is not a directory.")
        if not now:
            return ()
        step = Step(
            would=f"{self.name} is set for tidy",
            did=f"Removed {len(now)} files or directories from directory {self.name}",
            changes={"removed": list(now)},
            run=lambda ctx: remove_paths(now),
        )
        return (step,)

    def comment_unchanged(self, now: Sequence[str]) -> str:
        return f"Nothing to remove from directory {self.name}"


def remove_paths(gone: Sequence[str]) -> None:
    """Remove what is at the paths; what went with a directory is not missed."""
    for path in gone:
        paths.remove(path)
