"""Volumes of lvm2: physical ones, groups of them, and logical volumes in groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import lvm
from saltlite.providers.lvm import report
from saltlite.states._fact import Fact

Row = Mapping[str, str] | None
"""What a volume has, by the names of its columns; ``None`` if it is not there."""


def pv_present(name: str, **kwargs: Any) -> Fact:
    """A device that is a physical volume; further arguments are options of ``pvcreate``."""
    report.flags("lvm.pv_present", kwargs, report.OF_PVCREATE)
    name, options = str(name), own_keywords(kwargs)

    def create(ctx: MinionContext) -> None:
        answer = ctx.follow(lvm.pvcreate, name, **options)
        if answer is not True:
            raise FunctionError(f"Failed to create Physical Volume {name}: {answer}")

    return Fact(
        holds=lambda ctx: bool(ctx.follow(lvm.pvdisplay, name)),
        make=create,
        intent=f"Physical Volume {name} is set to be created",
        report=f"Created Physical Volume {name}",
        known=f"Physical Volume {name} already present",
        told={"created": True},
    )


def pv_absent(name: str) -> Fact:
    """A device that is no physical volume."""
    name = str(name)

    def remove(ctx: MinionContext) -> None:
        answer = ctx.follow(lvm.pvremove, name)
        if answer is not True:
            raise FunctionError(f"Failed to remove Physical Volume {name}: {answer}")

    def is_there(ctx: MinionContext) -> bool:
        return bool(ctx.follow(lvm.pvdisplay, name))

    return _absent_volume(f"Physical Volume {name}", "does not exist", is_there, remove)


def vg_present(name: str, devices: object = None, **kwargs: Any) -> VolumeGroup:
    """A group with these devices, a list; it may have others. Further options of ``vgcreate``."""
    report.flags("lvm.vg_present", kwargs, report.OF_VGCREATE)
    wanted = tuple(report.names(devices))
    return VolumeGroup(name=str(name), devices=wanted, options=own_keywords(kwargs))


def vg_absent(name: str) -> Fact:
    """No such group; logical volumes in it are lost."""
    name = str(name)

    def is_there(ctx: MinionContext) -> bool:
        return bool(ctx.follow(lvm.vgdisplay, name))

    def remove(ctx: MinionContext) -> None:
        said = ctx.follow(lvm.vgremove, name)
        if is_there(ctx):
            raise FunctionError(f"Failed to remove Volume Group {name}: {said}")

    return _absent_volume(f"Volume Group {name}", "already absent", is_there, remove)


def lv_present(
    name: str,
    vgname: str | None = None,
    size: object = None,
    extents: object = None,
    snapshot: str | None = None,
    pv: str = "",
    thinvolume: bool = False,
    thinpool: bool = False,
    force: bool = False,
    resizefs: bool = False,
    **kwargs: Any,
) -> LogicalVolume | Verdict:
    """A logical volume of a size (``10G``) or a number of extents (``100%FREE``) in a group.

    ``force`` lets it become smaller; ``resizefs`` resizes the file system on it. A share of what
    is free counts only when the volume is made. ``thinpool``: a pool of thin volumes;
    ``thinvolume``: a volume in one, ``vgname`` being ``group/pool``; ``snapshot``: of that volume.
    """
    report.flags("lvm.lv_present", kwargs, report.OF_LVCREATE)
    wrong = _find_mistake(vgname, size, extents, thinvolume and thinpool)
    if wrong:
        return Verdict(result=False, comment=wrong)
    made = {"snapshot": snapshot, "pv": pv, "thinvolume": thinvolume, "thinpool": thinpool}
    return LogicalVolume(
        name=str(name),
        group=str(vgname),
        size=size,
        extents=extents,
        force=bool(force),
        resizefs=bool(resizefs),
        options={**made, **own_keywords(kwargs)},
    )


def _find_mistake(vgname: str | None, size: object, extents: object, is_pool_in_pool: bool) -> str:
    if size and extents:
        return "Only one of extents or size can be specified."
    if not size and not extents:
        return "One of extents or size must be specified."
    if is_pool_in_pool:
        return "Only one of thinvolume or thinpool can be set to True."
    if not vgname:
        return "vgname must be specified: the volume group of the logical volume."
    if size:
        report.sectors(size)
    return ""


def lv_absent(name: str, vgname: str | None = None) -> Fact | Verdict:
    """No such logical volume; what is on it is lost."""
    if not vgname:
        said = "vgname must be specified: the volume group of the logical volume."
        return Verdict(result=False, comment=said)
    name, group = str(name), str(vgname).partition("/")[0]

    def is_there(ctx: MinionContext) -> bool:
        return bool(ctx.follow(lvm.lvdisplay, f"/dev/{group}/{name}"))

    def remove(ctx: MinionContext) -> None:
        said = ctx.follow(lvm.lvremove, name, group)
        if is_there(ctx):
            raise FunctionError(f"Failed to remove Logical Volume {name}: {said}")

    return _absent_volume(f"Logical Volume {name}", "already absent", is_there, remove)


def _absent_volume(
    what: str,
    known: str,
    is_there: Callable[[MinionContext], bool],
    remove: Callable[[MinionContext], None],
) -> Fact:
    return Fact(
        holds=lambda ctx: not is_there(ctx),
        make=remove,
        intent=f"{what} is set to be removed",
        report=f"Removed {what}",
        known=f"{what} {known}",
        told={"removed": True},
    )


def _first_row(found: Mapping[str, Mapping[str, str]]) -> Row:
    return next(iter(found.values()), None)


@dataclass(frozen=True, slots=True)
class Groups:
    """A group, and the group of each of its declared devices, ``None`` for no physical volume."""

    group: Row
    of_devices: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeGroup(Resource[Groups]):
    """A group of physical volumes."""

    drawn: ClassVar[frozenset[str]] = frozenset(report.GROUP)

    name: str
    devices: tuple[str, ...]
    options: Mapping[str, Any]

    def read(self, ctx: MinionContext) -> Groups:
        rows = {device: _first_row(ctx.follow(lvm.pvdisplay, device)) for device in self.devices}
        return Groups(
            group=_first_row(ctx.follow(lvm.vgdisplay, self.name)),
            of_devices={
                device: None if row is None else row["Volume Group Name"]
                for device, row in rows.items()
            },
        )

    def plan(self, now: Groups) -> list[Step] | Verdict:
        if now.group is None:
            if not self.devices:
                said = f"Failed to create Volume Group {self.name}: no devices are given"
                return Verdict(result=False, comment=said)
            would = f"Volume Group {self.name} is set to be created"
            did = f"Created Volume Group {self.name}"
            changes: dict[str, Any] = {"created": {self.name: {}}}
            return [Step(would=would, did=did, changes=changes, run=self._create_group)]
        lost = [device for device in self.devices if self._cannot_be_had(now, device)]
        if lost:
            return Verdict(result=False, comment=self.comment_unchanged(now))
        return [
            Step(
                would=f"{device} is set to be added to Volume Group",
                did=f"{device} has been added to Volume Group",
                changes={device: f"added to {self.name}"},
                run=partial(self._extend_group, device=device),
            )
            for device in self.devices
            if now.of_devices[device] != self.name
        ]

    def _cannot_be_had(self, now: Groups, device: str) -> bool:
        """It is no physical volume, or in another group."""
        group = now.of_devices[device]
        return group != self.name and (group is None or not _is_orphans(group))

    def _create_group(self, ctx: MinionContext) -> None:
        answer = ctx.follow(lvm.vgcreate, self.name, list(self.devices), **self.options)
        if isinstance(answer, str) or self.name not in answer:
            said = answer if isinstance(answer, str) else answer["Output from vgcreate"]
            raise FunctionError(f"Failed to create Volume Group {self.name}: {said}")

    def _extend_group(self, ctx: MinionContext, device: str) -> None:
        answer = ctx.follow(lvm.vgextend, self.name, device)
        row = _first_row(ctx.follow(lvm.pvdisplay, device))
        if row is None or row["Volume Group Name"] != self.name:
            raise FunctionError(f"{device} could not be added: {answer}")

    def comment_unchanged(self, now: Groups) -> str:
        lines = [f"Volume Group {self.name} already present"]
        for device, group in now.of_devices.items():
            if group == self.name:
                lines.append(f"{device} is part of Volume Group")
            elif group is None:
                lines.append(f"pv {device} is not present")
            elif not _is_orphans(group):
                lines.append(f"{device} is in Volume Group {group}")
        return "\n".join(lines)

    def changes(self, before: Groups, after: Groups, steps: Sequence[Step]) -> dict[str, Any]:
        if before.group is None and after.group is not None:
            return {"created": {self.name: dict(after.group)}}
        return {device: change for step in steps for device, change in step.changes.items()}


def _is_orphans(group: str) -> bool:
    """Whether that is no group: of physical volumes that are in none."""
    return not group or group.startswith("#orphans")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicalVolume(Resource[Row]):
    """A logical volume; ``options`` are those of ``lvm.lvcreate``."""

    drawn: ClassVar[frozenset[str]] = frozenset(report.LOGICAL)

    name: str
    group: str
    size: Any
    extents: Any
    force: bool
    resizefs: bool
    options: Mapping[str, Any]

    @property
    def path(self) -> str:
        """The device; a thin volume is in the group of its pool."""
        return f"/dev/{self.group.partition('/')[0]}/{self.name}"

    def read(self, ctx: MinionContext) -> Row:
        return _first_row(ctx.follow(lvm.lvdisplay, self.path))

    def plan(self, now: Row) -> list[Step] | Verdict:
        if now is None:
            would = f"Logical Volume {self.name} is set to be created"
            did = f"Created Logical Volume {self.name}"
            changes: dict[str, Any] = {"created": {self.path: {}}}
            return [Step(would=would, did=did, changes=changes, run=self._create_volume)]
        has = int(now["Current Logical Extents Associated"])
        wanted = self._wanted_extents(now, has)
        if wanted is None or wanted == has:
            return []
        if wanted < has and not self.force:
            said = "To reduce a Logical Volume option 'force' must be True."
            return Verdict(result=False, comment=said)
        would = f"Logical Volume {self.name} is set to be resized"
        did = f"Resized Logical Volume {self.name}"
        changes = {"resized": {self.path: {"old": has, "new": wanted}}}
        return [Step(would=would, did=did, changes=changes, run=self._resize_volume)]

    def _wanted_extents(self, now: Mapping[str, str], has: int) -> int | None:
        """The extents that it shall have; a size is rounded up, as lvm2 does."""
        if self.extents:
            return None if "%" in str(self.extents) else int(self.extents)
        if not has:
            return None
        return math.ceil(report.sectors(self.size) / (int(now["Logical Volume Size"]) // has))

    def _create_volume(self, ctx: MinionContext) -> None:
        answer = ctx.follow(
            lvm.lvcreate,
            self.name,
            self.group,
            size=self.size,
            extents=self.extents,
            force=self.force,
            **self.options,
        )
        if isinstance(answer, str) or self.path not in answer:
            said = answer if isinstance(answer, str) else answer["Output from lvcreate"]
            raise FunctionError(f"Failed to create Logical Volume {self.name}. Error: {said}")

    def _resize_volume(self, ctx: MinionContext) -> None:
        before = self.read(ctx)
        answer = ctx.follow(
            lvm.lvresize,
            self.size,
            self.path,
            self.extents,
            force=self.force,
            resizefs=self.resizefs,
        )
        if self.read(ctx) == before:
            said = "".join(answer.values())
            raise FunctionError(f"Failed to resize Logical Volume. Error: {said}")

    def comment_unchanged(self, now: Row) -> str:
        if "%" in str(self.extents):
            kept = f"{self.extents} won't be resized."
            return f"Logical Volume {self.name} already present, {kept}"
        return f"Logical Volume {self.name} already present"

    def changes(self, before: Row, after: Row, steps: Sequence[Step]) -> dict[str, Any]:
        if before is None and after is not None:
            return {"created": {self.path: dict(after)}}
        return {key: value for step in steps for key, value in step.changes.items()}
