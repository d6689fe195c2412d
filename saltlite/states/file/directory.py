"""A directory, and whose and how open everything in it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError, UntrustedPath
from saltlite.highstate.chunk import LOWSTATE, Chunk
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.providers.file import paths, permissions
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states.file._checks import (
    explain_bad_name,
    failure,
    owner_of,
    require_owners,
    system_errors,
)
from saltlite.states.file._patterns import matches

INTERNAL = ("list_required",)
"""For other states of files; nobody calls it by name."""


def directory(
    ctx: MinionContext,
    name: str,
    user: object = None,
    group: object = None,
    recurse: object = None,
    max_depth: object = None,
    dir_mode: object = None,
    file_mode: object = None,
    makedirs: bool = False,
    clean: bool = False,
    require: object = None,
    exclude_pat: object = None,
    follow_symlinks: bool = False,
    force: bool = False,
    backupname: object = None,
    allow_symlink: bool = True,
    children_only: bool = False,
    mode: object = None,
    **kwargs: Any,
) -> Declared:
    """A directory, and whose and how open everything in it is."""
    wrong = explain_bad_name(name, "directory")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    if name != "/":
        name = name.rstrip("/")
    if clean and max_depth is not None:
        return failure("Cannot specify both max_depth and clean")
    wanted_mode = mode if dir_mode is None else dir_mode
    own = DesiredPermissions(
        user=owner_of(user, kwargs), group=group, mode=wanted_mode, attrs=kwargs.get("attrs")
    )
    return Directory(
        name=name, own=own, file_mode=wanted_mode if file_mode is None else file_mode,
        recursion=_read_recursion(recurse, own, max_depth), clean=clean,
        keep=list_required(ctx, require, name) if clean else frozenset(), exclude=exclude_pat,
        makedirs=makedirs, force=force, backupname=str(backupname or ""), follow=follow_symlinks,
        allow_symlink=allow_symlink, children_only=children_only,
    )  # fmt: skip


def list_required(ctx: MinionContext, require: object, name: str) -> frozenset[str]:
    """The paths below a directory that required states are about, and those they are in."""
    low = ctx.state.get(LOWSTATE, ())
    pairs = [
        pair for one in (require if isinstance(require, list) else []) if isinstance(one, dict)
        for pair in one.items()
    ]  # fmt: skip
    return _list_kept(name, low, pairs)


RECURSE = ("user", "group", "mode", "ignore_files", "ignore_dirs", "silent")
CLEANED = "Removed due to clean"


@dataclass(frozen=True, slots=True)
class DirectoryStatus:
    """What is at the path of a directory.

    ``kind`` is directory, file, link or empty; ``changes`` by path what is not as declared, and
    ``spare`` what is to be cleaned away.
    """

    kind: str = ""
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    spare: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    backup: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recursion:
    """What is set below the directory: ``parts`` are user, group and mode."""

    parts: frozenset[str]
    depth: int | None = None
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory(Resource[DirectoryStatus]):
    """A directory as declared; ``keep`` are the paths that cleaning leaves alone."""

    name: str
    own: DesiredPermissions
    file_mode: Any = None
    recursion: Recursion | None = None
    clean: bool = False
    keep: frozenset[str] = frozenset()
    exclude: Any = None
    makedirs: bool = False
    force: bool = False
    backupname: str = ""
    follow: bool = False
    allow_symlink: bool = True
    children_only: bool = False

    def read(self, ctx: MinionContext) -> DirectoryStatus:
        backup = _kind_of(self.backupname) if self.backupname else ""
        if os.path.islink(self.name) and not self._link_will_do():
            return DirectoryStatus("link" if os.path.exists(self.name) else "", {}, {}, backup)
        if not os.path.isdir(self.name):
            return DirectoryStatus("file" if os.path.lexists(self.name) else "", {}, {}, backup)
        changes = {path: found for path, found in self._find_differences(ctx) if found}
        spare = {path: {"removed": CLEANED} for path in self._find_spare()} if self.clean else {}
        return DirectoryStatus("directory", changes, spare)

    def plan(self, now: DirectoryStatus) -> Sequence[Step] | Verdict:
        if now.kind in ("file", "link"):
            return self._in_the_way(now)
        if not now.kind:
            return (self._plan_creation({}),)
        changes = {**now.changes, **now.spare}
        if not changes:
            return ()
        return (
            Step(
                would=_list_changes(changes),
                changes=changes,
                run=lambda ctx: self._set_permissions(ctx, now),
            ),
        )

    def comment_unchanged(self, now: DirectoryStatus) -> str:
        return f"The directory {self.name} is in the correct state"

    def comment_changed(
        self, before: DirectoryStatus, after: DirectoryStatus, steps: Sequence[Step]
    ) -> str:
        if before.kind != "directory":
            return ""
        if before.spare:
            return f"Files cleaned from directory {self.name}"
        return f"Directory {self.name}{'/*' if self.children_only else ''} updated"

    def changes(
        self, before: DirectoryStatus, after: DirectoryStatus, steps: Sequence[Step]
    ) -> dict[str, Any]:
        if before.kind != "directory":
            forced = {}
            if before.kind and not self.backupname:
                kind = {"file": "File", "link": "Symlink"}[before.kind]
                forced = {"forced": f"{kind} was forcibly replaced"}
            return {**forced, self.name: {"directory": "new"}}
        found: dict[str, Any] = {**before.changes, **before.spare}
        if self.recursion and self.recursion.silent:
            found = {"recursion": "Changes silenced"}
        # As in Salt, what was set of each is told once more, as if it were of the directory.
        for path in sorted(before.changes, key=lambda path: path != self.name):
            if path not in after.changes:
                found.update(before.changes[path])
        gone = [path for path in _without_contents(before.spare) if path not in after.spare]
        return {**found, "removed": gone} if gone else found

    def _in_the_way(self, now: DirectoryStatus) -> Sequence[Step] | Verdict:
        if self.backupname:
            if now.backup and not self.force:
                return failure(f"File exists where the backup target {self.backupname} should go")
            renamed = f"{self.name} would be renamed to {self.backupname}"
            would = f"{self.name} would be backed up and replaced with a new directory"
            changes = {"backup": renamed}
            if now.backup:
                gone = f"Existing {now.backup} at backup path {self.backupname} would be removed"
                changes["forced"] = gone
            return (self._plan_creation(changes, would),)
        if self.force:
            kind = {"file": "File", "link": "Symlink"}[now.kind]
            return (self._plan_creation({"forced": f"{kind} would be forcibly replaced"}),)
        kind = {"file": "file", "link": "symlink"}[now.kind]
        return failure(f"Specified location {self.name} exists and is a {kind}")

    def _plan_creation(self, more: Mapping[str, object], would: str = "") -> Step:
        new = {self.name: {"directory": "new"}}
        return Step(
            would=would or _list_changes(new), changes={**more, **new}, run=self._make_directory
        )

    def _link_will_do(self) -> bool:
        if self.follow:
            return os.path.isdir(self.name)
        return self.allow_symlink and not self.force and os.path.isdir(self.name)

    def _find_differences(self, ctx: MinionContext) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.recursion:
            for path, is_dir in self._walk_below(self.recursion.depth):
                yield (
                    path,
                    self._find_difference(ctx, path, self._wanted_below(self.recursion, is_dir)),
                )
        if not self.children_only:
            yield self.name, self._find_difference(ctx, self.name, self.own)

    def _find_difference(
        self, ctx: MinionContext, path: str, wanted: DesiredPermissions
    ) -> dict[str, Any]:
        try:
            return permissions.find_differences(path, wanted, ctx.host, follow=self.follow)
        except UntrustedPath:
            raise
        except FunctionError:  # it has gone meanwhile
            return {}

    def _wanted_below(self, recursion: Recursion, is_dir: bool) -> DesiredPermissions:
        parts = recursion.parts
        if ("ignore_dirs" if is_dir else "ignore_files") in parts:
            return DesiredPermissions()
        mode = self.own.mode if is_dir else self.file_mode
        return DesiredPermissions(
            user=self.own.user if "user" in parts else None,
            group=self.own.group if "group" in parts else None,
            mode=mode if "mode" in parts else None,
        )

    def _walk_below(self, depth: int | None) -> Iterator[tuple[str, bool]]:
        """Paths below and whether they are directories, from the top."""
        for folder, names, plain in os.walk(self.name, followlinks=self.follow):
            level = len(os.path.relpath(folder, self.name).split(os.sep)) - (folder == self.name)
            if depth is not None and level >= depth:
                names.clear()
                continue
            links = [name for name in names if os.path.islink(os.path.join(folder, name))]
            for name in [*plain, *links]:
                yield os.path.join(folder, name), False
            for name in names:
                if name not in links:
                    yield os.path.join(folder, name), True

    def _find_spare(self) -> Iterator[str]:
        """What cleaning removes, directories before what is in them."""
        for folder, names, plain in os.walk(self.name):
            for name in [*plain, *names]:
                path = os.path.join(folder, name)
                if not self._is_kept(path):
                    yield path

    def _is_kept(self, path: str) -> bool:
        if path in self.keep:
            return True
        return bool(self.exclude) and matches(os.path.relpath(path, self.name), self.exclude)

    def _make_directory(self, ctx: MinionContext) -> None:
        require_owners(self.own.user, self.own.group)
        folder = os.path.dirname(self.name)
        if not os.path.isdir(folder) and not self.makedirs:
            raise FunctionError(f"No directory to create {self.name} in")
        if self.own.mode is not None:
            permissions.mode_number(self.own.mode)  # complains before anything goes
        with system_errors():
            if os.path.lexists(self.name) and (self.force or self.backupname):
                self._clear_path()
            paths.make_folder(self.name, self.own)
        if self.own.attrs is not None:
            permissions.check(self.name, None, self.own, ctx.host, follow=True, test=False)

    def _clear_path(self) -> None:
        if not self.backupname:
            paths.remove_tree(self.name)
            return
        if os.path.lexists(self.backupname):
            paths.remove(self.backupname)
        paths.rename(self.name, self.backupname)

    def _set_permissions(self, ctx: MinionContext, now: DirectoryStatus) -> None:
        require_owners(self.own.user, self.own.group)
        kinds = dict(self._walk_below(None))
        # what is in a directory goes first: others can put nothing into it until it is theirs
        for path in sorted(now.changes, key=lambda path: -path.count("/")):
            wanted = self.own
            if path != self.name and self.recursion:
                wanted = self._wanted_below(self.recursion, kinds.get(path, False))
            with system_errors():
                permissions.enforce(path, wanted, ctx.host, follow=self.follow)
        for path in _without_contents(now.spare):
            paths.remove(path)


def _without_contents(spare: Iterable[str]) -> list[str]:
    """Of directories and what is in them the directories alone; they come first."""
    found: list[str] = []
    for path in spare:
        if not any(path.startswith(f"{folder}/") for folder in found):
            found.append(path)
    return found


def _kind_of(path: str) -> str:
    """``directory``, ``file``, or empty if there is nothing."""
    if os.path.isdir(path) and not os.path.islink(path):
        return "directory"
    return "file" if os.path.lexists(path) else ""


def _read_recursion(
    recurse: object, wanted: DesiredPermissions, max_depth: Any
) -> Recursion | None:
    """What ``recurse`` means.

    Raises:
        FunctionError: it is no list, or has other words than those that there are.
    """
    if not recurse:
        return None
    if not isinstance(recurse, list):
        raise FunctionError('"recurse" must be formed as a list of strings')
    words = frozenset(str(word) for word in recurse)
    if words - set(RECURSE):
        known = ", ".join(f'"{word}"' for word in RECURSE)
        raise FunctionError(f'Types for "recurse" limited to {known}.')
    if {"ignore_files", "ignore_dirs"} <= words:
        raise FunctionError(
            'Must not specify "recurse" options "ignore_files" and "ignore_dirs" at the same time.'
        )
    return Recursion(
        parts=words,
        depth=None if max_depth is None else int(max_depth),
        silent="silent" in words,
    )


def _list_changes(changes: Mapping[str, Mapping[str, object]]) -> str:
    lines = [
        f"{path}: {part} - {value}\n" for path, found in changes.items()
        for part, value in found.items()
    ]  # fmt: skip
    return "The following files will be changed:\n" + "".join(lines)


def _list_kept(
    top: str, low: Sequence[Chunk], required: Sequence[tuple[str, object]]
) -> frozenset[str]:
    """The paths below ``top`` that required states are about, and the directories they are in."""
    found: set[str] = set()
    for state, value in required:
        for chunk in low:
            if not _is_meant(chunk, state, value):
                continue
            path = str(chunk.name).rstrip("/")
            found.add(path)
            if chunk.fun == "recurse":
                found |= {
                    os.path.join(folder, each)
                    for folder, names, plain in os.walk(path)
                    for each in [*names, *plain]
                }
        if os.path.isabs(str(value)):
            found.add(str(value).rstrip("/"))
    whole: set[str] = set()
    for path in found:
        while path.startswith(f"{top}/"):
            whole.add(path)
            path = os.path.dirname(path)
    return frozenset(whole)


def _is_meant(chunk: Chunk, state: str, value: object) -> bool:
    """Whether a requisite ``{state: value}`` is met by this chunk of the file states."""
    if chunk.state != "file":
        return False
    if state == "sls":
        return bool(chunk.sls == value)
    return state in ("file", "id") and value in (chunk.ident, chunk.name)
