"""A directory of the file server with all that is in it, as one declaration of many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Resource, Step, Verdict, join_changes
from saltlite.providers.file import sources
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states._file.checks import Told, failure, require_owners
from saltlite.states._file.directory import Directory
from saltlite.states._file.links import Symlink
from saltlite.states._file.patterns import is_wanted, matches

PIECE = "\n\n#### {} ####\n{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What of the tree is wanted, and how."""

    include: Any = None
    exclude: Any = None
    depth: int | None = None
    include_empty: bool = False
    keep_symlinks: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Paths below the source: files, directories that stand for themselves, links.

    ``top`` is the path of the source in the environment ``saltenv``.
    """

    top: str
    saltenv: str
    files: Sequence[str]
    folders: Sequence[str]
    links: Mapping[str, str]


def listing(ctx: MinionContext, source: str, saltenv: str, wish: Wish) -> Listing:
    """What the file server has below a ``salt://`` address.

    Raises:
        FunctionError: it has no such directory.
    """
    from saltlite.fileserver.paths import split_url

    location = split_url(source)
    env, top = location.saltenv or saltenv, location.path.rstrip("/")
    client = sources.client(ctx)
    prefix = f"{top}/"
    if top not in client.list_dirs(env, top):
        raise FunctionError(
            f"The directory '{top}' does not exist on the salt fileserver in saltenv '{env}'"
        )
    below = [path.removeprefix(prefix) for path in client.list_files(env, prefix)]
    links: dict[str, str] = {}
    if wish.keep_symlinks:
        links = {
            path.removeprefix(prefix): target
            for path, target in client.list_symlinks(env, prefix).items()
            if is_wanted(path.removeprefix(prefix), wish.include, wish.exclude)
        }
    files = [
        path for path in below
        if is_wanted(path, wish.include, wish.exclude)
        and (wish.depth is None or path.count("/") <= wish.depth)
        and path not in links
    ]  # fmt: skip
    folders: list[str] = []
    if wish.include_empty:
        empty = (path.removeprefix(prefix) for path in client.list_empty_dirs(env, prefix))
        folders = [path for path in empty if is_wanted(path, wish.include, wish.exclude)]
    return Listing(top, env, files, folders, links)


@dataclass(frozen=True, slots=True)
class Part:
    """One thing of the tree: its declaration, and what is to be done."""

    path: str
    resource: Resource[Any]
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class TreeDifferences:
    """The parts that are not as declared, what is to be cleaned away, and what hinders."""

    parts: Sequence[Part] = ()
    spare: Sequence[str] = ()
    complaint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree(Resource[TreeDifferences]):
    """A directory as the file server has it. ``origin`` is what it has, ``folders`` are paths.

    Who shall own it (``own``) may be made by a state before, so that only a real run asks for him.
    With ``forget`` no copies of the files are left in the cache: none is fetched before its turn.
    """

    name: str
    origin: Listing
    parts: Mapping[str, Callable[[], Resource[Any]]]
    folders: frozenset[str]
    own: DesiredPermissions
    clean: bool = False
    exclude: Any = None
    keep: frozenset[str] = frozenset()
    forget: bool = False
    told: Told = field(default_factory=Told)

    def read(self, ctx: MinionContext) -> TreeDifferences:
        if os.path.lexists(self.name) and not os.path.isdir(self.name):
            return TreeDifferences(complaint=f"The path {self.name} exists and is not a directory")
        with self._at_hand(ctx, self.parts):
            return self._look_around(ctx)

    def _at_hand(self, ctx: MinionContext, paths: Iterable[str]) -> AbstractContextManager[None]:
        """Have the content of these parts here, and know their hashes, in few requests."""
        if self.forget:
            return nullcontext()
        origin = self.origin
        below = {os.path.join(self.name, path): path for path in origin.files}
        is_wanted = [f"{origin.top}/{below[path]}" for path in paths if path in below]
        return sources.client(ctx).ahead(is_wanted, origin.saltenv)

    def _look_around(self, ctx: MinionContext) -> TreeDifferences:
        spare = list(self._find_spare()) if self.clean else []
        in_the_way = {path for path in spare if path in self.parts}
        found: list[Part] = []
        for path, make in self.parts.items():
            try:
                resource = make()
                steps = (
                    self._plan_anew(path) if path in in_the_way else _plan_resource(ctx, resource)
                )
            except SaltliteError as error:
                return TreeDifferences(complaint=f"#### {path} ####\n{error}")
            if steps:
                found.append(Part(path, resource, steps))
        return TreeDifferences(found, spare)

    def _plan_anew(self, path: str) -> Sequence[Step]:
        """What will be to be done about a part when what is in its place is gone."""
        is_folder = path in self.folders
        changes = {path: {"directory": "new"}} if is_folder else {"newfile": path}
        return (Step(would=f"{path} is set to be replaced", changes=changes, run=lambda ctx: None),)

    def plan(self, now: TreeDifferences) -> Sequence[Step] | Verdict:
        if now.complaint:
            return failure(now.complaint)
        if not now.parts and not now.spare:
            return ()
        changes: dict[str, Any] = {}
        for part in now.parts:
            changed = join_changes(part.steps)
            if changed and self._is_told(now, part):
                changes[part.path] = changed
        if now.spare:
            changes["removed"] = list(now.spare)
        said = (
            PIECE.format(part.path, "\n".join(step.would for step in part.steps))
            for part in now.parts
        )
        would = "".join(said).strip() or f"Files cleaned from directory {self.name}"
        return (Step(would=would, changes=changes, run=lambda ctx: self._make_part(ctx, now)),)

    def comment_unchanged(self, now: TreeDifferences) -> str:
        return f"The directory {self.name} is in the correct state"

    def comment_changed(
        self, before: TreeDifferences, after: TreeDifferences, steps: Sequence[Step]
    ) -> str:
        return f"Recursively updated {self.name}"

    def changes(
        self, before: TreeDifferences, after: TreeDifferences, steps: Sequence[Step]
    ) -> dict[str, Any]:
        return dict(self.told.changes)

    def _find_spare(self) -> Iterator[str]:
        """What is below and not of the tree; of a directory that goes, only itself."""
        kept: set[str] = {*self.parts, *self.keep}
        kept |= {parent for path in kept for parent in _parents_below(path, self.name)}
        for folder, names, plain in os.walk(self.name):
            gone = []
            for name in [*plain, *names]:
                path = os.path.join(folder, name)
                if (path in kept and self._is_of_its_kind(path)) or self._is_excluded(path):
                    continue
                yield path
                gone.append(name)
            names[:] = [name for name in names if name not in gone]

    def _is_of_its_kind(self, path: str) -> bool:
        """Whether what is at a path of the tree is a directory where the tree has one."""
        is_folder = os.path.isdir(path) and (path in self.folders or not os.path.islink(path))
        return path not in self.parts or is_folder == (path in self.folders)

    def _is_excluded(self, path: str) -> bool:
        return bool(self.exclude) and matches(os.path.relpath(path, self.name), self.exclude)

    def _make_part(self, ctx: MinionContext, now: TreeDifferences) -> None:
        from saltlite.modules.file import moving

        require_owners(self.own.user, self.own.group)
        for path in now.spare:
            moving.remove(path)
        if now.spare:
            self.told.changes["removed"] = list(now.spare)
        with self._at_hand(ctx, [part.path for part in now.parts]):
            for part in now.parts:
                changed = self._do_part(ctx, part)
                if changed and self._is_told(now, part):
                    self.told.changes[part.path] = changed

    def _is_told(self, now: TreeDifferences, part: Part) -> bool:
        """Whether a part is told of: as in Salt the directory itself is not, beside others."""
        return part.path != self.name or (len(now.parts) == 1 and not now.spare)

    def _do_part(self, ctx: MinionContext, part: Part) -> Mapping[str, Any]:
        before = part.resource.read(ctx)
        steps = part.resource.plan(before)
        if isinstance(steps, Verdict):
            raise FunctionError(f"#### {part.path} ####\n{steps.comment}")
        for step in steps:
            step.run(ctx)
        return part.resource.changes(before, part.resource.read(ctx), steps)


def _plan_resource(ctx: MinionContext, resource: Resource[Any]) -> Sequence[Step]:
    steps = resource.plan(resource.read(ctx))
    if isinstance(steps, Verdict):
        raise FunctionError(steps.comment)
    return steps


def _parents_below(path: str, top: str) -> Iterator[str]:
    folder = os.path.dirname(path)
    while folder.startswith(f"{top}/"):
        yield folder
        folder = os.path.dirname(folder)


def list_declared(
    name: str,
    found: Listing,
    owner: DesiredPermissions,
    file: Callable[[str, str], Resource[Any]],
    link: Callable[[str, str], Symlink],
    sym_mode: object,
) -> tuple[dict[str, Callable[[], Resource[Any]]], frozenset[str]]:
    """The declarations of all parts by path, in an order in which they can be made.

    Besides, which of the paths are directories. Links have no mode on Linux: as in Salt theirs is
    that of the directories that are made for them.
    """
    parts: dict[str, Callable[[], Resource[Any]]] = {}
    for_links: set[str] = set()
    if sym_mode is not None and owner.mode is None:
        paths = [os.path.join(name, below) for below in found.links]
        for_links = {parent for path in paths for parent in _parents_below(path, name)}

    def folder(path: str) -> None:
        if path in parts:
            return
        if path != name:
            folder(os.path.dirname(path))
        parts[path] = lambda: Directory(name=path, own=find_wanted(path), makedirs=True)

    def find_wanted(path: str) -> DesiredPermissions:
        is_made = path in for_links and not os.path.isdir(path)
        return replace(owner, mode=sym_mode) if is_made else owner

    folder(name)
    for below in [*found.folders]:
        folder(os.path.join(name, below))
    for below in [*found.files, *found.links]:
        folder(os.path.dirname(os.path.join(name, below)))
    directories = frozenset(parts)
    for below in found.files:
        path = os.path.join(name, below)
        parts[path] = _defer_resource(file, path, below)
    for below, target in found.links.items():
        path = os.path.join(name, below)
        parts[path] = _defer_resource(link, path, target)
    return parts, directories


def _defer_resource(
    make: Callable[[str, str], Resource[Any]], path: str, more: str
) -> Callable[[], Resource[Any]]:
    return lambda: make(path, more)
