"""Files that are copied or renamed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.highstate.resource import Action, Declared, Resource, Step, Verdict
from saltlite.providers.file import hashes, paths, permissions
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states.file._checks import (
    ensure_folder,
    explain_bad_name,
    failure,
    owner_of,
    primary_group,
    require_owners,
    system_errors,
)


def copy(
    ctx: MinionContext,
    name: str,
    source: str,
    force: bool = False,
    makedirs: bool = False,
    preserve: bool = False,
    user: object = None,
    group: object = None,
    mode: object = None,
    dir_mode: object = None,
    subdir: bool = False,
    **kwargs: Any,
) -> Declared:
    """A copy of a file of this machine."""
    wrong = explain_bad_name(name, "copy")
    if wrong:
        return wrong
    source = os.path.expanduser(source)
    if not os.path.isabs(source):
        return failure(f'Source file "{source}" is not present')
    user = owner_of(user, kwargs)
    if user is not None and group is None:
        group = primary_group(user)
    wanted = (
        DesiredPermissions() if preserve else DesiredPermissions(user=user, group=group, mode=mode)
    )
    name = os.path.expanduser(name)
    return _copy_path(
        name, source, wanted, force=force, makedirs=makedirs, subdir=subdir, dir_mode=dir_mode
    )


def rename(
    ctx: MinionContext,
    name: str,
    source: str,
    force: bool = False,
    makedirs: bool = False,
    **kwargs: Any,
) -> Declared:
    """A file under another name than the one that it had."""
    wrong = explain_bad_name(name, "rename")
    if wrong:
        return wrong
    return Renamed(
        name=os.path.expanduser(name), source=os.path.expanduser(source), force=force,
        makedirs=makedirs,
    )  # fmt: skip


def _copy_path(
    name: str,
    source: str,
    wanted: DesiredPermissions,
    *,
    force: bool,
    makedirs: bool,
    subdir: bool,
    dir_mode: object = None,
) -> Declared:
    """A copy of a file or directory; one that is there is left alone without ``force``."""
    shown = name
    if not os.path.exists(source):
        return failure(f'Source file "{source}" is not present')
    if subdir and os.path.isdir(name):
        name = os.path.join(name, os.path.basename(source))
    there = os.path.lexists(name)
    if force and os.path.isfile(name) and os.path.isdir(source):
        return failure(f"[Errno 21] Is a directory: {source!r}")
    if there and not force:
        comment = f'The target file "{name}" exists and will not be overwritten'
        return Verdict(result=True, comment=comment)

    def act(ctx: MinionContext) -> Verdict:
        require_owners(wanted.user, wanted.group)
        missing = f"The target directory {os.path.dirname(name)} is not present"
        dirs = DesiredPermissions(user=wanted.user, group=wanted.group, mode=dir_mode)
        ensure_folder(name, missing, dirs, makedirs=makedirs)
        identical = there and _are_equal(source, name)
        if there and not identical:
            paths.remove(name)
        paths.copy(source, name, recurse=os.path.isdir(source))
        changes: dict[str, Any] = {name: source}
        changed = permissions.enforce(name, wanted, ctx.host)
        comment = f'Copied "{source}" to "{shown}"'
        if identical:
            comment += " - files are identical but force flag is set"
        return Verdict(result=True, comment=comment, changes={**changes, **changed})

    return Action(would=f'File "{source}" is set to be copied to "{name}"', run=act)


def _are_equal(one: str, other: str) -> bool:
    if not (os.path.isfile(one) and os.path.isfile(other)):
        return False
    with system_errors():
        return hashes.file_hash(one) == hashes.file_hash(other)


class Places(NamedTuple):
    """Whether there is something to rename, something in its way, and a directory for it."""

    source: bool
    target: bool
    folder: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed(Resource[Places]):
    """A file or directory under another name; what is there is only replaced with ``force``."""

    name: str
    source: str
    force: bool
    makedirs: bool

    def read(self, ctx: MinionContext) -> Places:
        folder = os.path.dirname(self.name.rstrip("/"))
        return Places(
            os.path.lexists(self.source), os.path.lexists(self.name), os.path.isdir(folder)
        )

    def plan(self, now: Places) -> Sequence[Step]:
        if not now.source or (now.target and not self.force):
            return ()
        step = Step(
            would=f'File "{self.source}" is set to be moved to "{self.name}"',
            did=f'Moved "{self.source}" to "{self.name}"',
            changes={self.name: self.source} if now.folder or self.makedirs else {},
            run=self._move_file,
        )
        return (step,)

    def comment_unchanged(self, now: Places) -> str:
        if not now.source:
            return f'Source file "{self.source}" has already been moved out of place'
        return f'The target file "{self.name}" exists and will not be overwritten'

    def _move_file(self, ctx: MinionContext) -> None:
        missing = f"The target directory {os.path.dirname(self.name)} is not present"
        ensure_folder(self.name, missing, DesiredPermissions(), makedirs=self.makedirs)
        if os.path.lexists(self.name):
            paths.remove(self.name)
        paths.move(self.source, self.name)
