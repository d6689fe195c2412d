"""Packages of languages: of Python, Ruby and Node.js, those of the whole machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.modules import gem, npm, pip
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    LeftOut,
    ListedType,
    StateDeclaration,
    declare_together,
    pick_names,
)
from saltlite.providers.gem import plain_version


def _list_modules(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(pip.list_), pattern)


def _declare_modules(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = ctx.follow(pip.list_)
    named = [name for name in ask.names if name in there]
    yield from _declare_versions("pip", "==", named, there)


def _declare_versions(
    type: str, sign: str, named: list[str], versions: Mapping[str, str]
) -> Iterator[Found]:
    """One is declared by itself, several as one state."""
    wanted = [f"{name}{sign}{versions[name]}" for name in named]
    if len(named) == 1:
        yield StateDeclaration(of=named[0], fun=f"{type}.installed", name=wanted[0])
        return
    yield from declare_together(type, named, {"pkgs": wanted})


def _read_nodes(ctx: MinionContext) -> dict[str, str]:
    """By package of Node.js its version, ``""`` for one that npm misses."""
    found: Mapping[str, Mapping[str, Any]] = ctx.follow(npm.list_, depth=0)
    return {name: str(entry.get("version", "")) for name, entry in found.items()}


def _list_nodes(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_nodes(ctx), pattern)


def _declare_nodes(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = _read_nodes(ctx)
    named = [name for name in ask.names if name in there]
    for name in named:
        if not there[name]:
            yield LeftOut(name, "npm tells no version of it")
    yield from _declare_versions("npm", "@", [name for name in named if there[name]], there)


def _list_gems(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(ctx.follow(gem.list_), pattern)


def _declare_gems(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    """A state for each version: several of one gem may be there."""
    there = ctx.follow(gem.list_)
    for name in ask.names:
        for version in dict.fromkeys(map(plain_version, there.get(name, ()))):
            yield StateDeclaration(
                of=name,
                fun="gem.installed",
                name=name,
                arguments={"version": version},
                ident=f"gem {name} {version}",
            )


TYPES = {
    "gem": ListedType(_list_gems, _declare_gems),
    "npm": ListedType(_list_nodes, _declare_nodes),
    "pip": ListedType(_list_modules, _declare_modules),
}
