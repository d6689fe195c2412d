"""Packages that are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.states._pkg.versions import (
    Installed,
    PackageSpec,
    difference,
    errors_of,
    join_names,
    list_installed,
)


@dataclass(frozen=True, slots=True)
class Remains:
    """What is installed, and of what only configuration is left."""

    installed: Installed
    left: Installed


@dataclass(frozen=True, kw_only=True)
class Gone(Resource[Remains]):
    """Packages that are not there; ``purge``: nor is their configuration."""

    wanted: tuple[PackageSpec, ...]
    purge: bool
    options: Mapping[str, Any]
    keeps_configuration: bool = False

    def read(self, ctx: MinionContext) -> Remains:
        """What is there, and what is left over where that matters."""
        left = list_installed(ctx, removed=True) if self.purge and self.keeps_configuration else {}
        return Remains(list_installed(ctx), left)

    def _find_targets(self, now: Remains) -> list[str]:
        return [
            each.name
            for each in self.wanted
            if each.name in now.left
            or (
                each.name in now.installed
                and (each.version is None or each.version in now.installed[each.name])
            )
        ]

    def plan(self, now: Remains) -> Sequence[Step] | Verdict:
        """One command for all that is there."""
        targets = self._find_targets(now)
        if not targets:
            return []
        function = "pkg.purge" if self.purge else "pkg.remove"
        done = "purged" if self.purge else "removed"
        there = {**now.left, **now.installed}
        changes = {name: {"old": ",".join(there[name]), "new": ""} for name in targets}
        return [
            Step(
                would=f"The following packages will be {done}: {join_names(sorted(targets))}.",
                run=lambda ctx: self._remove_packages(ctx, function, targets),
                changes=self._laid_out(changes, now),
            )
        ]

    def _remove_packages(self, ctx: MinionContext, function: str, targets: Sequence[str]) -> None:
        try:
            ctx.functions.call(function, pkgs=list(targets), **self.options)
        except FunctionError as error:
            raise FunctionError(errors_of(error)) from error

    def _laid_out(self, changed: dict[str, Any], before: Remains) -> dict[str, Any]:
        """Purged packages are told by what they were, where configuration can be left."""
        if not (self.purge and self.keeps_configuration):
            return changed
        split: dict[str, Any] = {"installed": {}, "removed": {}}
        for name, change in changed.items():
            split["installed" if name in before.installed else "removed"][name] = change
        return split

    def comment_unchanged(self, now: Remains) -> str:
        """None of them is there."""
        if self.purge:
            return "None of the targeted packages are installed or partially installed"
        versions = any(each.version for each in self.wanted)
        which = " (matching specified versions)" if versions else ""
        return f"All specified packages{which} are already absent"

    def comment_changed(self, before: Remains, after: Remains, steps: Sequence[Step]) -> str:
        """What went, and what had not been there."""
        done = "purged" if self.purge else "removed"
        targets = self._find_targets(before)
        absent = sorted({each.name for each in self.wanted} - set(targets))
        if not absent:
            return f"All targeted packages were {done}."
        return (
            f"The following packages were not installed: {join_names(absent)}"
            f" The following packages were {done}: {join_names(sorted(targets))}."
        )

    def changes(self, before: Remains, after: Remains, steps: Sequence[Step]) -> dict[str, Any]:
        """Every package that went, also those that depended on it."""
        old = {**before.left, **before.installed}
        new = {**after.left, **after.installed}
        return self._laid_out(difference(old, new), before)

    def unmet(self, after: Remains, left: Sequence[Step]) -> str:
        """The package manager said nothing and did not do it."""
        done = "purge" if self.purge else "remove"
        names = join_names(sorted(self._find_targets(after)))
        return f"The following packages failed to {done}: {names}."
