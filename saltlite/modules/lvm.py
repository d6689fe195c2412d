"""Volumes of lvm2: physical ones, groups of them, and logical volumes in groups."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.providers.lvm import report


def version(ctx: MinionContext) -> str:
    """The version of lvm2.

    CLI Example:

        salt '*' lvm.version
    """
    return fullversion(ctx).get("LVM version", "")


def fullversion(ctx: MinionContext) -> dict[str, str]:
    """All that ``lvm version`` tells.

    CLI Example:

        salt '*' lvm.fullversion
    """
    rows = (line.partition(":") for line in report.run(ctx, "lvm", "version").stdout.splitlines())
    return {key.strip(): value.strip() for key, colon, value in rows if colon}


def pvdisplay(
    ctx: MinionContext, pvname: str = "", real: bool = False, quiet: bool = False
) -> dict[str, dict[str, str]]:
    """Physical volumes, or one; with ``real`` by the device that a link leads to.

    CLI Example:

        salt '*' lvm.pvdisplay
        salt '*' lvm.pvdisplay /dev/md0
    """
    done = report.run(ctx, "pvdisplay", "-c", *([pvname] if pvname else []), quiet=quiet)
    found = report.parse(done.stdout, report.PHYSICAL) if done.retcode == 0 else {}
    if not real:
        return found
    return {
        os.path.realpath(name): {**row, "Real Physical Volume Device": os.path.realpath(name)}
        for name, row in found.items()
    }


def vgdisplay(
    ctx: MinionContext, vgname: str = "", quiet: bool = False
) -> dict[str, dict[str, str]]:
    """Groups of volumes, or one.

    CLI Example:

        salt '*' lvm.vgdisplay
        salt '*' lvm.vgdisplay nova-volumes
    """
    done = report.run(ctx, "vgdisplay", "-c", *([vgname] if vgname else []), quiet=quiet)
    return report.parse(done.stdout, report.GROUP) if done.retcode == 0 else {}


def lvdisplay(
    ctx: MinionContext, lvname: str = "", quiet: bool = False
) -> dict[str, dict[str, str]]:
    """Logical volumes, or one.

    CLI Example:

        salt '*' lvm.lvdisplay
        salt '*' lvm.lvdisplay /dev/vg_myserver/root
    """
    done = report.run(ctx, "lvdisplay", "-c", *([lvname] if lvname else []), quiet=quiet)
    return report.parse(done.stdout, report.LOGICAL) if done.retcode == 0 else {}


def pvcreate(
    ctx: MinionContext, devices: object, override: bool = True, force: bool = True, **kwargs: Any
) -> bool | str:
    """Make devices physical volumes; ``override``: those that are ones already are left.

    CLI Example:

        salt '*' lvm.pvcreate /dev/sdb1,/dev/sdb2
        salt '*' lvm.pvcreate /dev/sdb1 dataalignmentoffset=7s
    """
    wanted = report.names(devices)
    if not wanted:
        return "Error: at least one device is required"
    options = report.flags("lvm.pvcreate", kwargs, report.OF_PVCREATE)
    new = []
    for device in wanted:
        if not os.path.exists(device):
            return f"{device} does not exist"
        if not pvdisplay(ctx, device):
            new.append(device)
        elif not override:
            return f'Device "{device}" is already an LVM physical volume.'
    if not new:
        return True
    done = report.run(ctx, "pvcreate", "--yes" if force else "-qq", *new, *options)
    return True if done.retcode == 0 else report.first_output(done)


def pvremove(
    ctx: MinionContext, devices: object, override: bool = True, force: bool = True
) -> bool | str:
    """Take from devices what makes them physical volumes; ``override``: others are left.

    CLI Example:

        salt '*' lvm.pvremove /dev/sdb1,/dev/sdb2
    """
    return _on_volumes(ctx, "pvremove", devices, override=override, force=force)


def pvresize(
    ctx: MinionContext, devices: object, override: bool = True, force: bool = True
) -> bool | str:
    """Let physical volumes fill their devices.

    CLI Example:

        salt '*' lvm.pvresize /dev/sdb1
    """
    return _on_volumes(ctx, "pvresize", devices, override=override, force=force)


def _on_volumes(
    ctx: MinionContext, program: str, devices: object, *, override: bool, force: bool
) -> bool | str:
    """Run a program on those of the devices that are physical volumes; what is wrong, if it is."""
    there = []
    for device in report.names(devices):
        if pvdisplay(ctx, device):
            there.append(device)
        elif not override:
            return f"{device} is not a physical volume"
    if not there:
        return True
    done = report.run(ctx, program, "--yes" if force else "-qq", *there)
    return True if done.retcode == 0 else report.first_output(done)


def vgcreate(
    ctx: MinionContext, vgname: str, devices: object, force: bool = False, **kwargs: Any
) -> dict[str, Any] | str:
    """Make a group of devices.

    CLI Example:

        salt '*' lvm.vgcreate my_vg /dev/sdb1,/dev/sdb2
        salt '*' lvm.vgcreate my_vg /dev/sdb1 clustered=y
    """
    wanted = report.names(devices)
    if not vgname or not wanted:
        return "Error: vgname and device(s) are both required"
    options = report.flags("lvm.vgcreate", kwargs, report.OF_VGCREATE)
    done = report.run(ctx, "vgcreate", vgname, *wanted, "--yes" if force else "-qq", *options)
    return {**vgdisplay(ctx, vgname), "Output from vgcreate": report.first_output(done)}


def vgextend(
    ctx: MinionContext, vgname: str, devices: object, force: bool = False
) -> dict[str, Any] | str:
    """Add devices to a group.

    CLI Example:

        salt '*' lvm.vgextend my_vg /dev/sdb1,/dev/sdb2
    """
    wanted = report.names(devices)
    if not vgname or not wanted:
        return "Error: vgname and device(s) are both required"
    done = report.run(ctx, "vgextend", vgname, "--yes" if force else "-qq", *wanted)
    return {"Output from vgextend": report.first_output(done)}


def vgremove(ctx: MinionContext, vgname: str, force: bool = True) -> str:
    """Remove a group with all its logical volumes.

    CLI Example:

        salt '*' lvm.vgremove vgname
    """
    return report.first_output(report.run(ctx, "vgremove", vgname, "--yes" if force else "-qq"))


def lvcreate(
    ctx: MinionContext,
    lvname: str,
    vgname: str,
    size: object = None,
    extents: object = None,
    snapshot: str | None = None,
    pv: str | None = None,
    thinvolume: bool = False,
    thinpool: bool = False,
    force: bool = False,
    **kwargs: Any,
) -> dict[str, Any] | str:
    """Make a logical volume of a ``size`` (``10G``) or a number of ``extents`` (``100%FREE``).

    ``thinvolume``: in a pool, ``vgname`` being ``group/pool``; ``thinpool``: such a pool.
    ``snapshot``: of this volume.

    CLI Example:

        salt '*' lvm.lvcreate new_volume_name vg_name size=10G
        salt '*' lvm.lvcreate new_volume_name vg_name extents=100 pv=/dev/sdb
    """
    if size and extents:
        return "Error: Please specify only one of size or extents"
    if not size and not extents:
        return "Error: Either size or extents must be specified"
    if thinvolume and thinpool:
        return "Error: Please set only one of thinvolume or thinpool to True"
    options = report.flags("lvm.lvcreate", kwargs, report.OF_LVCREATE)
    room = ["-V" if thinvolume else "-L", str(size)] if size else ["-l", str(extents)]
    if thinpool:
        what = ["--thinpool", lvname, vgname]
    elif snapshot:
        what = ["-n", lvname, "-s", f"{vgname}/{snapshot}"]
    else:
        what = [*(["--thin"] if thinvolume else []), "-n", lvname, vgname]
    where = [pv] if pv else []
    calm = "--yes" if force else "-qq"
    done = report.run(ctx, "lvcreate", *what, *room, *where, *options, calm)
    device = f"/dev/{vgname.partition('/')[0]}/{lvname}"
    return {**lvdisplay(ctx, device), "Output from lvcreate": report.first_output(done)}


def lvremove(ctx: MinionContext, lvname: str, vgname: str, force: bool = True) -> str:
    """Remove a logical volume.

    CLI Example:

        salt '*' lvm.lvremove lvname vgname force=True
    """
    return report.first_output(
        report.run(ctx, "lvremove", f"{vgname}/{lvname}", "--yes" if force else "-qq")
    )


def lvresize(
    ctx: MinionContext,
    size: object = None,
    lvpath: str | None = None,
    extents: object = None,
    force: bool = False,
    resizefs: bool = False,
) -> dict[str, str]:
    """Give a logical volume another size; with ``resizefs`` the file system on it, too.

    CLI Example:

        salt '*' lvm.lvresize +12M /dev/mapper/vg1-test
        salt '*' lvm.lvresize lvpath=/dev/mapper/vg1-test extents=+100%FREE
    """
    return _resize_volume(ctx, "lvresize", "--force", size, lvpath, extents, force, resizefs)


def lvextend(
    ctx: MinionContext,
    size: object = None,
    lvpath: str | None = None,
    extents: object = None,
    force: bool = False,
    resizefs: bool = False,
) -> dict[str, str]:
    """Give a logical volume a greater size.

    CLI Example:

        salt '*' lvm.lvextend +12M /dev/mapper/vg1-test
    """
    return _resize_volume(ctx, "lvextend", "--yes", size, lvpath, extents, force, resizefs)


def _resize_volume(
    ctx: MinionContext,
    program: str,
    forced: str,
    size: object,
    lvpath: str | None,
    extents: object,
    force: bool,
    resizefs: bool,
) -> dict[str, str]:
    if bool(size) is bool(extents) or not lvpath:
        return {}
    how = [forced if force else "-qq", *(["--resizefs"] if resizefs else [])]
    room = ["-L", str(size)] if size else ["-l", str(extents)]
    done = report.run(ctx, program, *how, *room, lvpath)
    return {f"Output from {program}": report.first_output(done)}
