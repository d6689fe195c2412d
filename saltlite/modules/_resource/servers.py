"""Servers: what Apache has enabled, and which programs supervisord runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from saltlite.context import MinionContext
from saltlite.modules import apache, supervisord
from saltlite.modules._resource.listed import Ask, Found, ListedType, StateDeclaration, pick_names
from saltlite.providers import supervisor

Check = Callable[[MinionContext, str], bool]


def _list_apache(folder: str, end: str) -> Callable[[MinionContext, str], list[str]]:
    """Names of what there is to be enabled; Debian keeps a file for each."""

    def list_names(ctx: MinionContext, pattern: str) -> list[str]:
        place = os.path.join(apache.ROOT, f"{folder}-available")
        files = ctx.host.names(place) if ctx.host.is_dir(place) else ()
        return pick_names((file.removesuffix(end) for file in files if file.endswith(end)), pattern)

    return list_names


def _declare_apache(
    kind: str, names: Callable[[MinionContext, str], list[str]], is_enabled: Check
) -> Callable[[MinionContext, Ask], Iterator[Found]]:
    def declare(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
        there = names(ctx, "*")
        for name in ask.names:
            if name in there:
                word = "enabled" if is_enabled(ctx, name) else "disabled"
                yield StateDeclaration(of=name, fun=f"apache_{kind}.{word}", name=name)

    return declare


def _build_apache_type(kind: str, folder: str, end: str, is_enabled: Check) -> ListedType:
    names = _list_apache(folder, end)
    return ListedType(names, _declare_apache(kind, names, is_enabled))


def _list_programs(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(supervisord.status), pattern)


def _declare_programs(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = ctx.follow(supervisord.status)
    for name in ask.names:
        if name in there:
            word = "running" if there[name]["state"] in supervisor.RUNNING else "dead"
            yield StateDeclaration(of=name, fun=f"supervisord.{word}", name=name)


TYPES = {
    "apache_conf": _build_apache_type("conf", "conf", ".conf", apache.check_conf_enabled),
    "apache_module": _build_apache_type("module", "mods", ".load", apache.check_mod_enabled),
    "apache_site": _build_apache_type("site", "sites", ".conf", apache.check_site_enabled),
    "supervisord": ListedType(_list_programs, _declare_programs),
}
