"""A directory of the file server with all that is in it, as one declaration of many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict, join_changes
from saltlite.providers.file import paths, sources
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.providers.file.sources import Source
from saltlite.states.file._checks import explain_bad_name, failure, owner_of, require_owners
from saltlite.states.file._patterns import is_wanted, matches
from saltlite.states.file.directory import Directory, list_required
from saltlite.states.file.links import Symlink, symlink
from saltlite.states.file.managed import managed

PIECE = "\n\n#### {} ####\n{}"


def recurse(
    ctx: MinionContext,
    name: str,
    source: object,
    keep_source: bool = True,
    clean: bool = False,
    require: object = None,
    user: object = None,
    group: object = None,
    dir_mode: object = None,
    file_mode: object = None,
    sym_mode: object = None,
    template: object = None,
    context: object = None,
    replace: bool = True,
    defaults: object = None,
    include_empty: bool = False,
    backup: object = "",
    include_pat: object = None,
    exclude_pat: object = None,
    maxdepth: Any = None,
    keep_symlinks: bool = False,
    force_symlinks: bool = False,
    saltenv: str = "base",
    **kwargs: Any,
) -> Declared:
    """A directory of the file server with all that is in it."""
    wrong = explain_bad_name(name, "recurse")
    if wrong:
        return wrong
    if "mode" in kwargs:
        return failure(
            "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'."
        )
    user = owner_of(user, kwargs)
    name = os.path.expanduser(name).rstrip("/")
    if saltenv == "base":
        saltenv = kwargs.get("__env__") or saltenv
    for one in source if isinstance(source, list) else [source]:
        if not str(one).startswith("salt://"):
            return failure(f"Invalid source '{one}' (must be a salt:// URI)")
    origin = _tree_source(ctx, source, saltenv)
    wish = Wish(
        include=include_pat, exclude=exclude_pat, include_empty=include_empty,
        depth=None if maxdepth is None else int(maxdepth), keep_symlinks=keep_symlinks,
    )  # fmt: skip

    def of_file(path: str, below: str) -> Any:
        head, _, query = origin.partition("?")
        return managed(
            ctx, path, f"{head}/{below}?{query or f'saltenv={saltenv}'}", user=user, group=group,
            mode=file_mode, template=template, context=context, replace=replace,
            defaults=defaults, backup=backup, saltenv=saltenv, dir_mode=dir_mode,
            show_changes=kwargs.get("show_changes", True), keep_source=keep_source,
        )  # fmt: skip

    def of_link(path: str, target: str) -> Any:
        return symlink(ctx, path, target, force=force_symlinks, user=user, group=group)

    dirs = DesiredPermissions(user=user, group=group, mode=dir_mode)
    found = _list_source(ctx, origin, saltenv, wish)
    parts, folders = _list_declared(name, found, dirs, of_file, of_link, sym_mode)
    return Tree(
        name=name, origin=found, parts=parts, folders=folders, own=dirs, clean=clean,
        exclude=exclude_pat, keep=list_required(ctx, require, name), forget=not keep_source,
    )  # fmt: skip


def _tree_source(ctx: MinionContext, source: object, saltenv: str) -> str:
    try:
        given = source if isinstance(source, list) else [source]
        several = Source(source=[str(one).rstrip("/") for one in given], saltenv=saltenv)
        found = sources.choose_source(ctx, several).source
    except FunctionError as error:
        raise FunctionError(f"Recurse failed: {error}") from error
    return str(found)


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


def _list_source(ctx: MinionContext, source: str, saltenv: str, wish: Wish) -> Listing:
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
    """One thing of the tree: its declaration, how it is, and what is to be done.

    ``is_replaced``: something else is in its place, which goes before.
    """

    path: str
    resource: Resource[Any]
    now: Any
    steps: Sequence[Step]
    is_replaced: bool = False

    def say(self) -> str:
        """What a test run says of it."""
        if self.is_replaced:
            return self.steps[0].would
        return self.resource.would(self.now, self.steps)

    def find_changes(self, after: Any) -> Mapping[str, Any]:
        """What has changed of it; what nobody has looked at counts as nothing."""
        if self.is_replaced:
            return self.resource.changes(type(after)(), after, ())
        return self.resource.changes(self.now, after, self.steps)


@dataclass(frozen=True, slots=True)
class TreeDifferences:
    """The parts that are not as declared, what is to be cleaned away, and what hinders.

    ``settled`` is how the other parts are, by path.
    """

    parts: Sequence[Part] = ()
    settled: Mapping[str, Any] = field(default_factory=dict)
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
        settled: dict[str, Any] = {}
        for path, make in self.parts.items():
            try:
                if path in in_the_way:
                    found.append(self._plan_anew(path, make()))
                    continue
                part = _plan_part(ctx, path, make())
            except SaltliteError as error:
                return TreeDifferences(complaint=f"#### {path} ####\n{error}")
            if part.steps:
                found.append(part)
            else:
                settled[path] = part.now
        return TreeDifferences(found, settled, spare)

    def _plan_anew(self, path: str, resource: Resource[Any]) -> Part:
        """A part whose place will be empty when it is its turn; what is there goes before."""
        is_folder = path in self.folders
        changes = {path: {"directory": "new"}} if is_folder else {"newfile": path}
        would = f"{path} is set to be replaced"
        step = Step(would=would, changes=changes, run=lambda ctx: _make_at_once(ctx, resource))
        return Part(path, resource, None, (step,), is_replaced=True)

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
        said = (PIECE.format(part.path, part.say()) for part in now.parts)
        would = "".join(said).strip() or f"Files cleaned from directory {self.name}"
        return (Step(would=would, changes=changes, run=lambda ctx: self._make_parts(ctx, now)),)

    def comment_unchanged(self, now: TreeDifferences) -> str:
        return f"The directory {self.name} is in the correct state"

    def comment_changed(
        self, before: TreeDifferences, after: TreeDifferences, steps: Sequence[Step]
    ) -> str:
        return f"Recursively updated {self.name}"

    def changes(
        self, before: TreeDifferences, after: TreeDifferences, steps: Sequence[Step]
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        gone = [path for path in before.spare if path not in after.spare]
        if gone:
            found["removed"] = gone
        for part in before.parts:
            if part.path in after.settled and self._is_told(before, part):
                changed = part.find_changes(after.settled[part.path])
                if changed:
                    found[part.path] = changed
        return found

    def describe_before(
        self, before: TreeDifferences, changes: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        found = {
            part.path: part.resource.describe_before(part.now, changes[part.path])
            for part in before.parts if part.path in changes and part.now is not None
        }  # fmt: skip
        return {path: were for path, were in found.items() if were}

    def changes_of_failed(
        self, before: TreeDifferences, after: TreeDifferences, steps: Sequence[Step]
    ) -> dict[str, Any]:
        return self.changes(before, after, steps)  # of its parts some may be there

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

    def _make_parts(self, ctx: MinionContext, now: TreeDifferences) -> None:
        require_owners(self.own.user, self.own.group)
        for path in now.spare:
            paths.remove(path)
        with self._at_hand(ctx, [part.path for part in now.parts]):
            for part in now.parts:
                for step in part.steps:
                    step.run(ctx)

    def _is_told(self, now: TreeDifferences, part: Part) -> bool:
        """Whether a part is told of: as in Salt the directory itself is not, beside others."""
        return part.path != self.name or (len(now.parts) == 1 and not now.spare)


def _plan_part(ctx: MinionContext, path: str, resource: Resource[Any]) -> Part:
    now = resource.read(ctx)
    steps = resource.plan(now)
    if isinstance(steps, Verdict):
        raise FunctionError(steps.comment)
    return Part(path, resource, now, steps)


def _make_at_once(ctx: MinionContext, resource: Resource[Any]) -> None:
    for step in _plan_part(ctx, "", resource).steps:
        step.run(ctx)


def _parents_below(path: str, top: str) -> Iterator[str]:
    folder = os.path.dirname(path)
    while folder.startswith(f"{top}/"):
        yield folder
        folder = os.path.dirname(folder)


def _list_declared(
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
