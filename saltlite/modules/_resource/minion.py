"""What the minion itself has: its own grains, its schedule, its beacons, its environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.beacons import BadBeacon, list_form
from saltlite.modules import beacons, environ, schedule
from saltlite.modules import grains as own_grains
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    LeftOut,
    ListedType,
    StateDeclaration,
    declare_each,
    pick_names,
)


def _list_grains(ctx: MinionContext, pattern: str) -> list[str]:
    """Those that somebody has set; all others the machine comes to by itself."""
    return pick_names(map(str, own_grains.read_set(ctx)), pattern)


def _declare_grains(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    for name in ask.names:
        if name not in ctx.grains:
            continue
        value = ctx.grains[name]
        if ":" in name:
            yield LeftOut(name, "a colon in its name stands for a grain within another one")
        else:
            said = {"value": value}
            yield StateDeclaration(of=name, fun="grains.present", name=name, arguments=said)


def _read_schedule(ctx: MinionContext) -> Mapping[str, Any]:
    found: Mapping[str, Any] = ctx.follow(schedule.list_, return_yaml=False)
    return {name: entry for name, entry in found.items() if isinstance(entry, Mapping)}


def _list_jobs(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_schedule(ctx), pattern)


def _declare_jobs(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = {
        name: {key: value for key, value in job.items() if key != "name"}
        for name, job in _read_schedule(ctx).items()
    }
    yield from declare_each("schedule.present", ask, there)


def _list_beacons(ctx: MinionContext, pattern: str) -> list[str]:
    found: Mapping[str, Any] = ctx.follow(beacons.list_, return_yaml=False)
    return pick_names((name for name in found if name != "enabled"), pattern)


def _declare_beacons(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there: Mapping[str, Any] = ctx.follow(beacons.list_, return_yaml=False)
    for name in ask.names:
        if name not in there or name == "enabled":
            continue
        try:
            data = list_form(name, there[name])
        except BadBeacon as error:
            yield LeftOut(name, str(error))
            continue
        said = {"beacon_data": data}
        yield StateDeclaration(of=name, fun="beacon.present", name=name, arguments=said)


def _list_variables(ctx: MinionContext, pattern: str) -> list[str]:
    del ctx
    return pick_names(environ.items(), pattern)


def _declare_variables(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    del ctx
    there = {name: {"value": value} for name, value in environ.items().items()}
    yield from declare_each("environ.setenv", ask, there)


TYPES = {
    "beacon": ListedType(_list_beacons, _declare_beacons),
    "environ": ListedType(_list_variables, _declare_variables),
    "grains": ListedType(_list_grains, _declare_grains),
    "schedule": ListedType(_list_jobs, _declare_jobs),
}
