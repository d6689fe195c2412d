"""Block devices: which file system is on one, and how the kernel treats it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError, ProgramMissing, UsageError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import disk
from saltlite.providers import command
from saltlite.providers.command import CommandOptions

BLKID_FOUND_NOTHING = 2
"""Its exit code; any other but 0 means that it could not look."""

_SETTINGS = {
    "read-ahead": "getra",
    "filesystem-read-ahead": "getfra",
    "read-only": "getro",
    "read-write": "getro",
}
"""What can be declared of a device, and the name under which ``disk.dump`` tells it."""

_SWITCHES = ("read-only", "read-write")


def formatted(
    name: str,
    fs_type: str = "ext4",
    force: bool = False,
    inode_size: object = None,
    lazy_itable_init: object = None,
    fat: object = None,
) -> FileSystem:
    """A device with this kind of file system; if it has another one or none, it is made anew.

    Whatever was on it is lost then. ``force`` has ``mkfs`` overwrite what it takes for data.
    """
    given = {"inode_size": inode_size, "lazy_itable_init": lazy_itable_init, "fat": fat}
    return FileSystem(
        name=str(name),
        kind=str(fs_type),
        force=bool(force),
        options={option: value for option, value in given.items() if value is not None},
    )


def tuned(name: str, **kwargs: Any) -> Tuned:
    """A device with these settings.

    They are ``read-ahead`` and ``filesystem-read-ahead`` (in sectors of 512 bytes), ``read-only``
    and ``read-write``.
    """
    given = own_keywords(kwargs)
    stray = [f"{key}={value}" for key, value in given.items() if key not in _SETTINGS]
    if stray:
        raise UsageError(f"Invalid keyword arguments: {', '.join(stray)}")
    if given.get("read-only") and given.get("read-write"):
        raise UsageError("blockdev.tuned: read-only and read-write exclude each other")
    wanted = {key: True if key in _SWITCHES else value for key, value in given.items() if value}
    return Tuned(name=str(name), wanted=wanted)


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """Whether there is something of that name, what is on it, and whether the kind can be made."""

    is_there: bool
    kind: str = ""
    can_be_made: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem(Resource[DeviceStatus]):
    """A file system on a device."""

    name: str
    kind: str
    force: bool
    options: Mapping[str, Any]

    def read(self, ctx: MinionContext) -> DeviceStatus:
        if not os.path.exists(self.name):
            return DeviceStatus(is_there=False)
        can_be_made = ctx.host.which(f"mkfs.{self.kind}") is not None
        return DeviceStatus(is_there=True, kind=_kind_on(ctx, self.name), can_be_made=can_be_made)

    def plan(self, now: DeviceStatus) -> list[Step] | Verdict:
        if not now.is_there:
            return Verdict(result=False, comment=f"{self.name} does not exist")
        if now.kind == self.kind:
            return []
        if not now.can_be_made:
            return Verdict(result=False, comment=f"Invalid fs_type: {self.kind}")
        changes = {"old": now.kind, "new": self.kind}
        would = f"Changes to {self.name} will be applied"
        return [Step(would=would, changes=changes, run=self._format_device)]

    def _format_device(self, ctx: MinionContext) -> None:
        if not ctx.follow(disk.format_, self.name, self.kind, force=self.force, **self.options):
            raise FunctionError(f"Failed to format {self.name}")

    def comment_unchanged(self, now: DeviceStatus) -> str:
        return f"{self.name} already formatted with {self.kind}"

    def comment_changed(
        self, before: DeviceStatus, after: DeviceStatus, steps: Sequence[Step]
    ) -> str:
        return f"{self.name} has been formatted with {self.kind}"

    def unmet(self, after: DeviceStatus, left: Sequence[Step]) -> str:
        return f"Failed to format {self.name}"


def _kind_on(ctx: MinionContext, device: str) -> str:
    """The kind of file system on a device, empty for none.

    Raises:
        FunctionError: that cannot be told. A device that could not be looked at is not empty.
    """
    if ctx.host.which("blkid") is None:
        raise ProgramMissing("blkid")
    # Its cache may still have what was there before mkfs.
    argv = ["blkid", "-c", "/dev/null", "-o", "value", "-s", "TYPE", device]
    done = command.run(ctx, argv, CommandOptions(python_shell=False, ignore_retcode=True))
    if done.retcode not in (0, BLKID_FOUND_NOTHING):
        raise FunctionError(f"What is on {device} cannot be told: {done.stderr or 'blkid failed'}")
    return done.stdout.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned(Resource[Mapping[str, str] | None]):
    """Settings of a device; read is what ``blockdev`` tells, ``None`` if it is no device."""

    name: str
    wanted: Mapping[str, Any]

    def read(self, ctx: MinionContext) -> Mapping[str, str] | None:
        try:
            is_device = stat.S_ISBLK(os.stat(self.name).st_mode)
        except OSError:
            is_device = False
        if not is_device:
            return None
        found = ctx.follow(disk.dump, self.name)
        if isinstance(found, bool):
            raise FunctionError(f"blockdev tells nothing of {self.name}")
        return found

    def plan(self, now: Mapping[str, str] | None) -> list[Step] | Verdict:
        if now is None:
            said = f"Changes to {self.name} cannot be applied. Not a block device."
            return Verdict(result=False, comment=said)
        if not self.wanted:
            said = f"Nothing is said of {self.name}: give one of {', '.join(_SETTINGS)}"
            return Verdict(result=False, comment=said)
        differing = {
            key: (old, wanted)
            for key, wanted in self.wanted.items()
            if str(old := _read_setting(now, key)) != str(wanted)
        }
        if not differing:
            return []
        return [
            Step(
                would=f"Changes to {self.name} will be applied",
                changes={
                    key: f"Changed from {old} to {wanted}"
                    for key, (old, wanted) in differing.items()
                },
                run=partial(self._tune_device, keys=list(differing)),
            )
        ]

    def _tune_device(self, ctx: MinionContext, keys: list[str]) -> None:
        ctx.follow(disk.tune, self.name, **{key: self.wanted[key] for key in keys})

    def comment_unchanged(self, now: Mapping[str, str] | None) -> str:
        return f"Block device {self.name} already in correct state"

    def comment_changed(
        self,
        before: Mapping[str, str] | None,
        after: Mapping[str, str] | None,
        steps: Sequence[Step],
    ) -> str:
        return f"Block device {self.name} successfully modified"

    def unmet(self, after: Mapping[str, str] | None, left: Sequence[Step]) -> str:
        return f"Failed to modify block device {self.name}"


def _read_setting(now: Mapping[str, str], key: str) -> str | bool:
    """A setting as it would be declared."""
    value = now[_SETTINGS[key]]
    if key in _SWITCHES:
        return (value == "1") is (key == "read-only")
    return value
