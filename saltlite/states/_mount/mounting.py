"""A place where something is mounted, or nothing: what the kernel shows of it, and how it moves."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import mount as mounts
from saltlite.providers.mount import fstab
from saltlite.states._mount.table import SAID, TableLine, table_at, words_of

UNSEEN = frozenset(
    {
        *("defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail"),
        *("_netdev", "bind", "rbind", "loop", "bg", "fg", "intr", "nointr", "nobootwait"),
    }
)
"""Options for ``mount`` and the start, which the kernel never shows. Source: mount(8), nfs(5)."""

UNSEEN_KEYS = frozenset(
    {"comment", "credentials", "password", "retry", "actimeo", "offset", "secretfile"}
)
_DEFAULTS = {
    "exec": "noexec",
    "suid": "nosuid",
    "dev": "nodev",
    "async": "sync",
    "atime": "noatime",
    "diratime": "nodiratime",
}
"""Options that the kernel shows only by the absence of their contrary."""

_SEEN = frozenset({"ro", "rw", "sync", "relatime", *_DEFAULTS.values()})
_STACKED = 64
"""How many mounts may lie upon each other at a place that is to be cleared."""
_UNITS = {"k": 1, "m": 1024, "g": 1024 * 1024}


@dataclass(frozen=True, slots=True)
class ActiveMount:
    """What is mounted somewhere, as the kernel and blkid show it."""

    device: str | None = None
    alt_device: str | None = None
    device_uuid: str | None = None
    device_label: str | None = None
    fstype: str | None = None
    opts: Sequence[str] = ()
    superopts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class NotedMount:
    """What was mounted somewhere by the last run, and with which options."""

    device: str | None = None
    opts: Any = None


@dataclass(frozen=True, slots=True)
class MountPoint:
    """A place: what is mounted there, whether it exists, and the table."""

    mount: ActiveMount | None
    exists: bool
    table: str
    noted: tuple[str, ...] = ()
    real_device: str = ""


def _find_active(ctx: MinionContext, name: str) -> ActiveMount | None:
    there = ctx.follow(mounts.active, extended=True).get(os.path.realpath(name))
    return read_fields(ActiveMount, there) if there else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted(Resource[MountPoint]):
    """A device that is mounted at a place."""

    name: str
    device: str
    fstype: str
    options: tuple[str, ...]
    line: TableLine
    persist: bool
    mount: bool
    makes_place: bool
    user: str | None
    patterns: tuple[str, ...]
    unseen: frozenset[str]
    unseen_keys: frozenset[str]
    shown_as: Mapping[str, str] = field(default_factory=dict)

    def read(self, ctx: MinionContext) -> MountPoint:
        noted = read_fields(NotedMount, ctx.follow(mounts.read_mount_cache, self.name))
        return MountPoint(
            mount=_find_active(ctx, self.name),
            exists=ctx.host.exists(self.name),
            table=table_at(ctx, self.line.path) if self.persist else "",
            noted=words_of(noted.opts) if noted.device == self.device else (),
            real_device=os.path.realpath(self.device) if self.device.startswith("/") else "",
        )

    def plan(self, now: MountPoint) -> list[Step] | Verdict:
        steps: list[Step] = []
        if self.mount:
            if not now.mount and not now.exists and not self.makes_place:
                return Verdict(result=False, comment="Mount directory is not present")
            steps = self._plan_mount(now)
        elif self.makes_place and not now.exists:
            steps = [
                Step(
                    would=f"{self.name} would be created, but not mounted.",
                    run=lambda ctx: disk.make_way(Path(self.name)),
                    changes={} if self._keeps_entry(now) else {"directory": "created"},
                )
            ]
        if self._keeps_entry(now):
            steps.append(self._plan_entry(now))
        return steps

    def _keeps_entry(self, now: MountPoint) -> bool:
        """Whether the table is to be written."""
        return self.persist and self.line.answer(now.table) != "present"

    def _plan_mount(self, now: MountPoint) -> list[Step]:
        if not now.mount:
            what = "created and mounted" if not now.exists else "mounted"
            return [self._mount_step(f"{self.name} would be {what}")]
        if "bind" in self.options or "rbind" in self.options:
            return []
        if not self._is_device(now.mount, now.real_device):
            return [self._plan_unmount(now.mount), self._mount_step("")]
        changed = ",".join(sorted(self._find_changed(now.mount, now.noted)))
        return [self._plan_remount(changed)] if changed else []

    def _is_device(self, there: ActiveMount, real_device: str) -> bool:
        uuid, label = str(there.device_uuid or ""), str(there.device_label or "")
        names = {there.device, there.alt_device, f"LABEL={label}".lower()}
        names |= {f"UUID={uuid}".lower()}
        ours = {self.device, real_device or self.device, self.device.rstrip("/")}
        if ours & names or self.device.lower() in names:
            return True
        shown = str(there.device)
        fuse = "fuse" in str(there.fstype)
        return fuse or any(re.match(pattern, shown) for pattern in self.patterns)

    def _find_changed(self, there: ActiveMount, noted: Sequence[str]) -> list[str]:
        """The options that the mount does not have."""
        shown = [*there.opts, *there.superopts]
        have = set(map(_in_bytes, shown))
        keys = {each.partition("=")[0] for each in shown}
        return [each for each in self.options if not self._has_option(each, have, keys, noted)]

    def _has_option(
        self, option: str, have: set[str], keys: set[str], noted: Sequence[str]
    ) -> bool:
        option = self.shown_as.get(option, option)
        key, is_pair, _ = option.partition("=")
        if option in self.unseen or key in self.unseen_keys or key.startswith("x-"):
            return True
        if option in _DEFAULTS:
            return _DEFAULTS[option] not in have
        if _in_bytes(option) in have:
            return True
        can_be_seen = key in keys if is_pair else option in _SEEN
        return not can_be_seen and option in noted  # what is never shown was set as it is noted

    def _mount_step(self, would: str) -> Step:
        return Step(would=would, did="mounted", changes={"mount": True}, run=self._do_mount)

    def _do_mount(self, ctx: MinionContext) -> None:
        answer = ctx.follow(
            mounts.mount,
            self.name,
            self.device,
            self.makes_place,
            self.fstype,
            self.options,
            self.user,
        )
        self._check_answer(ctx, answer)

    def _check_answer(self, ctx: MinionContext, answer: bool | str) -> None:
        if answer is not True:
            raise FunctionError(str(answer) or f"{self.name} cannot be mounted")
        ctx.follow(
            mounts.write_mount_cache,
            self.name,
            self.device,
            self.makes_place,
            self.fstype,
            list(self.options),
        )

    def _plan_unmount(self, there: ActiveMount) -> Step:
        shown = [there.device, there.alt_device]
        current = ", ".join(str(each) for each in shown if each)
        told = "An umount would have been forced because devices do not match.  Watched: "
        because = f"devices don't match. Wanted: {self.device}, current: {current}"
        return Step(
            would=f"{told}{self.device}",
            changes={"umount": f"Forced unmount because {because}"},
            run=lambda ctx: unmount(ctx, self.name, self.user),
        )

    def _plan_remount(self, changed: str) -> Step:
        def run(ctx: MinionContext) -> None:
            answer = ctx.follow(
                mounts.remount, self.name, self.device, False, self.fstype, self.options, self.user
            )
            self._check_answer(ctx, answer)

        because = f"because options ({changed}) changed"
        return Step(
            would=f"Remount would be forced {because}",
            changes={"umount": f"Forced remount {because}"},
            run=run,
        )

    def _plan_entry(self, now: MountPoint) -> Step:
        answer = self.line.answer(now.table)
        told = f"{self.name} needs to be written to the fstab in order to be made persistent."
        return Step(
            would=f"{self.name}: its fstab entry must be updated." if answer == "change" else told,
            changes={"persist": "update" if answer == "change" else answer},
            run=self.line.write,
        )

    def comment_unchanged(self, now: MountPoint) -> str:
        return self._say_table(now, now, "Target was already mounted")

    def comment_changed(self, before: MountPoint, after: MountPoint, steps: Sequence[Step]) -> str:
        is_new = any(step.did == "mounted" for step in steps)
        said = "successfully" if is_new else "already"
        return self._say_table(before, after, f"Target was {said} mounted")

    def _say_table(self, before: MountPoint, after: MountPoint, said: str) -> str:
        if not self.mount:
            missing = "" if after.exists else "not present and "
            missing = "was created, " if after.exists and not before.exists else missing
            said = f"{self.name} {missing}not mounted" if not after.mount else ""
        return f"{said}. {SAID[self.line.answer(before.table)]}" if self.persist else said


def _in_bytes(option: str) -> str:
    """An option with sizes in one unit, as the kernel shows ``size=1m`` as ``size=1024k``."""
    key, _, value = option.partition("=")
    size = re.fullmatch(r"(\d+)([kmgKMG])", value)
    return option if size is None else f"{key}={int(size[1]) * _UNITS[size[2].lower()]}k"


def unmount(ctx: MinionContext, name: str, user: str | None) -> None:
    """Unmount a place; raises FunctionError with what ``umount`` said."""
    answer = ctx.follow(mounts.umount, name, user=user)
    if answer is not True:
        raise FunctionError(str(answer) or f"{name} cannot be unmounted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmounted(Resource[MountPoint]):
    """A place where nothing is mounted."""

    name: str
    device: str | None
    config: str
    persist: bool
    user: str | None

    def read(self, ctx: MinionContext) -> MountPoint:
        there = _find_active(ctx, self.name)
        if self.device and there and self.device not in (there.device, there.alt_device):
            there = None
        return MountPoint(there, True, table_at(ctx, self.config) if self.persist else "")

    def plan(self, now: MountPoint) -> list[Step]:
        steps = []
        if now.mount:
            steps.append(
                Step(
                    would=f"Mount point {self.name} is mounted but should not be",
                    did="Target was successfully unmounted",
                    changes={"umount": True},
                    run=self._unmount_all,
                )
            )
        if self._is_kept(now):
            steps.append(
                Step(
                    would=f"Mount point {self.name} is in the fstab but should not be",
                    did="Removed target from fstab",
                    changes={"persist": "purged"},
                    run=lambda ctx: ctx.follow(
                        mounts.rm_fstab, self.name, self.device, self.config
                    ),
                )
            )
        return steps

    def _unmount_all(self, ctx: MinionContext) -> None:
        """Unmount what is there, and what it may hide."""
        for _ in range(_STACKED):
            unmount(ctx, self.name, self.user)
            if not self.read(ctx).mount:
                return

    def _is_kept(self, now: MountPoint) -> bool:
        return fstab.without_entry(now.table, self.name, self.device) != now.table

    def comment_unchanged(self, now: MountPoint) -> str:
        return "Target was already unmounted" + ". fstab entry not found" * self.persist

    def would(self, now: MountPoint, steps: Sequence[Step]) -> str:
        return steps[0].would

    def comment_changed(self, before: MountPoint, after: MountPoint, steps: Sequence[Step]) -> str:
        first = "" if before.mount else "Target was already unmounted. "
        last = "" if self._is_kept(before) or not self.persist else ". fstab entry not found"
        return first + ". ".join(step.did for step in steps) + last
