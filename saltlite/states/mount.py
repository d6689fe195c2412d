"""File systems: mounted or not, now and at every start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.resource import Action, Verdict
from saltlite.modules import mount as mounts
from saltlite.providers import command
from saltlite.providers.command import CommandOptions
from saltlite.providers.mount import active, fstab
from saltlite.states._fact import Fact
from saltlite.states._mount.mounting import UNSEEN, UNSEEN_KEYS, Mounted, Unmounted
from saltlite.states._mount.swapping import Swap
from saltlite.states._mount.table import Line, TableLine, absent_line, entry_of, words_of


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
) -> Mounted:
    """A device mounted at ``name``; with ``persist`` at every start too.

    ``mkmnt`` makes the directory. ``mount=False`` only sees to the table. A device that matches
    ``device_name_regex`` counts as the declared one; ``hidden_opts`` and the ``invisible``
    arguments name options that the kernel does not show, ``extra_mount_ignore_fs_keys`` those of
    one kind of file system (``{ext4: [barrier]}``), ``extra_mount_translate_options`` how it shows
    others.
    """
    listed = words_of(opts)
    of_kind = words_of((extra_mount_ignore_fs_keys or {}).get(fstype, ()))
    place = name.rstrip("/") or "/"
    entry = entry_of(place, str(device), fstype, listed, dump, pass_num)
    return Mounted(
        name=name,
        device=str(device),
        fstype=fstype,
        options=listed,
        line=TableLine(config, entry, tuple(fstab.criteria(match_on, fstype))),
        persist=persist,
        mount=mount,
        makes_place=mkmnt,
        user=user,
        patterns=tuple(device_name_regex or ()),
        unseen=frozenset({*(extra_mount_invisible_options or ()), *words_of(hidden_opts), *UNSEEN}),
        unseen_keys=frozenset({*(extra_mount_invisible_keys or ()), *of_kind, *UNSEEN_KEYS}),
        shown_as=dict(extra_mount_translate_options or {}),
    )


def swap(name: str, persist: bool = True, config: str = "/etc/fstab") -> Swap:
    """A device or file that is swapped to; with ``persist`` at every start too."""
    entry = entry_of("none", name, "swap", ("defaults",), 0, 0)
    return Swap(name=name, line=TableLine(config, entry, ("device",)), persist=persist)


def mod_watch(
    name: str, user: str | None = None, sfun: str | None = None, **kwargs: Any
) -> Action | Verdict:
    """Mount ``name`` again with the options it has, because something that is watched changed."""
    if sfun != "mounted":
        said = f"Watch not supported in {sfun} at this time"
        return Verdict(result=False, comment=said)

    def run(ctx: MinionContext) -> Verdict:
        answer = ctx.follow(
            mounts.remount,
            name,
            str(kwargs.get("device", "")),
            False,
            str(kwargs.get("fstype", "")),
            words_of(kwargs.get("opts", "defaults")),
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
    fs_mntops: object = "defaults",
    fs_freq: object = 0,
    fs_passno: object = 0,
    mount_by: str | None = None,
    config: str = "/etc/fstab",
    mount: bool = True,
    match_on: object = "auto",
    not_change: bool = False,
    fs_mount: bool = True,
) -> Line | Verdict:
    """A line for the device ``name`` in the table; what is new there is mounted at once.

    ``mount_by`` names the device another way: ``uuid``, ``label``, ``partuuid``, ``partlabel``.
    ``not_change`` leaves a line alone that is there.
    """
    device = _name_device(ctx, name, mount_by)
    if device is None:
        said = f"Device {name} cannot be converted to {mount_by}"
        return Verdict(result=False, comment=said)
    entry = entry_of(fs_file, device, fs_vfstype, words_of(fs_mntops), fs_freq, fs_passno)
    keys = tuple(fstab.criteria(match_on, fs_vfstype))
    wanted = TableLine(config, entry, keys, keeps=not_change)
    return Line(path=fs_file, device=device, wanted=wanted, mounts=mount and fs_mount)


def fstab_absent(
    ctx: MinionContext,
    name: str,
    fs_file: str,
    mount_by: str | None = None,
    config: str = "/etc/fstab",
) -> Fact | Verdict:
    """No line for the device ``name`` and the place ``fs_file`` in the table."""
    device = _name_device(ctx, name, mount_by)
    if device is None:
        said = f"Device {name} cannot be converted to {mount_by}"
        return Verdict(result=False, comment=said)
    return absent_line(fs_file, device, config)


def _name_device(ctx: MinionContext, device: str, mount_by: str | None) -> str | None:
    """The device as the table shall name it, ``None`` if it has no such name."""
    if mount_by in (None, "device"):
        return device
    found: Mapping[str, Mapping[str, str]] = {}
    if ctx.host.which("blkid") is not None:
        options = CommandOptions(python_shell=False, ignore_retcode=True)
        found = active.parse_blkid(command.run(ctx, ["blkid"], options).stdout)
    key = str(mount_by).upper()
    value = found.get(device, {}).get(key)
    return f"{key}={value}" if value else None
