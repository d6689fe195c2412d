"""Room on file systems, and the devices under them."""

from __future__ import annotations

import re
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError, ProgramMissing, UsageError
from saltlite.providers import command
from saltlite.providers.command import CommandOptions
from saltlite.providers.disk import tools
from saltlite.providers.mount import active as mounted

_DUMPED = (
    "getro",
    "getsz",
    "getss",
    "getpbsz",
    "getiomin",
    "getioopt",
    "getalignoff",
    "getmaxsect",
    "getsize",
    "getsize64",
    "getra",
    "getfra",
)
_TUNED = {"read-ahead": "setra", "filesystem-read-ahead": "setfra"}
_SWITCHES = {"read-only": "setro", "read-write": "setrw"}


def usage(ctx: MinionContext, args: str | None = None) -> dict[str, dict[str, str]]:
    """The room on each file system, in KiB; ``args`` are letters for ``df``.

    CLI Example:

        salt '*' disk.usage
    """
    return tools.parse_df(_run_df(ctx, "disk.usage", "P", args))


def inodeusage(ctx: MinionContext, args: str | None = None) -> dict[str, dict[str, str]]:
    """The inodes of each file system; ``args`` are letters for ``df``.

    CLI Example:

        salt '*' disk.inodeusage
    """
    return tools.parse_df_inodes(_run_df(ctx, "disk.inodeusage", "iP", args))


def percent(ctx: MinionContext, args: str | None = None) -> dict[str, str] | str:
    """How full each file system is, or one of them; empty if there is none of that name.

    CLI Example:

        salt '*' disk.percent /var
    """
    found = {mount: row["capacity"] for mount, row in usage(ctx).items()}
    if args:
        return found.get(args, {})
    return found


def _run_df(ctx: MinionContext, name: str, flags: str, args: object) -> str:
    if args and not (isinstance(args, str) and re.fullmatch(r"[a-zA-Z]+", args)):
        raise FunctionError(f"Invalid flag passed to {name}")
    return _read_output(ctx, ["df", f"-{flags}{args or ''}"])


def blkid(
    ctx: MinionContext, device: str | None = None, token: str | None = None
) -> dict[str, dict[str, str]]:
    """What is on block devices; on one, or on those with something: ``TYPE=ext4``.

    CLI Example:

        salt '*' disk.blkid
        salt '*' disk.blkid /dev/sda
    """
    flags = [device] if device else ["-t", token] if token else []
    argv = ["blkid", *flags]
    done = command.run(ctx, argv, CommandOptions(python_shell=False, ignore_retcode=True))
    return tools.parse_blkid(done.stdout) if done.retcode == 0 else {}


def fstype(ctx: MinionContext, device: str) -> str:
    """The kind of file system on a device, empty if that cannot be told.

    CLI Example:

        salt '*' disk.fstype /dev/sdX1
    """
    if ctx.host.which("lsblk") is not None:
        argv = ["lsblk", "-o", "fstype", device]
        found = tools.parse_fstype(
            command.run(ctx, argv, CommandOptions(python_shell=False)).stdout
        )
        if found:
            return found
    if ctx.host.which("df") is None:
        return ""
    return tools.parse_df_kind(_read_output(ctx, ["df", "-T", device]))


def get_fstype_from_path(ctx: MinionContext, path: str) -> str:
    """The kind of file system that a path is on.

    CLI Example:

        salt '*' disk.get_fstype_from_path /root
    """
    mounts = mounted.parse_mounts(ctx.host.read_text(mounted.MOUNTS) or "")
    place = mounted.mount_of(path, mounts)
    return fstype(ctx, str(mounts[place]["device"])) if place is not None else ""


def dump(ctx: MinionContext, device: str, args: object = None) -> dict[str, str] | bool:
    """What ``blockdev`` knows of a device; ``args`` names what to tell. ``False`` if it fails.

    CLI Example:

        salt '*' disk.dump /dev/sda1
    """
    argv = ["blockdev", *(f"--{name}" for name in _DUMPED), device]
    done = command.run(ctx, argv, CommandOptions(python_shell=False))
    if done.retcode != 0:
        return False
    values = [line for line in done.stdout.splitlines() if line]
    found = dict(zip(_DUMPED, values, strict=False))
    if not args:
        return found
    wanted = args if isinstance(args, (list, tuple)) else [args]
    return {name: found[name] for name in wanted if name in found}


def tune(ctx: MinionContext, device: str, **kwargs: Any) -> Any:
    """Change a device: ``read-ahead``, ``filesystem-read-ahead``, ``read-only``, ``read-write``.

    CLI Example:

        salt '*' disk.tune /dev/sda1 read-ahead=1024 read-write=True
    """
    given = own_keywords(kwargs)
    stray = [f"{name}={value}" for name, value in given.items() if name not in _TUNED | _SWITCHES]
    if stray:
        raise UsageError(f"Invalid keyword arguments: {', '.join(stray)}")
    flags: list[str] = []
    told: list[str] = []
    for name, value in given.items():
        if name in _TUNED:
            flags += [f"--{_TUNED[name]}", str(value)]
            told.append(_TUNED[name].replace("set", "get"))
        elif value:
            flags.append(f"--{_SWITCHES[name]}")
            told.append("getro")
    done = command.run(ctx, ["blockdev", *flags, device], CommandOptions(python_shell=False))
    if done.retcode != 0:
        raise FunctionError(done.stderr)
    return dump(ctx, device, told)


def wipe(ctx: MinionContext, device: str) -> bool:
    """Remove what marks a device as a file system.

    CLI Example:

        salt '*' disk.wipe /dev/sda1
    """
    return _run_command(ctx, ["wipefs", "-a", device])


def resize2fs(ctx: MinionContext, device: str) -> bool | None:
    """Let an ext file system fill its device.

    CLI Example:

        salt '*' disk.resize2fs /dev/sda1
    """
    return True if _run_command(ctx, ["resize2fs", device]) else None


def format_(
    ctx: MinionContext,
    device: str,
    fs_type: str = "ext4",
    inode_size: object = None,
    lazy_itable_init: object = None,
    fat: object = None,
    force: bool = False,
) -> bool:
    """Make a file system on a device; what is on it is lost.

    CLI Example:

        salt '*' disk.format /dev/sdX1
    """
    argv = ["mkfs", "-t", str(fs_type)]
    if inode_size is not None and str(fs_type).startswith("ext"):
        argv += ["-i", str(inode_size)]
    elif inode_size is not None and fs_type == "xfs":
        argv += ["-i", f"size={inode_size}"]
    if lazy_itable_init is not None and str(fs_type).startswith("ext"):
        argv += ["-E", f"lazy_itable_init={lazy_itable_init}"]
    if fat is not None and fat in (12, 16, 32):
        argv += ["-F", str(fat)]
    if force:
        argv += ["-F"] if str(fs_type).startswith("ext") else ["-f"] if fs_type == "xfs" else []
    if not _run_command(ctx, [*argv, device]):
        return False
    return _run_command(ctx, ["sync"])


def iostat(
    ctx: MinionContext, interval: object = 1, count: object = 5, disks: object = None
) -> dict[str, dict[str, float]]:
    """The mean of some reports on the traffic of disks, ``interval`` seconds apart.

    CLI Example:

        salt '*' disk.iostat 1 5 sda
    """
    if ctx.host.which("iostat") is None:
        raise ProgramMissing("iostat")
    wanted = disks if isinstance(disks, list) else str(disks).split() if disks else []
    argv = ["iostat", "-xd", str(interval), str(count), *map(str, wanted)]
    return tools.parse_iostat(_read_output(ctx, argv))


def smart_attributes(
    ctx: MinionContext, dev: str, attributes: Any = None, values: Any = None
) -> dict[int, Any]:
    """The health that a disk tells of itself: all attributes and values, or some.

    CLI Example:

        salt '*' disk.smart_attributes /dev/sda
    """
    path = dev if dev.startswith("/dev/") else f"/dev/{dev}"
    wanted = _parse_numbers(attributes)
    columns = values.split(",") if isinstance(values, str) else values
    found = tools.parse_smart(_read_output(ctx, ["smartctl", "--attributes", path]))
    return {
        number: {key: value for key, value in row.items() if not columns or key in columns}
        for number, row in found.items()
        if wanted is None or number in wanted
    }


def _parse_numbers(given: object) -> list[int] | None:
    if not given:
        return None
    listed = given if isinstance(given, (list, tuple)) else str(given).split(",")
    return [int(each) for each in listed]


def _read_output(ctx: MinionContext, argv: list[str]) -> str:
    return command.run(ctx, argv, CommandOptions(python_shell=False, ignore_retcode=True)).stdout


def _run_command(ctx: MinionContext, argv: list[str]) -> bool:
    return command.run(ctx, argv, CommandOptions(python_shell=False)).retcode == 0
