"""Whether something is at a path: nothing, a device, a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules.file import making, moving
from saltlite.providers.file import paths, permissions
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states._file.checks import failure, require_owners, system_errors


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
            run=lambda ctx: moving.remove(self.name),
        )
        return (step,)

    def comment_unchanged(self, now: str) -> str:
        return f"File {self.name} is not present"


_NODES = {
    "c": ("Character device", stat.S_ISCHR, "character device"),
    "b": ("Block device", stat.S_ISBLK, "block device"),
    "p": ("Fifo pipe", stat.S_ISFIFO, "fifo pipe"),
}


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
        ret, _ = permissions.check(self.name, None, self.wanted, ctx.host, follow=False, test=True)
        numbers = (os.major(found.st_rdev), os.minor(found.st_rdev))
        return NodeSeen(mode=found.st_mode, numbers=numbers, other=ret["changes"])

    def plan(self, now: NodeSeen) -> Sequence[Step] | Verdict:
        title, fits, words = _NODES[self.kind]
        if not now.mode:
            step = Step(
                would=f"{title} {self.name} is set to be created",
                changes={"new": f"{title} {self.name} created."},
                run=self._make_node,
            )
            return (step,)
        if not fits(now.mode):
            return failure(f"File {self.name} exists and is not a {words}. Refusing to continue")
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
        return f"{_NODES[self.kind][0]} {self.name} is in the correct state"

    def comment_changed(self, before: NodeSeen, after: NodeSeen, steps: Sequence[Step]) -> str:
        return ""

    def _make_node(self, ctx: MinionContext) -> None:
        wanted = self.wanted
        with system_errors():
            ctx.follow(
                making.mknod, self.name, self.kind, self.major, self.minor,
                wanted.user, wanted.group, wanted.mode,
            )  # fmt: skip

    def _set_owner(self, ctx: MinionContext) -> None:
        ret, _ = permissions.check(self.name, None, self.wanted, ctx.host, follow=False, test=False)
        if not ret["result"]:
            raise FunctionError(str(ret["comment"]))


def way_to(name: str, missing: str, wanted: DesiredPermissions, *, makedirs: bool) -> None:
    """Have the directory that a path is in; raises FunctionError with ``missing``."""
    folder = os.path.dirname(name.rstrip("/"))
    if os.path.isdir(folder):
        return
    if not makedirs:
        raise FunctionError(missing)
    require_owners(wanted.user, wanted.group)
    mode = None if wanted.mode is None else permissions.mode_number(wanted.mode)
    with system_errors():
        paths.make_dirs(folder, mode, wanted.owner())
