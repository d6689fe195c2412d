"""Volumes of lvm2: physical ones, groups, logical ones."""

from __future__ import annotations

from collections.abc import Iterator

from saltlite.context import MinionContext
from saltlite.modules import lvm
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    ListedType,
    StateDeclaration,
    declare_each,
    pick_names,
)
from saltlite.providers.lvm import report

_GROUP = report.PHYSICAL[1]
_SECTORS = report.LOGICAL[6]


def _list_physical(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(lvm.pvdisplay), pattern)


def _declare_physical(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    yield from declare_each("lvm.pv_present", ask, {name: {} for name in ctx.follow(lvm.pvdisplay)})


def _list_groups(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(lvm.vgdisplay), pattern)


def _declare_groups(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    physical = ctx.follow(lvm.pvdisplay)
    there = {
        name: {"devices": [each for each in physical if physical[each][_GROUP] == name]}
        for name in ctx.follow(lvm.vgdisplay)
    }
    yield from declare_each("lvm.vg_present", ask, there)


def _list_logical(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(lvm.lvdisplay), pattern)


def _declare_logical(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = ctx.follow(lvm.lvdisplay)
    for path in ask.names:
        if path in there:
            said = {"vgname": there[path][_GROUP], "size": f"{there[path][_SECTORS]}s"}
            yield StateDeclaration(
                of=path, fun="lvm.lv_present", name=path.rsplit("/", 1)[-1], arguments=said
            )


TYPES = {
    "lvm_lv": ListedType(_list_logical, _declare_logical),
    "lvm_pv": ListedType(_list_physical, _declare_physical),
    "lvm_vg": ListedType(_list_groups, _declare_groups),
}
