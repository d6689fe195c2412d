"""Groups of packages, as dnf and yum have them. Source: dnf(8), dnf5-group(8), yum(8).

Commands and shapes observed on Salt 3006.30 with recorded answers of dnf.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.providers.pkg import provider
from saltlite.providers.pkg.features import serves
from saltlite.providers.pkg.tools import ask, complaint

if TYPE_CHECKING:
    from saltlite.context import MinionContext

KINDS = ("mandatory", "optional", "default", "conditional")
"""How much a package or a group belongs to a group, in Salt's order."""

HEADINGS = {
    "installed groups": "installed",
    "available groups": "available",
    "installed environment groups": "installed environments",
    "available environment groups": "available environments",
    "installed language groups": "installed languages",
    "available language groups": "available languages",
}
"""The headings of the list in small letters, and Salt's names for them."""

_SHOWN = ("installed", "available", "installed environments", "available environments")
_LANGUAGE = regex(r"(?P<name>.+?)\s*\[(?P<language>[^\]]+)\]$")
_TITLE = regex(r"^(?P<kind>Environment Group|Group):\s*(?P<name>.+)$")
_TABLE = regex(r"^(?P<key>\S[^:]*?)?\s+: ?(?P<value>.*)$")
_COLUMNS = regex(r"^ID\s+Name\s+Installed\s*$", re.MULTILINE)
_ROW = regex(r"^\S+\s+(?P<name>\S.*?)\s+(?P<there>yes|no)\s*$")
"""A row of dnf5's list."""


@dataclass(frozen=True, slots=True)
class PackageGroup:
    """A group of packages; of an environment the ``members`` are groups."""

    name: str
    id: str = ""
    description: str = ""
    environment: bool = False
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def as_map(self) -> dict[str, Any]:
        """As ``pkg.group_info`` shows it."""
        members = {kind: sorted(self.members.get(kind, ())) for kind in KINDS}
        what = {
            "type": "environment group" if self.environment else "package group",
            "group": self.name,
            **({"id": self.id} if self.id else {}),
            "description": self.description,
        }
        return {**members, **what}


def list_groups(ctx: MinionContext) -> dict[str, Any]:
    """All groups, by what they are and whether they are installed."""
    program = _find_program(ctx, "group_list")
    words = ["grouplist", "hidden"] if program == "yum" else ["group", "list", "--hidden"]
    text = _run_text(ctx, [program, *words])
    if not _COLUMNS.search(text):
        return parse_list(text)
    return parse_tables(text, _run_text(ctx, [program, "environment", "list"]))


def _run_text(ctx: MinionContext, argv: Sequence[str]) -> str:
    done = ask(ctx, argv)
    if done.exit_code != 0:
        raise FunctionError(complaint(done)[0])
    return done.stdout


def info(
    ctx: MinionContext, name: str, *, expand: bool = False, ignored: Sequence[str] = ()
) -> PackageGroup:
    """One group by its name or id; ``expand``: an environment with the packages of its groups.

    Those of ``ignored`` groups are left out.

    Raises:
        FunctionError: there is none.
    """
    found = _ask_group(ctx, name)
    if not (expand and found.environment):
        return found
    members: dict[str, set[str]] = {kind: set() for kind in KINDS}
    groups = dict.fromkeys(one for kind in KINDS for one in found.members.get(kind, ()))
    for each in (one for one in groups if one not in ignored):
        for kind, packages in _ask_group(ctx, each).members.items():
            members[kind] |= set(packages)
    expanded = {kind: sorted(packages) for kind, packages in members.items()}
    return PackageGroup(found.name, found.id, found.description, found.environment, expanded)


def difference(ctx: MinionContext, name: str) -> dict[str, dict[str, list[str]]]:
    """The packages of a group that are there and that are not, of each kind."""
    there = provider(ctx).list_installed()
    group = info(ctx, name, expand=True)
    return {
        kind: {
            "installed": sorted(one for one in group.members.get(kind, ()) if one in there),
            "not installed": sorted(one for one in group.members.get(kind, ()) if one not in there),
        }
        for kind in KINDS
    }


def missing(
    found: Mapping[str, Mapping[str, Sequence[str]]], skip: Sequence[str], include: Sequence[str]
) -> list[str]:
    """What is to be installed: all that is missing of mandatory and default packages.

    ``skip`` is left out of the latter; ``include`` comes besides, even if it is there already.
    """
    mandatory = list(found["mandatory"]["not installed"])
    default = [one for one in found["default"]["not installed"] if one not in skip]
    return list(dict.fromkeys([*mandatory, *default, *include]))


def _ask_group(ctx: MinionContext, name: str) -> PackageGroup:
    program = _find_program(ctx, "group_info")
    commands = [["groupinfo"]] if program == "yum" else [["group", "info"], ["environment", "info"]]
    for command in commands:  # an environment is no group to dnf5; dnf 4 does not know it
        found = parse_info(ask(ctx, [program, "--quiet", *command, name]).stdout)
        if found is not None:
            return found
    raise FunctionError(f"Group '{name}' not found")


def _find_program(ctx: MinionContext, function: str) -> str:
    if not serves(ctx, "group_diff"):
        raise FunctionUnavailable(f"pkg.{function}")
    return next((name for name in ("dnf", "yum") if ctx.host.which(name)), "dnf")


def parse_list(text: str) -> dict[str, Any]:
    """``grouplist``: names with ids below headings; language groups are maps."""
    found: dict[str, Any] = {name: [] for name in _SHOWN}
    heading = ""
    for line in text.splitlines():
        if not line[:1].isspace():
            heading = HEADINGS.get(line.strip().removesuffix(":").lower(), "")
            continue
        name = line.strip()
        if not (heading and name):
            continue
        language = _LANGUAGE.match(name) if heading.endswith("languages") else None
        if language is not None:
            found.setdefault(heading, {})[name] = language.groupdict()
        elif heading in found:
            found[heading].append(name)
    return found


def parse_tables(groups: str, environments: str) -> dict[str, Any]:
    """``group list`` and ``environment list`` of dnf5."""
    found: dict[str, Any] = {name: [] for name in _SHOWN}
    for text, what in ((groups, ""), (environments, " environments")):
        for match in filter(None, map(_ROW.match, text.splitlines())):
            found[("installed" if match["there"] == "yes" else "available") + what].append(
                match["name"]
            )
    return found


def parse_info(text: str) -> PackageGroup | None:
    """``groupinfo`` of yum, dnf and dnf5; ``None`` if it tells of no group.

    yum marks packages with ``+``, ``-`` and ``=``.
    """
    fields: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    name, environment, kind = "", False, ""
    for key, value in _parse_lines(text):
        small = key.lower()
        if small in ("group", "environment group", "name"):
            if name:
                break  # of several groups the first one
            name, environment = value, small == "environment group"
        elif name and small == "id":
            break
        elif _kind_of(small) in KINDS:
            kind = _kind_of(small)
            environment = environment or small.endswith(" groups")
            members.setdefault(kind, [])
            members[kind] += [value] if value else []
        elif key:
            kind, fields[small] = "", value
        elif kind and value:
            members[kind].append(value)
    members = {each: [_bare_name(one) for one in packages] for each, packages in members.items()}
    known = next((fields[one] for one in ("group-id", "environment-id", "id") if one in fields), "")
    return (
        PackageGroup(name, known, fields.get("description", ""), environment, members)
        if name
        else None
    )


def _kind_of(key: str) -> str:
    """How much the packages or groups of a heading belong to it; dnf5's environments require."""
    word = key.split(" ")[0]
    return "mandatory" if word == "required" else word


def _bare_name(name: str) -> str:
    return name.lstrip("+-=")


def _parse_lines(text: str) -> Iterator[tuple[str, str]]:
    """Keys and values; a line without a key goes on with what was before."""
    for line in text.splitlines():
        table = _TABLE.match(line)
        if table is not None:  # dnf5
            yield (table["key"] or "").strip(), table["value"].strip()
            continue
        title = _TITLE.match(line.strip())
        if title is not None:
            yield title["kind"], title["name"].strip()
            continue
        key, colon, value = line.strip().partition(":")
        if colon and len(line) - len(line.lstrip()) <= 1:
            yield key, value.strip()
        else:
            yield "", line.strip()
