"""File systems: mount and unmount them, now and at every start."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, StoreError
from saltlite.providers import command, textfile
from saltlite.providers.command import CommandOptions
from saltlite.providers.mount import active as mounted
from saltlite.providers.mount import fstab as table

_BAD_FILE = 'Bad config file "{}"'


def active(ctx: MinionContext, extended: bool = False) -> dict[str, dict[str, Any]]:
    """What is mounted; ``extended`` tells more of each.

    CLI Example:

        salt '*' mount.active
    """
    if not extended:
        return mounted.parse_mounts(ctx.host.read_text(mounted.MOUNTS) or "")
    ids: dict[str, dict[str, str]] = {}
    if ctx.host.which("blkid") is not None:
        options = CommandOptions(python_shell=False, ignore_retcode=True)
        ids = mounted.parse_blkid(command.run(ctx, ["blkid"], options).stdout)
    return mounted.parse_mountinfo(ctx.host.read_text(mounted.MOUNTINFO) or "", ids)


def is_mounted(ctx: MinionContext, name: str) -> bool:
    """Whether something is mounted at a place.

    CLI Example:

        salt '*' mount.is_mounted /mnt/share
    """
    return name in active(ctx)


def get_mount_from_path(ctx: MinionContext, path: str) -> str | None:
    """The mount that a path is in.

    CLI Example:

        salt '*' mount.get_mount_from_path /opt/some/nested/path
    """
    return mounted.mount_of(path, active(ctx))


def get_device_from_path(ctx: MinionContext, path: str) -> str | None:
    """The device that a path is on.

    CLI Example:

        salt '*' mount.get_device_from_path /
    """
    mounts = active(ctx)
    place = mounted.mount_of(path, mounts)
    return None if place is None else str(mounts[place]["device"])


def is_fuse_exec(ctx: MinionContext, cmd: str) -> bool:
    """Whether a program is one that uses FUSE.

    CLI Example:

        salt '*' mount.is_fuse_exec sshfs
    """
    path = ctx.host.which(cmd)
    if path is None or ctx.host.which("ldd") is None:
        return False
    done = command.run(ctx, ["ldd", path], CommandOptions(python_shell=False, ignore_retcode=True))
    return "libfuse" in done.stdout


def fstab(ctx: MinionContext, config: str = "/etc/fstab") -> dict[str, dict[str, Any]]:
    """What is to be mounted at the start.

    CLI Example:

        salt '*' mount.fstab
    """
    return table.parse(textfile.load(ctx.host, config) or "")


def vfstab(ctx: MinionContext, config: str = "/etc/vfstab") -> dict[str, dict[str, Any]]:
    """The table of Solaris; empty here.

    CLI Example:

        salt '*' mount.vfstab
    """
    return {}


def filesystems(ctx: MinionContext, config: str = "/etc/filesystems") -> dict[str, Any]:
    """The table of AIX; empty here.

    CLI Example:

        salt '*' mount.filesystems
    """
    return {}


def set_fstab(
    ctx: MinionContext,
    name: str,
    device: str,
    fstype: str,
    opts: object = "defaults",
    dump: object = 0,
    pass_num: object = 0,
    config: str = "/etc/fstab",
    test: bool = False,
    match_on: object = "auto",
    not_change: bool = False,
    **kwargs: Any,
) -> str:
    """See to it that something is mounted at the start: ``new``, ``change`` or ``present``.

    ``match_on`` names what a line is found by (``name``, ``device``, ``fstype`` ...); ``auto`` is
    the device, but the place for kinds like tmpfs and nfs. ``test`` changes nothing, ``not_change``
    leaves a line that is there.

    CLI Example:

        salt '*' mount.set_fstab /mnt/foo /dev/sdz1 ext4
    """
    wanted = table.FstabLine(
        device=table.escape_path(device),
        name=table.escape_path(name),
        fstype=fstype,
        opts=_options_text(opts or "defaults") if opts != "" else "",
        dump=str(dump),
        pass_num=str(pass_num),
    )
    keys = table.criteria(match_on, fstype)
    with textfile.hold(ctx, config):
        text = textfile.load(ctx.host, config)
        if text is None:
            raise FunctionError(_BAD_FILE.format(config))
        changed, answer = table.with_entry(text, wanted, keys, not_change=not_change)
        if changed != text and not test:
            textfile.save(config, changed)
        return answer


def rm_fstab(ctx: MinionContext, name: str, device: str | None, config: str = "/etc/fstab") -> bool:
    """See to it that something is not mounted at the start; ``device`` ``None`` is any.

    CLI Example:

        salt '*' mount.rm_fstab /mnt/foo /dev/sdg
    """
    with textfile.hold(ctx, config):
        text = textfile.load(ctx.host, config)
        if text is None:
            raise FunctionError(
                f"Couldn't read from {config}: [Errno 2] No such file or directory: '{config}'"
            )
        changed = table.without_entry(text, name, device)
        if changed != text:
            textfile.save(config, changed)
        return True


def mount(
    ctx: MinionContext,
    name: str,
    device: object = False,
    mkmnt: bool = False,
    fstype: str = "",
    opts: object = "defaults",
    user: str | None = None,
    util: str = "mount",
) -> bool | str:
    """Mount something; a text says what went wrong. Without ``device`` it is fstab's.

    ``mkmnt`` makes the directory first. ``user`` is who runs the command.

    CLI Example:

        salt '*' mount.mount /mnt/foo /dev/sdz1 True
    """
    if util != "mount":
        return False
    if mkmnt:
        _make_directory(name)
    flags: list[str] = []
    if device:
        words = _options_text(opts)
        flags = ["-o", words] if words else []
        flags += ["-t", fstype] if fstype else []
        flags.append(str(device))
    return _run_command(ctx, ["mount", *flags, name], user)


def remount(
    ctx: MinionContext,
    name: str,
    device: object,
    mkmnt: bool = False,
    fstype: str = "",
    opts: object = "defaults",
    user: str | None = None,
) -> bool | str:
    """Mount something again, with other options; mounts it if it is not mounted.

    CLI Example:

        salt '*' mount.remount /mnt/foo /dev/sdz1 True
    """
    if not is_mounted(ctx, name):
        return mount(ctx, name, device, mkmnt, fstype, opts, user)
    words = _options_text(opts)
    if "remount" not in words.split(","):
        words = f"{words},remount" if words else "remount"
    if mkmnt:
        _make_directory(name)
    kind = ["-t", fstype] if fstype else []
    return _run_command(ctx, ["mount", "-o", words, *kind, str(device), name], user)


def umount(
    ctx: MinionContext,
    name: str,
    device: str | None = None,
    user: str | None = None,
    util: str = "mount",
    lazy: bool = False,
) -> bool | str:
    """Unmount what is at a place; a text says what went wrong.

    ``lazy`` (in Salt since 3007) takes it out of sight at once, and unmounts it when it is free.

    CLI Example:

        salt '*' mount.umount /mnt/foo
    """
    if not is_mounted(ctx, name):
        return f"{name} does not have anything mounted"
    return _run_command(ctx, ["umount", *["-l"] * bool(lazy), name], user)


def _options_text(opts: object) -> str:
    words = opts if isinstance(opts, (list, tuple)) else str(opts).split(",")
    return ",".join(word.strip() for word in map(str, words) if word.strip())


def _make_directory(path: str) -> None:
    try:
        disk.make_way(Path(path))
    except StoreError as error:
        raise FunctionError(str(error)) from error


def _run_command(ctx: MinionContext, argv: list[str], user: str | None) -> bool | str:
    done = command.run(ctx, argv, CommandOptions(python_shell=False, runas=user))
    return done.stderr if done.retcode != 0 else True


def swaps(ctx: MinionContext) -> dict[str, dict[str, str]]:
    """What is swapped to.

    CLI Example:

        salt '*' mount.swaps
    """
    return mounted.parse_swaps(ctx.host.read_text(mounted.SWAPS) or "")


def swapon(ctx: MinionContext, name: str, priority: object = None) -> dict[str, Any]:
    """Swap to a device or file; empty if that cannot be done.

    CLI Example:

        salt '*' mount.swapon /root/swapfile
    """
    before = swaps(ctx)
    if name in before:
        return {"stats": before[name], "new": False}
    flags = ["-p", str(priority)] if priority and "priority" not in name else []
    command.run(ctx, ["swapon", *flags, name], CommandOptions(python_shell=False))
    after = swaps(ctx)
    return {"stats": after[name], "new": True} if name in after else {}


def swapoff(ctx: MinionContext, name: str) -> bool | None:
    """Do not swap to a device or file any more; ``None`` if that is not done anyhow.

    CLI Example:

        salt '*' mount.swapoff /root/swapfile
    """
    if name not in swaps(ctx):
        return None
    command.run(ctx, ["swapoff", name], CommandOptions(python_shell=False))
    return name not in swaps(ctx)


def read_mount_cache(ctx: MinionContext, name: str) -> dict[str, Any]:
    """With which options a place was mounted last, as a state run noted it.

    CLI Example:

        salt '*' mount.read_mount_cache /mnt/share
    """
    return dict(_read_cache(ctx).get(name, {}))


def write_mount_cache(
    ctx: MinionContext, real_name: str, device: str, mkmnt: bool, fstype: str, mount_opts: object
) -> bool:
    """Note with which options a place was mounted.

    CLI Example:

        salt '*' mount.write_mount_cache /mnt/share /dev/sdz1 False ext4 defaults,nosuid
    """
    noted = {"device": device, "fstype": fstype, "mkmnt": mkmnt, "opts": mount_opts}
    with textfile.hold(ctx, _cache_path(ctx)):
        _write_cache(ctx, {**_read_cache(ctx), real_name: noted})
    return True


def delete_mount_cache(ctx: MinionContext, real_name: str) -> bool:
    """Forget with which options a place was mounted.

    CLI Example:

        salt '*' mount.delete_mount_cache /mnt/share
    """
    with textfile.hold(ctx, _cache_path(ctx)):
        kept = {name: noted for name, noted in _read_cache(ctx).items() if name != real_name}
        _write_cache(ctx, kept)
    return True


def _cache_path(ctx: MinionContext) -> str:
    return os.path.join(ctx.config.paths.cachedir, "mounts")


def _read_cache(ctx: MinionContext) -> dict[str, Any]:
    from saltlite.config.yaml import load  # Salt writes this file as YAML

    path = _cache_path(ctx)
    text = ctx.host.read_text(path)
    found = load(text, path) if text else None
    noted = found.get("mounts") if isinstance(found, dict) else None
    return dict(noted) if isinstance(noted, dict) else {}


def _write_cache(ctx: MinionContext, noted: dict[str, Any]) -> None:
    path = _cache_path(ctx)
    _make_directory(os.path.dirname(path))
    textfile.save(path, json.dumps({"mounts": noted}) + "\n", mode=0o600)  # which is YAML too
