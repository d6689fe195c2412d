"""Whether something is at a path, whatever is in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.highstate.resource import Action, Declared, Resource, Step, Verdict
from saltlite.providers.file import paths, permissions
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states.file._checks import ensure_folder, explain_bad_name, failure, system_errors


def absent(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Nothing at a path."""
    return explain_bad_name(name, "absent") or AbsentPath(os.path.expanduser(name))


def exists(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Something has to be at a path."""
    if not name:
        return failure("Must provide name to file.exists")
    if os.path.exists(os.path.expanduser(name)):
        return Verdict(result=True, comment=f"Path {name} exists")
    return failure(f"Specified path {name} does not exist")


def missing(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Nothing may be at a path."""
    if not name:
        return failure("Must provide name to file.missing")
    if os.path.exists(os.path.expanduser(name)):
        return failure(f"Specified path {name} exists")
    return Verdict(result=True, comment=f"Path {name} is missing")


def mknod(
    ctx: MinionContext,
    name: str,
    ntype: str,
    major: int = 0,
    minor: int = 0,
    user: object = None,
    group: object = None,
    mode: object = "0600",
) -> Declared:
    """A device or named pipe."""
    if ntype not in ("c", "b", "p"):
        return failure(
            f"Node type unavailable: '{ntype}'. Available node types are character ('c'), block"
            " ('b'), and pipe ('p')"
        )
    wanted = DesiredPermissions(user=user, group=group, mode=mode)
    name = os.path.expanduser(name)
    return Node(name=name, kind=ntype, major=int(major), minor=int(minor), wanted=wanted)


def touch(
    ctx: MinionContext,
    name: str,
    atime: object = None,
    mtime: object = None,
    makedirs: bool = False,
) -> Declared:
    """A file with its times set."""
    wrong = explain_bad_name(name, "touch")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    kind = "directory" if os.path.isdir(name) else "file"
    there = os.path.exists(name)

    def act(ctx: MinionContext) -> Verdict:
        missing = f"Directory not present to touch file {name}"
        ensure_folder(name, missing, DesiredPermissions(), makedirs=makedirs)
        paths.touch(name, atime, mtime)
        if there:
            comment = f"Updated times on {kind} {name}"
            return Verdict(result=True, comment=comment, changes={"touched": name})
        comment = f"Created empty file {name}"
        return Verdict(result=True, comment=comment, changes={"new": name})

    if there:
        would = f"Times set to be updated on {kind} {name}"
        return Action(would=would, changes={"touched": name}, run=act)
    return Action(would=f"File {name} is set to be created", changes={"new": name}, run=act)


@dataclass(frozen=True, slots=True)
class AbsentPath(Resource[str]):
    """Nothing at a path; what is there now is ``file`` or ``directory``, ``""`` for nothing."""

    name: str

    def read(self, ctx: MinionContext) -> str:
        if os.path.isdir(self.name) and not os.path.islink(self.name):
            return "directory"
        return "file" if os.path.lexists(self.name) else ""

    def plan(self, now: str) -> Sequence[Step] | Verdict:
        if self.name == "/":
            return failure('Refusing to make "/" absent')
        if not now:
            return ()
        step = Step(
            would=f"{now.capitalize()} {self.name} is set for removal",
            did=f"Removed {now} {self.name}",
            changes={"removed": self.name},
            run=lambda ctx: paths.remove(self.name),
        )
        return (step,)

    def comment_unchanged(self, now: str) -> str:
        return f"File {self.name} is not present"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """What is at the path of a device: its mode bits and numbers, and what of it differs."""

    mode: int = 0
    numbers: tuple[int, int] = (0, 0)
    other: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Resource[NodeSeen]):
    """A device or named pipe."""

    name: str
    kind: str
    major: int
    minor: int
    wanted: DesiredPermissions

    def read(self, ctx: MinionContext) -> NodeSeen:
        if not os.path.lexists(self.name):
            return NodeSeen(other={})
        found = os.lstat(self.name)
        other = permissions.find_differences(self.name, self.wanted, ctx.host, follow=False)
        numbers = (os.major(found.st_rdev), os.minor(found.st_rdev))
        return NodeSeen(mode=found.st_mode, numbers=numbers, other=other)

    def plan(self, now: NodeSeen) -> Sequence[Step] | Verdict:
        title, bits = paths.NODES[self.kind]
        if not now.mode:
            step = Step(
                would=f"{title} {self.name} is set to be created",
                changes={"new": f"{title} {self.name} created."},
                run=self._make_node,
            )
            return (step,)
        if stat.S_IFMT(now.mode) != bits:
            return failure(
                f"File {self.name} exists and is not a {title.lower()}. Refusing to continue"
            )
        if self.kind != "p" and now.numbers != (self.major, self.minor):
            return failure(
                f"{title} {self.name} exists and has a different major/minor"
                f" {now.numbers[0]}/{now.numbers[1]}. Refusing to continue"
            )
        if not now.other:
            return ()
        would = f"{title} {self.name} is set to be changed"
        return (Step(would=would, changes=now.other, run=self._set_owner),)

    def comment_unchanged(self, now: NodeSeen) -> str:
        return f"{paths.NODES[self.kind][0]} {self.name} is in the correct state"

    def comment_changed(self, before: NodeSeen, after: NodeSeen, steps: Sequence[Step]) -> str:
        return ""

    def _make_node(self, ctx: MinionContext) -> None:
        wanted = self.wanted
        users = ctx.functions.find_replacement("file.mknod")
        with system_errors():
            if users is None:
                paths.make_node(self.name, self.kind, (self.major, self.minor), wanted)
            else:
                users(
                    self.name, self.kind, self.major, self.minor,
                    wanted.user, wanted.group, wanted.mode,
                )  # fmt: skip

    def _set_owner(self, ctx: MinionContext) -> None:
        permissions.enforce(self.name, self.wanted, ctx.host)
