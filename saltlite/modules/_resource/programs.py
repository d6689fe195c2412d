"""Software: packages, where they come from, and which program a name stands for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.modules import alternatives
from saltlite.modules._resource.listed import Ask, Found, ListedType, StateDeclaration, pick_names

_ALTERNATIVES = ("/var/lib/dpkg/alternatives", "/var/lib/alternatives")
"""Where Debian and Red Hat keep one file for each name."""


def _read_versions(ctx: MinionContext, word: str) -> dict[str, str]:
    """By package the version; of several the last one is named."""
    found: Mapping[str, Any] = ctx.functions.call(word)
    return {str(name): str(version).split(",")[-1] for name, version in found.items()}


def _list_packages(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_versions(ctx, "pkg.list_pkgs"), pattern)


def _declare_packages(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    """One is declared by itself; several as one state: each of its own would ask anew."""
    there = _read_versions(ctx, "pkg.list_pkgs")
    named = [name for name in ask.names if name in there]
    if len(named) == 1:
        said: dict[str, Any] = {"version": there[named[0]]}
        yield StateDeclaration(of=named[0], fun="pkg.installed", name=named[0], arguments=said)
        return
    pkgs = {"pkgs": [{name: there[name]} for name in named]}
    yield from _declare_together("pkg", named, pkgs)


def _declare_together(type: str, named: list[str], said: dict[str, Any]) -> Iterator[Found]:
    """One state for all of them, if there is any."""
    for first in named[:1]:
        yield StateDeclaration(
            of=first,
            fun=f"{type}.installed",
            name="packages",
            arguments=said,
            ident=f"{type} packages",
            also=named[1:],
        )


def _list_modules(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_versions(ctx, "pip.list"), pattern)


def _declare_modules(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = _read_versions(ctx, "pip.list")
    named = [name for name in ask.names if name in there]
    wanted = [f"{name}=={there[name]}" for name in named]
    if len(named) == 1:
        yield StateDeclaration(of=named[0], fun="pip.installed", name=wanted[0])
        return
    yield from _declare_together("pip", named, {"pkgs": wanted})


@dataclass(frozen=True, slots=True, kw_only=True)
class AptSource:
    """What ``pkg.list_repos`` tells of a source of apt."""

    line: str = ""
    file: str = ""
    disabled: bool = False


def _read_sources(ctx: MinionContext) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """By name the names and options with which each source would be declared."""
    found: Mapping[str, Any] = ctx.functions.call("pkg.list_repos")
    sources: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for name, entry in found.items():
        if isinstance(entry, Mapping):  # of dnf and zypper
            options = {key: value for key, value in entry.items() if key not in ("file", "name")}
            if "name" in entry:
                options["humanname"] = entry["name"]
            sources[str(name)] = [(str(name), options)]
            continue
        for each in entry:
            one = read_fields(AptSource, each)
            said: dict[str, Any] = {"file": one.file}
            said |= {"disabled": True} if one.disabled else {}
            line = one.line.lstrip("# ").strip()
            sources.setdefault(str(name), []).append((line, said))
    return sources


def _list_sources(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_sources(ctx), pattern)


def _declare_sources(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = _read_sources(ctx)
    for name in ask.names:
        several = there.get(name, [])
        for number, (line, said) in enumerate(several, 1):
            yield StateDeclaration(
                of=name,
                fun="pkgrepo.managed",
                name=line,
                arguments={**said, "refresh": False},
                ident=f"pkgrepo {name} {number}" if len(several) > 1 else "",
            )


def _list_alternatives(ctx: MinionContext, pattern: str) -> list[str]:
    folder = next((path for path in _ALTERNATIVES if ctx.host.is_dir(path)), "")
    return pick_names(ctx.host.names(folder) if folder else (), pattern)


def _declare_alternatives(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    for name in ask.names:
        current = ctx.follow(alternatives.show_current, name)
        if not current or os.sep in name:
            continue
        if " auto mode" in ctx.follow(alternatives.display, name):
            yield StateDeclaration(of=name, fun="alternatives.auto", name=name)
        else:
            said = {"path": current}
            yield StateDeclaration(of=name, fun="alternatives.set", name=name, arguments=said)


TYPES = {
    "alternatives": ListedType(_list_alternatives, _declare_alternatives),
    "pip": ListedType(_list_modules, _declare_modules),
    "pkg": ListedType(_list_packages, _declare_packages),
    "pkgrepo": ListedType(_list_sources, _declare_sources),
}
