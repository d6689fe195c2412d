"""Groups of packages that are installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.providers.pkg import names as asked
from saltlite.states._pkg.versions import (
    Installed,
    candidates,
    errors_of,
    join_names,
    list_installed,
)


@dataclass(frozen=True, slots=True)
class Members:
    """The packages of a group, as ``pkg.group_diff`` tells; ``wrong``: why they are not known."""

    installed: Installed
    members: Mapping[str, Mapping[str, Sequence[str]]]
    coming: Mapping[str, str]
    wrong: str = ""


@dataclass(frozen=True, kw_only=True)
class Grouped(Resource[Members]):
    """What a group must have and has by default is installed, but what is to be skipped."""

    name: str
    skip: tuple[str, ...]
    include: tuple[str, ...]
    options: Mapping[str, Any]

    def read(self, ctx: MinionContext) -> Members:
        """Ask for the group, and what of it is there."""
        installed = list_installed(ctx)
        try:
            found = ctx.functions.call("pkg.group_diff", self.name)
        except SaltliteError as error:
            return Members(installed, {}, {}, f"{error}")
        now = Members(installed, found, {})
        return Members(installed, found, candidates(ctx, self._find_missing(now), self.options))

    def _find_missing(self, now: Members) -> list[str]:
        mandatory = now.members["mandatory"]["not installed"]
        default = now.members["default"]["not installed"]
        chosen = [one for one in default if one not in self.skip]
        besides = [one for one in self.include if one not in now.installed]
        return list(dict.fromkeys([*mandatory, *chosen, *besides]))

    def plan(self, now: Members) -> Sequence[Step] | Verdict:
        """One command for all that is missing."""
        if now.wrong:
            said = f"An error was encountered while installing/updating group '{self.name}':"
            return Verdict(result=False, comment=f"{said} {now.wrong}.")
        must = {one for which in now.members["mandatory"].values() for one in which}
        never = [one for one in self.skip if one in must]
        if never:
            said = f"The following mandatory packages cannot be skipped: {join_names(never)}"
            return Verdict(result=False, comment=said)
        names = self._find_missing(now)
        if not names:
            return []
        partly = any(now.members[kind]["installed"] for kind in ("mandatory", "default"))
        would = "is partially installed and will be updated" if partly else "will be installed"
        return [
            Step(
                would=f"Group '{self.name}' {would}",
                did=f"Group '{self.name}' was {'updated' if partly else 'installed'}",
                run=lambda ctx: self._install_packages(ctx, names),
                changes={
                    name: {"old": "", "new": now.coming.get(name) or "installed"} for name in names
                },
            )
        ]

    def _install_packages(self, ctx: MinionContext, names: Sequence[str]) -> None:
        try:
            ctx.functions.call("pkg.install", pkgs=list(names), **self.options)
        except FunctionError as error:
            raise FunctionError(errors_of(error)) from error

    def comment_unchanged(self, now: Members) -> str:
        """All is there."""
        return f"Group '{self.name}' is already installed"

    def changes(self, before: Members, after: Members, steps: Sequence[Step]) -> dict[str, Any]:
        """Every package that changed, also those that came along."""
        return dict(asked.changes(before.installed, after.installed))

    def unmet(self, after: Members, left: Sequence[Step]) -> str:
        """The package manager said nothing and did not do it."""
        return f"Failed to install the following packages: {join_names(self._find_missing(after))}"
