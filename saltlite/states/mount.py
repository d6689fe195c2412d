"""File systems: mounted or not, now and at every start."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Resource, Step, Verdict, joined
from saltlite.modules import mount as mounts
from saltlite.providers import command, textfile
from saltlite.providers.command import Options
from saltlite.providers.mount import active, fstab

_UNSEEN = frozenset(
    {
        *("defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail"),
        *("_netdev", "bind", "rbind", "loop", "bg", "fg", "intr", "nointr", "nobootwait"),
    }
)
"""Options for ``mount`` and the start, which the kernel never shows. Source: mount(8), nfs(5)."""

_UNSEEN_KEYS = frozenset(
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
_UNITS = {"k": 1, "m": 1024, "g": 1024 * 1024}
_FSTAB_SAID = {
    "new": "Added new entry to the fstab.",
    "change": "Updated the entry in the fstab.",
    "present": "Entry already exists in the fstab.",
}


def mounted(
    name: str,
    device: str,
    fstype: str,
    mkmnt: bool = False,
    opts: Any = "defaults",
    dump: Any = 0,
    pass_num: Any = 0,
    config: str = "/etc/fstab",
    persist: bool = True,
    mount: bool = True,
    user: str | None = None,
    match_on: Any = "auto",
    device_name_regex: Any = None,
    extra_mount_invisible_options: Any = None,
    extra_mount_invisible_keys: Any = None,
    extra_mount_ignore_fs_keys: Any = None,
    extra_mount_translate_options: Mapping[str, str] | None = None,
    hidden_opts: Any = None,
    bind_mount_copy_active_opts: bool = True,
    **kwargs: Any,
) -> Mounted | Verdict:
    """A device mounted at ``name``; with ``persist`` at every start too.

    ``mkmnt`` makes the directory. ``mount=False`` only sees to the table. A device that matches
    ``device_name_regex`` counts as the declared one; ``hidden_opts`` and the ``invisible``
    arguments name options that the kernel does not show, ``extra_mount_ignore_fs_keys`` those of
    one kind of file system (``{ext4: [barrier]}``), ``extra_mount_translate_options`` how it shows
    others.
    """
    listed = _options(opts)
    of_kind = _options((extra_mount_ignore_fs_keys or {}).get(fstype, ()))
    try:
        keys = fstab.criteria(match_on, fstype)
    except ValueError as error:
        said = f'Unrecognized keys in match_on: "{error.args[0]}"'
        return Verdict(result=False, comment=said)
    return Mounted(
        name=name,
        device=str(device),
        fstype=fstype,
        options=listed,
        line=_entry(name, str(device), fstype, listed, dump, pass_num),
        keys=tuple(keys),
        config=config,
        persist=persist,
        mount=mount,
        makes_place=mkmnt,
        user=user,
        patterns=tuple(device_name_regex or ()),
        unseen=frozenset(
            {*(extra_mount_invisible_options or ()), *_options(hidden_opts), *_UNSEEN}
        ),
        unseen_keys=frozenset({*(extra_mount_invisible_keys or ()), *of_kind, *_UNSEEN_KEYS}),
        shown_as=dict(extra_mount_translate_options or {}),
    )


def swap(name: str, persist: bool = True, config: str = "/etc/fstab") -> Swap:
    """A device or file that is swapped to; with ``persist`` at every start too."""
    line = _entry("none", name, "swap", ("defaults",), 0, 0)
    return Swap(name=name, line=line, config=config, persist=persist)


def mod_watch(
    name: str, user: str | None = None, sfun: str | None = None, **kwargs: Any
) -> Action | Verdict:
    """Mount ``name`` again with the options it has, because something that is watched changed."""
    if sfun != "mounted":
        said = f"Watch not supported in {sfun} at this time"
        return Verdict(result=False, comment=said)

    def run(ctx: MinionContext) -> Verdict:
        answer = mounts.remount(
            ctx,
            name,
            str(kwargs.get("device", "")),
            False,
            str(kwargs.get("fstype", "")),
            _options(kwargs.get("opts", "defaults")),
            user,
        )
        if answer is True:
            return Verdict(result=True, comment=f"{name} remounted", changes={name: True})
        return Verdict(result=False, comment=f"{name} failed to remount: {answer}")

    return Action(would=f"{name} would be remounted", run=run, changes={name: True})


def unmounted(
    name: str,
    device: str | None = None,
    config: str = "/etc/fstab",
    persist: bool = False,
    user: str | None = None,
    **kwargs: Any,
) -> Unmounted:
    """Nothing mounted at ``name``; with ``persist`` nor at the start."""
    return Unmounted(name=name, device=device, config=config, persist=persist, user=user)


def fstab_present(
    ctx: MinionContext,
    name: str,
    fs_file: str,
    fs_vfstype: str,
    fs_mntops: Any = "defaults",
    fs_freq: Any = 0,
    fs_passno: Any = 0,
    mount_by: str | None = None,
    config: str = "/etc/fstab",
    mount: bool = True,
    match_on: Any = "auto",
    not_change: bool = False,
    fs_mount: bool = True,
) -> Line | Verdict:
    """A line for the device ``name`` in the table; what is new there is mounted at once.

    ``mount_by`` names the device another way: ``uuid``, ``label``, ``partuuid``, ``partlabel``.
    ``not_change`` leaves a line alone that is there.
    """
    device = _named_by(ctx, name, mount_by)
    if device is None:
        said = f"Device {name} cannot be converted to {mount_by}"
        return Verdict(result=False, comment=said)
    line = _entry(fs_file, device, fs_vfstype, _options(fs_mntops), fs_freq, fs_passno)
    keys = tuple(fstab.criteria(match_on, fs_vfstype))
    return Line(
        path=fs_file, device=device, line=line, keys=keys, config=config,
        keeps=not_change, mounts=mount and fs_mount,
    )  # fmt: skip


def fstab_absent(
    ctx: MinionContext,
    name: str,
    fs_file: str,
    mount_by: str | None = None,
    config: str = "/etc/fstab",
) -> NoLine | Verdict:
    """No line for the device ``name`` and the place ``fs_file`` in the table."""
    device = _named_by(ctx, name, mount_by)
    if device is None:
        said = f"Device {name} cannot be converted to {mount_by}"
        return Verdict(result=False, comment=said)
    return NoLine(path=fs_file, device=device, config=config)


def _named_by(ctx: MinionContext, device: str, mount_by: str | None) -> str | None:
    """The device as the table shall name it, ``None`` if it has no such name."""
    if mount_by in (None, "device"):
        return device
    found: Mapping[str, Mapping[str, str]] = {}
    if ctx.host.which("blkid") is not None:
        options = Options(python_shell=False, ignore_retcode=True)
        found = active.parse_blkid(command.run(ctx, ["blkid"], options).stdout)
    key = str(mount_by).upper()
    value = found.get(device, {}).get(key)
    return f"{key}={value}" if value else None


def _options(given: Any) -> tuple[str, ...]:
    words = given if isinstance(given, (list, tuple)) else str(given or "").split(",")
    return tuple(word.strip() for word in map(str, words) if word.strip())


def _entry(
    name: str, device: str, fstype: str, opts: Sequence[str], dump: Any, pass_num: Any
) -> fstab.Entry:
    return fstab.Entry(
        device=fstab.escaped(device),
        name=fstab.escaped(name),
        fstype=fstype,
        opts=",".join(opts) or "defaults",
        dump=str(dump),
        pass_num=str(pass_num),
    )


@dataclass(frozen=True, slots=True)
class Place:
    """A place: what is mounted there (empty for nothing), whether it exists, and the table."""

    mount: Mapping[str, Any]
    exists: bool
    table: str
    noted: tuple[str, ...] = ()
    real_device: str = ""


def _table(ctx: MinionContext, path: str) -> str:
    return textfile.load(ctx.host, path) or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted(Resource[Place]):
    """A device that is mounted at a place."""

    name: str
    device: str
    fstype: str
    options: tuple[str, ...]
    line: fstab.Entry
    keys: tuple[str, ...]
    config: str
    persist: bool
    mount: bool
    makes_place: bool
    user: str | None
    patterns: tuple[str, ...]
    unseen: frozenset[str]
    unseen_keys: frozenset[str]
    shown_as: Mapping[str, str] = field(default_factory=dict)

    def read(self, ctx: MinionContext) -> Place:
        there = mounts.active(ctx, extended=True).get(os.path.realpath(self.name), {})
        noted = mounts.read_mount_cache(ctx, self.name)
        return Place(
            mount=there,
            exists=ctx.host.exists(self.name),
            table=_table(ctx, self.config) if self.persist else "",
            noted=_options(noted.get("opts")) if noted.get("device") == self.device else (),
            real_device=os.path.realpath(self.device) if self.device.startswith("/") else "",
        )

    def plan(self, now: Place) -> list[Step] | Verdict:
        steps: list[Step] = []
        if self.mount:
            if not now.mount and not now.exists and not self.makes_place:
                return Verdict(result=False, comment="Mount directory is not present")
            steps = self._mounting(now)
        elif self.makes_place and not now.exists:
            steps = [
                Step(
                    would=f"{self.name} would be created, but not mounted.",
                    run=lambda ctx: os.makedirs(self.name),
                )
            ]
        if self.persist and self._answer(now) != "present":
            steps.append(self._kept(now))
        return steps

    def _answer(self, now: Place) -> str:
        return fstab.with_entry(now.table, self.line, list(self.keys), not_change=False)[1]

    def _mounting(self, now: Place) -> list[Step]:
        if not now.mount:
            what = "created and mounted" if not now.exists else "mounted"
            return [self._mount(f"{self.name} would be {what}")]
        if "bind" in self.options or "rbind" in self.options:
            return []
        if not self._is_device(now):
            return [self._unmount(now), self._mount("")]
        changed = ",".join(sorted(self._changed(now)))
        return [self._remount(changed)] if changed else []

    def _is_device(self, now: Place) -> bool:
        there = now.mount
        uuid, label = str(there.get("device_uuid") or ""), str(there.get("device_label") or "")
        names = {there.get("device"), there.get("alt_device"), f"LABEL={label}".lower()}
        names |= {f"UUID={uuid}".lower()}
        ours = {self.device, now.real_device or self.device, self.device.rstrip("/")}
        if ours & names or self.device.lower() in names:
            return True
        shown = str(there.get("device"))
        fuse = "fuse" in str(there.get("fstype"))
        return fuse or any(re.match(pattern, shown) for pattern in self.patterns)

    def _changed(self, now: Place) -> list[str]:
        """The options that the mount does not have."""
        shown = [*now.mount.get("opts", ()), *now.mount.get("superopts", ())]
        have = set(map(_plain, shown))
        keys = {each.partition("=")[0] for each in shown}
        return [each for each in self.options if not self._has(each, have, keys, now.noted)]

    def _has(self, option: str, have: set[str], keys: set[str], noted: Sequence[str]) -> bool:
        option = self.shown_as.get(option, option)
        key, is_pair, _ = option.partition("=")
        if option in self.unseen or key in self.unseen_keys or key.startswith("x-"):
            return True
        if option in _DEFAULTS:
            return _DEFAULTS[option] not in have
        if _plain(option) in have:
            return True
        can_be_seen = key in keys if is_pair else option in _SEEN
        return not can_be_seen and option in noted  # what is never shown was set as it is noted

    def _mount(self, would: str) -> Step:
        return Step(would=would, did="mounted", changes={"mount": True}, run=self._do_mount)

    def _do_mount(self, ctx: MinionContext) -> None:
        answer = mounts.mount(
            ctx, self.name, self.device, self.makes_place, self.fstype, self.options, self.user
        )
        self._checked(ctx, answer)

    def _checked(self, ctx: MinionContext, answer: bool | str) -> None:
        if answer is not True:
            raise FunctionError(str(answer) or f"{self.name} cannot be mounted")
        mounts.write_mount_cache(
            ctx, self.name, self.device, self.makes_place, self.fstype, list(self.options)
        )

    def _unmount(self, now: Place) -> Step:
        shown = [now.mount.get("device"), now.mount.get("alt_device")]
        current = ", ".join(str(each) for each in shown if each)
        told = "An umount would have been forced because devices do not match.  Watched: "
        because = f"devices don't match. Wanted: {self.device}, current: {current}"
        return Step(
            would=f"{told}{self.device}",
            changes={"umount": f"Forced unmount because {because}"},
            run=lambda ctx: _unmount(ctx, self.name, self.user),
        )

    def _remount(self, changed: str) -> Step:
        def run(ctx: MinionContext) -> None:
            answer = mounts.remount(
                ctx, self.name, self.device, False, self.fstype, self.options, self.user
            )
            self._checked(ctx, answer)

        because = f"because options ({changed}) changed"
        return Step(
            would=f"Remount would be forced {because}",
            changes={"umount": f"Forced remount {because}"},
            run=run,
        )

    def _kept(self, now: Place) -> Step:
        answer = self._answer(now)
        told = f"{self.name} needs to be written to the fstab in order to be made persistent."
        return Step(
            would=f"{self.name}: its fstab entry must be updated." if answer == "change" else told,
            changes={"persist": "update" if answer == "change" else answer},
            run=self._write,
        )

    def _write(self, ctx: MinionContext) -> None:
        text = _table(ctx, self.config)
        changed, _ = fstab.with_entry(text, self.line, list(self.keys), not_change=False)
        textfile.save(self.config, changed)

    def settled(self, now: Place) -> str:
        return self._told(now, now, "Target was already mounted")

    def done(self, before: Place, after: Place, steps: Sequence[Step]) -> str:
        is_new = any(step.did == "mounted" for step in steps)
        said = "successfully" if is_new else "already"
        return self._told(before, after, f"Target was {said} mounted")

    def _told(self, before: Place, after: Place, said: str) -> str:
        if not self.mount:
            missing = "" if after.exists else "not present and "
            missing = "was created, " if after.exists and not before.exists else missing
            said = f"{self.name} {missing}not mounted" if not after.mount else ""
        return f"{said}. {_FSTAB_SAID[self._answer(before)]}" if self.persist else said


def _plain(option: str) -> str:
    """An option with sizes in one unit, as the kernel shows ``size=1m`` as ``size=1024k``."""
    key, _, value = option.partition("=")
    size = re.fullmatch(r"(\d+)([kmgKMG])", value)
    return option if size is None else f"{key}={int(size[1]) * _UNITS[size[2].lower()]}k"


def _unmount(ctx: MinionContext, name: str, user: str | None) -> None:
    answer = mounts.umount(ctx, name, user=user)
    if answer is not True:
        raise FunctionError(str(answer) or f"{name} cannot be unmounted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmounted(Resource[Place]):
    """A place where nothing is mounted."""

    name: str
    device: str | None
    config: str
    persist: bool
    user: str | None

    def read(self, ctx: MinionContext) -> Place:
        there = mounts.active(ctx, extended=True).get(os.path.realpath(self.name), {})
        if self.device and there and self.device not in (there["device"], there.get("alt_device")):
            there = {}
        return Place(there, True, _table(ctx, self.config) if self.persist else "")

    def plan(self, now: Place) -> list[Step]:
        steps = []
        if now.mount:
            steps.append(
                Step(
                    would=f"Mount point {self.name} is mounted but should not be",
                    did="Target was successfully unmounted",
                    changes={"umount": True},
                    run=lambda ctx: _unmount(ctx, self.name, self.user),
                )
            )
        if self._is_kept(now):
            steps.append(
                Step(
                    would=f"Mount point {self.name} is in the fstab but should not be",
                    did="Removed target from fstab",
                    changes={"persist": "purged"},
                    run=lambda ctx: mounts.rm_fstab(ctx, self.name, self.device, self.config),
                )
            )
        return steps

    def _is_kept(self, now: Place) -> bool:
        return fstab.without_entry(now.table, self.name, self.device) != now.table

    def settled(self, now: Place) -> str:
        return "Target was already unmounted" + ". fstab entry not found" * self.persist

    def would(self, now: Place, steps: Sequence[Step]) -> str:
        return steps[0].would

    def done(self, before: Place, after: Place, steps: Sequence[Step]) -> str:
        first = "" if before.mount else "Target was already unmounted. "
        last = "" if self._is_kept(before) or not self.persist else ". fstab entry not found"
        return first + ". ".join(step.did for step in steps) + last


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Resource[str]):
    """A line of the table."""

    path: str
    device: str
    line: fstab.Entry
    keys: tuple[str, ...]
    config: str
    keeps: bool
    mounts: bool

    def read(self, ctx: MinionContext) -> str:
        return _table(ctx, self.config)

    def plan(self, now: str) -> list[Step]:
        _, answer = fstab.with_entry(now, self.line, list(self.keys), not_change=self.keeps)
        if answer == "present":
            return []
        will, did = ("written", "added") if answer == "new" else ("updated", "updated")
        step = Step(
            would=f"{self.path} entry will be {will} in {self.config}.",
            did=f"{self.path} entry {did} in {self.config}.",
            changes={"persist": answer},
            run=self._write,
        )
        return [step, self._mount()] if answer == "new" and self.mounts else [step]

    def _write(self, ctx: MinionContext) -> None:
        text = _table(ctx, self.config)
        changed, _ = fstab.with_entry(text, self.line, list(self.keys), not_change=self.keeps)
        textfile.save(self.config, changed)

    def _mount(self) -> Step:
        def run(ctx: MinionContext) -> None:
            answer = mounts.mount(ctx, self.path)
            if answer is not True:
                said = f"{self.path} entry added in {self.config}.\n"
                error = str(answer).removeprefix("mount: ")
                raise FunctionError(f"{said}Error while mounting {error}")

        return Step(
            would=f"Will mount {self.device} on {self.path}",
            did=f"Mounted {self.device} on {self.path}",
            run=run,
        )

    def settled(self, now: str) -> str:
        return f"{self.path} entry was already in {self.config}."


@dataclass(frozen=True, slots=True, kw_only=True)
class NoLine(Resource[str]):
    """A line that is not in the table."""

    path: str
    device: str
    config: str

    def read(self, ctx: MinionContext) -> str:
        return _table(ctx, self.config)

    def plan(self, now: str) -> list[Step]:
        step = Step(
            would=f"{self.path} entry will be removed from {self.config}.",
            did=f"{self.path} entry removed from {self.config}.",
            changes={"persist": "removed"},
            run=lambda ctx: mounts.rm_fstab(ctx, self.path, self.device, self.config),
        )
        return [] if fstab.without_entry(now, self.path, self.device) == now else [step]

    def settled(self, now: str) -> str:
        return f"{self.path} entry is already missing in {self.config}."


@dataclass(frozen=True, slots=True)
class SwapSpace:
    """What is known of a swap space (nothing while it is not used), and the table."""

    stats: Mapping[str, str]
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap(Resource[SwapSpace]):
    """A device or file that is swapped to."""

    name: str
    line: fstab.Entry
    config: str
    persist: bool
    drawn: ClassVar[frozenset[str]] = frozenset({"type", "size", "used", "priority"})

    def read(self, ctx: MinionContext) -> SwapSpace:
        device = os.path.realpath(self._path)
        used = {os.path.realpath(each): stats for each, stats in mounts.swaps(ctx).items()}
        return SwapSpace(used.get(device, {}), _table(ctx, self.config) if self.persist else "")

    @property
    def _path(self) -> str:
        kind, _, value = self.name.partition("=")
        names = {"UUID": "by-uuid", "LABEL": "by-label"}
        return f"/dev/disk/{names[kind]}/{value}" if value and kind in names else self.name

    def plan(self, now: SwapSpace) -> list[Step]:
        steps = []
        if self.persist and self._answer(now) != "present":
            steps.append(
                Step(
                    would="added to the fstab",
                    changes={"persist": self._answer(now)},
                    run=self._write,
                )
            )
        if not now.stats:
            steps.append(Step(would="activated", run=self._activate))
        return steps

    def _answer(self, now: SwapSpace) -> str:
        return fstab.with_entry(now.table, self.line, ["device"], not_change=False)[1]

    def _write(self, ctx: MinionContext) -> None:
        text = _table(ctx, self.config)
        textfile.save(
            self.config, fstab.with_entry(text, self.line, ["device"], not_change=False)[0]
        )

    def _activate(self, ctx: MinionContext) -> None:
        if not mounts.swapon(ctx, self._path):
            raise FunctionError(f"Swap {self.name} failed to activate")

    def settled(self, now: SwapSpace) -> str:
        return f"Swap {self.name} already active"

    def would(self, now: SwapSpace, steps: Sequence[Step]) -> str:
        return f"Swap {self.name} is set to be {steps[-1].would}"

    def done(self, before: SwapSpace, after: SwapSpace, steps: Sequence[Step]) -> str:
        what = "already active" if before.stats else "activated"
        kept = "persist" in joined(steps)
        return f"Swap {self.name} {what}{f'. {_FSTAB_SAID[self._answer(before)]}' * kept}"

    def changes(self, before: SwapSpace, after: SwapSpace, steps: Sequence[Step]) -> dict[str, Any]:
        stats = {} if before.stats else after.stats
        return {**stats, **joined(steps)}
