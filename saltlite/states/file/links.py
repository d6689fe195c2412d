"""Symbolic and hard links."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.openat import keep_replaced, reach
from saltlite.providers.file import paths, permissions
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states.file._checks import (
    ensure_folder,
    explain_bad_name,
    failure,
    owner_of,
    primary_group,
    system_errors,
)


def symlink(
    ctx: MinionContext,
    name: str,
    target: str,
    force: bool = False,
    backupname: object = None,
    makedirs: bool = False,
    user: object = None,
    group: object = None,
    mode: object = None,
    atomic: bool = False,
    disallow_copy_and_unlink: bool = False,
    inherit_user_and_group: bool = False,
    follow_symlinks: bool = True,
    **kwargs: Any,
) -> Declared:
    """A symbolic link.

    ``inherit_user_and_group``: one that is there keeps its owner and group, unless others are
    declared.
    """
    wrong = explain_bad_name(name, "symlink")
    if wrong:
        return wrong
    name, own = os.path.expanduser(name), permissions.user_name(os.geteuid())
    user = owner_of(user, kwargs)
    keeps = (user is None, group is None) if inherit_user_and_group else (False, False)
    user = own if user is None else user
    if group is None:
        group = primary_group(user)
    wrong = _refuse_unknown(user, group)
    if wrong:
        return wrong
    owner = (
        permissions.user_name(permissions.user_id(user)),
        permissions.group_name(permissions.group_id(group)),
    )
    return Symlink(
        name=name, target=target, owner=owner, force=force,
        backupname=str(backupname or ""), makedirs=makedirs,
        dirs=DesiredPermissions(user=user, group=group, mode=mode), keeps=keeps,
    )  # fmt: skip


def _refuse_unknown(user: object, group: object) -> Verdict | None:
    missing = []
    if user is not None and permissions.user_id(user) == "":
        missing.append(f"User {user} does not exist")
    if group is not None and permissions.group_id(group) == "":
        missing.append(f"Group {group} does not exist")
    if not missing:
        return None
    return failure(
        missing[0] if len(missing) == 1 else "".join(f"{one}. " for one in missing).strip()
    )


def hardlink(
    ctx: MinionContext,
    name: str,
    target: str,
    force: bool = False,
    makedirs: bool = False,
    user: object = None,
    group: object = None,
    dir_mode: object = None,
    **kwargs: Any,
) -> Declared:
    """Another name of a file."""
    wrong = explain_bad_name(name, "hardlink")
    if wrong:
        return wrong
    target = os.path.expanduser(target)
    if not os.path.isabs(target):
        return failure(f"Specified target {target} is not an absolute path")
    wrong = _refuse_unknown(user, group)
    if wrong:
        return wrong
    dirs = DesiredPermissions(user=user, group=group, mode=dir_mode)
    name = os.path.expanduser(name)
    return HardLink(name=name, target=target, force=force, makedirs=makedirs, dirs=dirs)


def shortcut(ctx: MinionContext, name: str, target: str, **kwargs: Any) -> Declared:
    """A shortcut of Windows: nothing for this machine."""
    return failure("Shortcuts are only supported on Windows")


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """What is at a path: ``kind`` is link, file, directory or empty."""

    kind: str = ""
    target: str = ""
    owner: tuple[Any, Any] = ("", "")
    folder: bool = True
    backup: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Symlink(Resource[LinkStatus]):
    """A symbolic link, and whose it is."""

    name: str
    target: str
    owner: tuple[Any, Any]
    force: bool = False
    backupname: str = ""
    makedirs: bool = False
    dirs: DesiredPermissions
    keeps: tuple[bool, bool] = (False, False)
    """Whether a link that is there keeps its owner, and its group."""

    def read(self, ctx: MinionContext) -> LinkStatus:
        folder = os.path.isdir(os.path.dirname(self.name))
        if not os.path.lexists(self.name):
            return LinkStatus("", folder=folder)
        if os.path.islink(self.name):
            found = os.lstat(self.name)
            owner = (permissions.user_name(found.st_uid), permissions.group_name(found.st_gid))
            return LinkStatus("link", os.readlink(self.name), owner)
        kind = "directory" if os.path.isdir(self.name) else "file"
        return LinkStatus(
            kind, backup=bool(self.backupname) and os.path.lexists(self._backup_path())
        )

    def plan(self, now: LinkStatus) -> Sequence[Step] | Verdict:
        if now.kind == "link":
            return self._plan_relink(now)
        if not now.kind:
            return (self._plan_creation(self._would_create(now)),)
        if now.backup and not self.force:
            return failure(
                f"Symlink & backup dest exists and Force not set. {self.name} -> {self.target}"
                f" - backup: {self.backupname}"
            )
        if not self.force and not self.backupname:
            kind = now.kind.capitalize()
            return failure(f"{kind} exists where the symlink {self.name} should be")
        return (
            self._plan_creation(
                f"The file or directory {self.name} is set for removal to make way for a new"
                f" symlink targeting {self.target}",
                told=False,
            ),
        )

    def _plan_relink(self, now: LinkStatus) -> Sequence[Step]:
        if os.path.normpath(now.target) != os.path.normpath(self.target):
            return (
                Step(
                    would=f"Link {self.name} target is set to be changed to {self.target}",
                    did=self._say_created(),
                    changes={"change": self.name},
                    run=lambda ctx: self._make_symlink(self._find_owner(now)),
                ),
            )
        wanted = self._find_owner(now)
        if now.owner == wanted:
            return ()
        old, new = _join_owner(now.owner), _join_owner(wanted)
        return (
            Step(
                would=f"The symlink {self.name} is present, but the ownership of the symlink would"
                f" be changed from {old} to {new}",
                did=f"Set ownership of symlink {self.name} to {new}",
                changes={"ownership": old},
                run=lambda ctx: self._give_to_owner(wanted),
            ),
        )

    def changes(
        self, before: LinkStatus, after: LinkStatus, steps: Sequence[Step]
    ) -> dict[str, Any]:
        if any("ownership" in step.changes for step in steps):
            return {"ownership": _join_owner(self._find_owner(before))}
        return {"new": self.name}

    def comment_unchanged(self, now: LinkStatus) -> str:
        return f"Symlink {self.name} is present and owned by {_join_owner(now.owner)}"

    def _would_create(self, now: LinkStatus) -> str:
        would = f"Symlink {self.name} to {self.target} is set for creation"
        if now.folder:
            return would
        folder = os.path.dirname(self.name)
        if self.makedirs:
            return f"{would}\n{folder} will be created"
        return f"{would}\nDirectory {folder} for symlink is not present"

    def _say_created(self) -> str:
        return f"Created new symlink {self.name} -> {self.target}"

    def _plan_creation(self, would: str, *, told: bool = True) -> Step:
        changes = {"new": self.name} if told else {}
        return Step(
            would=would,
            did=self._say_created(),
            changes=changes,
            run=lambda ctx: self._make_symlink(self.owner),
        )

    def _backup_path(self) -> str:
        return os.path.join(os.path.dirname(self.name), self.backupname)

    def _find_owner(self, now: LinkStatus) -> tuple[Any, Any]:
        """Whose the link shall be, given what is there."""
        if now.kind != "link":
            return self.owner
        user, group = (
            its if keeps else wanted
            for its, wanted, keeps in zip(now.owner, self.owner, self.keeps, strict=True)
        )
        return user, group

    def _make_symlink(self, owner: tuple[object, object]) -> None:
        folder = os.path.dirname(self.name)
        missing = f"Directory {folder} for symlink is not present"
        ensure_folder(self.name, missing, self.dirs, makedirs=self.makedirs)
        with system_errors(f"Unable to create new symlink {self.name} -> {self.target}: "):
            if os.path.lexists(self.name) and not os.path.islink(self.name):
                self._clear_path()
            paths.place_link(self.target, self.name, self._find_uid(owner))
        self._give_to_owner(owner)

    def _clear_path(self) -> None:
        if self.backupname:
            if os.path.lexists(self._backup_path()):
                paths.remove(self._backup_path())
            paths.rename(self.name, self._backup_path())
        elif os.path.isdir(self.name):
            raise IsADirectoryError(21, os.strerror(21), self.name)

    def _find_uid(self, owner: tuple[object, object]) -> int | None:
        found = permissions.user_id(owner[0])
        return found if isinstance(found, int) else None

    def _give_to_owner(self, owner: tuple[object, object]) -> None:
        with system_errors():
            complaint = permissions.chown(self.name, *owner, follow=False)
        if complaint:
            raise FunctionError(complaint.strip())


def _join_owner(owner: tuple[object, object]) -> str:
    return f"{owner[0]}:{owner[1]}"


@dataclass(frozen=True, slots=True)
class HardSeen:
    """What is at both ends of a hard link."""

    target_is_dir: bool
    target_exists: bool
    kind: str
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HardLink(Resource[HardSeen]):
    """Another name of a file."""

    name: str
    target: str
    force: bool
    makedirs: bool
    dirs: DesiredPermissions

    def read(self, ctx: MinionContext) -> HardSeen:
        kind = ""
        if os.path.lexists(self.name):
            kind = "directory" if os.path.isdir(self.name) else "file"
        exists = os.path.exists(self.target)
        same = exists and kind == "file" and _is_same(self.name, self.target)
        return HardSeen(os.path.isdir(self.target), exists, kind, same)

    def plan(self, now: HardSeen) -> Sequence[Step] | Verdict:
        if now.target_is_dir:
            return failure(f"Unable to hard link from directory {self.target}")
        if now.kind == "directory":
            return failure(f"Unable to hard link to directory {self.name}")
        if not now.target_exists:
            return failure(f"Target {self.target} for hard link does not exist")
        if now.same:
            return ()
        if now.kind and not self.force:
            return failure(f"File exists where the hard link {self.name} should be")
        did = f"Created new hard link {self.name} -> {self.target}"
        changes = {"new": self.name}
        if now.kind:
            would = (
                f"The file or directory {self.name} is set for removal to make way for a new hard"
                f" link targeting {self.target}"
            )
            changes["forced"] = "File for hard link was forcibly replaced"
        else:
            would = f"Hard link {self.name} to {self.target} is set for creation"
        return (Step(would=would, did=did, changes=changes, run=self._make_hardlink),)

    def comment_unchanged(self, now: HardSeen) -> str:
        return f"Target of hard link {self.name} is already pointing to {self.target}"

    def _make_hardlink(self, ctx: MinionContext) -> None:
        folder = os.path.dirname(self.name)
        missing = f"Directory {folder} for hard link is not present"
        ensure_folder(self.name, missing, self.dirs, makedirs=self.makedirs)
        with system_errors():
            if os.path.lexists(self.name):
                with reach(self.name) as spot:
                    keep_replaced(spot)
                    spot.unlink()
        paths.link(self.target, self.name)


def _is_same(one: str, other: str) -> bool:
    try:
        first, second = os.lstat(one), os.lstat(other)
    except OSError:
        return False
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
