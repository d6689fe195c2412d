"""Packages of the system: where they come from, what they asked, which program a name means."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.modules import alternatives, debconf
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    LeftOut,
    ListedType,
    StateDeclaration,
    declare_together,
    pick_names,
)

_ALTERNATIVES = ("/var/lib/dpkg/alternatives", "/var/lib/alternatives")
"""Where Debian and Red Hat keep one file for each name."""


def _read_versions(ctx: MinionContext) -> dict[str, str]:
    """By package the version; of several the last one is named."""
    found: Mapping[str, Any] = ctx.functions.call("pkg.list_pkgs")
    return {str(name): str(version).split(",")[-1] for name, version in found.items()}


def _list_packages(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_versions(ctx), pattern)


def _declare_packages(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    """One is declared by itself; several as one state: each of its own would ask anew."""
    there = _read_versions(ctx)
    named = [name for name in ask.names if name in there]
    if len(named) == 1:
        said: dict[str, Any] = {"version": there[named[0]]}
        yield StateDeclaration(of=named[0], fun="pkg.installed", name=named[0], arguments=said)
        return
    pkgs = {"pkgs": [{name: there[name]} for name in named]}
    yield from declare_together("pkg", named, pkgs)


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


_NO_QUESTIONS = frozenset({"error", "note", "text", "title"})
"""Types of what debconf only tells."""


def _read_answers(ctx: MinionContext) -> dict[str, list[list[str]]]:
    """By package the questions that somebody answered, each with type and answer."""
    found = ctx.follow(debconf.get_selections, fetchempty=False)
    given = {
        package: [each for each in questions if each[1] not in _NO_QUESTIONS]
        for package, questions in found.items()
    }
    return {package: questions for package, questions in given.items() if questions}


def _list_answered(ctx: MinionContext, pattern: str) -> list[str]:
    return pick_names(_read_answers(ctx), pattern)


def _declare_answers(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = _read_answers(ctx)
    for name in ask.names:
        data: dict[str, Any] = {}
        for question, kind, value in there.get(name, ()):
            if kind == "password" and not ask.secrets:
                yield LeftOut(name, f"the answer to {question}, a password")
            else:
                data[question] = {"type": kind, "value": value}
        if data:
            yield StateDeclaration(of=name, fun="debconf.set", name=name, arguments={"data": data})


TYPES = {
    "alternatives": ListedType(_list_alternatives, _declare_alternatives),
    "debconf": ListedType(_list_answered, _declare_answers),
    "pkg": ListedType(_list_packages, _declare_packages),
    "pkgrepo": ListedType(_list_sources, _declare_sources),
}
