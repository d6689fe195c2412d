"""``pvdisplay -c``, ``vgdisplay -c``, ``lvdisplay -c``, and the options of lvm2's commands.

Source: pvdisplay(8), vgdisplay(8), lvdisplay(8), pvcreate(8), vgcreate(8), lvcreate(8).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from saltlite.context import MinionContext
from saltlite.core.keywords import own_keywords
from saltlite.errors import ProgramMissing, UsageError
from saltlite.providers import command
from saltlite.providers.command import CommandOptions, Outcome

PHYSICAL = (
    "Physical Volume Device",
    "Volume Group Name",
    "Physical Volume Size (kB)",
    "Internal Physical Volume Number",
    "Physical Volume Status",
    "Physical Volume (not) Allocatable",
    "Current Logical Volumes Here",
    "Physical Extent Size (kB)",
    "Total Physical Extents",
    "Free Physical Extents",
    "Allocated Physical Extents",
)
GROUP = (
    "Volume Group Name",
    "Volume Group Access",
    "Volume Group Status",
    "Internal Volume Group Number",
    "Maximum Logical Volumes",
    "Current Logical Volumes",
    "Open Logical Volumes",
    "Maximum Logical Volume Size",
    "Maximum Physical Volumes",
    "Current Physical Volumes",
    "Actual Physical Volumes",
    "Volume Group Size (kB)",
    "Physical Extent Size (kB)",
    "Total Physical Extents",
    "Allocated Physical Extents",
    "Free Physical Extents",
    "UUID",
)
LOGICAL = (
    "Logical Volume Name",
    "Volume Group Name",
    "Logical Volume Access",
    "Logical Volume Status",
    "Internal Logical Volume Number",
    "Open Logical Volumes",
    "Logical Volume Size",
    "Current Logical Extents Associated",
    "Allocated Logical Extents",
    "Allocation Policy",
    "Read Ahead Sectors",
    "Major Device Number",
    "Minor Device Number",
)
"""What the columns are called; the size of a logical volume is in sectors of 512 bytes."""

OF_PVCREATE = (
    "dataalignment",
    "dataalignmentoffset",
    "labelsector",
    "metadatacopies",
    "metadataignore",
    "metadatasize",
    "norestorefile",
    "pvmetadatacopies",
    "restorefile",
    "setphysicalvolumesize",
)
OF_VGCREATE = (
    "addtag",
    "alloc",
    "autobackup",
    "clustered",
    "maxlogicalvolumes",
    "maxphysicalvolumes",
    "metadatacopies",
    "metadatatype",
    "physicalextentsize",
    "vgmetadatacopies",
)
OF_LVCREATE = (
    "activate",
    "addtag",
    "alloc",
    "chunksize",
    "contiguous",
    "discards",
    "ignoremonitoring",
    "minor",
    "mirrors",
    "monitor",
    "nosync",
    "noudevsync",
    "permission",
    "persistent",
    "poolmetadatasize",
    "readahead",
    "regionsize",
    "stripes",
    "stripesize",
    "type",
    "virtualsize",
    "wipesignatures",
    "zero",
)
_ALONE = ("ignoremonitoring", "norestorefile", "nosync", "noudevsync")

SECTORS = {"s": 1, "k": 2, "m": 2048, "g": 2 << 20, "t": 2 << 30, "p": 2 << 40}
"""Sectors of 512 bytes in one of a unit."""


def run(ctx: MinionContext, *argv: str, quiet: bool = True) -> Outcome:
    """Run one of the commands; one that fails is told to the log unless it shall be ``quiet``.

    Raises:
        ProgramMissing: it is not there.
    """
    if ctx.host.which(argv[0]) is None:
        raise ProgramMissing(argv[0])
    return command.run(ctx, list(argv), CommandOptions(python_shell=False, ignore_retcode=quiet))


def first_output(done: Outcome) -> str:
    """What a command says of what it did, or why it did not."""
    text = done.stdout if done.retcode == 0 else done.stderr or done.stdout
    return text.strip()


def parse(text: str, columns: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Rows with colons by their first column; other lines are no rows."""
    rows = (line.strip().split(":") for line in text.splitlines())
    return {
        row[0]: dict(zip(columns, row, strict=False)) for row in rows if len(row) >= len(columns)
    }


def flags(name: str, given: Mapping[str, object], known: tuple[str, ...]) -> list[str]:
    """Further options of a command.

    Raises:
        UsageError: it has no such option.
    """
    options = own_keywords(given)
    stray = sorted(set(options) - set(known))
    if stray:
        raise UsageError(f"{name}: {', '.join(stray)} is not one of {', '.join(known)}")
    return [
        word
        for key, value in options.items()
        for word in ([f"--{key}"] if key in _ALONE else [f"--{key}", str(value)])
    ]


def sectors(size: object) -> int:
    """A size like ``10G`` or ``1.5t`` (without a unit MiB) in sectors of 512 bytes.

    Raises:
        UsageError: it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([skmgtp]?)(?:i?b)?", str(size).strip().lower())
    if match is None:
        raise UsageError(f"{size} is not a size: a number and one of s, k, m, g, t, p")
    return math.ceil(float(match[1]) * SECTORS[match[2] or "m"])


def names(devices: object) -> list[str]:
    """Devices as a list; a text has commas."""
    listed = devices if isinstance(devices, (list, tuple)) else str(devices or "").split(",")
    return [str(each) for each in listed if each]
