"""What a machine has from its start: kernel, file systems, time zone, locales."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError
from saltlite.modules import kmod, locale, mount, sysctl, timezone
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    LeftOut,
    ListedType,
    StateDeclaration,
    pick_names,
)
from saltlite.providers import textfile
from saltlite.providers.kernel import parameters

SYSTEM = "system"
"""The name of the locale that the machine uses, beside those of the ones that are there."""

_SYSCTL_FOLDER = "/etc/sysctl.d"
_NOWHERE = frozenset({"none", "swap"})


def _list_modules(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(kmod.mod_list), pattern)


def _declare_modules(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    loaded = set(ctx.follow(kmod.mod_list))
    kept = set(ctx.follow(kmod.mod_list, only_persist=True))
    for name in ask.names:
        if name in loaded:
            said = {"persist": True} if name in kept else {}
            yield StateDeclaration(of=name, fun="kmod.present", name=name, arguments=said)


def _list_locales(ctx: MinionContext, pattern: str) -> list[str]:
    system = [SYSTEM] if ctx.follow(locale.get_locale) else []
    return pick_names([*system, *filter(None, ctx.follow(locale.list_avail))], pattern)


def _declare_locales(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there, system = set(ctx.follow(locale.list_avail)), ctx.follow(locale.get_locale)
    for name in ask.names:
        if name == SYSTEM and system:
            yield StateDeclaration(of=name, fun="locale.system", name=system)
        elif name in there and name:
            yield StateDeclaration(of=name, fun="locale.present", name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """What ``mount.fstab`` tells of a place."""

    device: str
    fstype: str
    opts: list[str] = field(default_factory=list)
    dump: str = "0"


def _list_mounts(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(mount.fstab), pattern)


def _declare_mounts(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    """What the table of file systems has; what else is mounted comes from elsewhere."""
    table: Mapping[str, Mapping[str, Any]] = ctx.follow(mount.fstab)
    active = ctx.follow(mount.active)
    for name in ask.names:
        if name not in table:
            continue
        there = read_fields(TableEntry, table[name])
        numbers = {"dump": int(there.dump), "pass_num": int(str(table[name].get("pass") or 0))}
        if name.rstrip("_") in _NOWHERE:
            yield _declare_line(name, there)
            continue
        said: dict[str, Any] = {
            "device": there.device,
            "fstype": there.fstype,
            "opts": list(there.opts),
        }
        if os.path.realpath(name) not in active:
            said["mount"] = False
        yield StateDeclaration(
            of=name, fun="mount.mounted", name=name, arguments={**said, **numbers}
        )


def _declare_line(name: str, there: TableEntry) -> StateDeclaration:
    """A line without a place: it stands for something that is swapped to."""
    return StateDeclaration(
        of=name,
        fun="mount.fstab_present",
        name=there.device,
        arguments={
            "fs_file": name.rstrip("_"),
            "fs_vfstype": there.fstype,
            "fs_mntops": list(there.opts),
            "match_on": ["device"],
            "mount": False,
        },
    )


def _read_settings(ctx: MinionContext) -> dict[str, tuple[str, str]]:
    """By parameter the file that sets it, of several the last, and the value it has there."""
    names = sorted(name for name in ctx.host.names(_SYSCTL_FOLDER) if name.endswith(".conf"))
    paths = [*(f"{_SYSCTL_FOLDER}/{name}" for name in names), parameters.DEFAULT_FILE]
    own = ctx.follow(sysctl.default_config)
    found: dict[str, tuple[str, str]] = {}
    for path in dict.fromkeys([*paths, own]):
        text = textfile.load(ctx.host, path) or ""
        found |= {name: (path, value) for name, value in parameters.parse(text).items()}
    return found


def _list_parameters(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_settings(ctx), pattern)


def _declare_parameters(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    kept, own = _read_settings(ctx), ctx.follow(sysctl.default_config)
    for name in ask.names:
        path, value = kept.get(name, ("", ""))
        if path:
            said = {"value": value} if path == own else {"value": value, "config": path}
            yield StateDeclaration(of=name, fun="sysctl.present", name=name, arguments=said)
        elif (place := parameters.path_of(name)) and ctx.host.exists(place):
            yield LeftOut(name, "no file sets it: it is as the kernel has it")


def _read_zone(ctx: MinionContext) -> str:
    try:
        return ctx.follow(timezone.get_zone)
    except FunctionError:  # a machine without one
        return ""


def _list_zones(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(filter(None, [_read_zone(ctx)]), pattern)


def _declare_zones(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = _read_zone(ctx)
    for name in ask.names:
        if name == there:
            said = {"utc": ctx.follow(timezone.get_hwclock) == "UTC"}
            yield StateDeclaration(of=name, fun="timezone.system", name=name, arguments=said)


TYPES = {
    "kmod": ListedType(_list_modules, _declare_modules),
    "locale": ListedType(_list_locales, _declare_locales),
    "mount": ListedType(_list_mounts, _declare_mounts),
    "sysctl": ListedType(_list_parameters, _declare_parameters),
    "timezone": ListedType(_list_zones, _declare_zones),
}
