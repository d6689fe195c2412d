"""A system without anything to upgrade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.states._pkg.held import can_hold, holds
from saltlite.states._pkg.versions import (
    Installed,
    difference,
    join_names,
    list_installed,
    refreshing,
)


@dataclass(frozen=True, slots=True)
class Upgrades:
    """What could be upgraded, and what is there; ``error`` if that cannot be told."""

    installed: Installed
    newer: Mapping[str, str]
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class UpToDate(Resource[Upgrades]):
    """A system without anything to upgrade; ``pkgs`` limits it to some packages."""

    pkgs: tuple[str, ...]
    options: Mapping[str, Any]
    refresh: bool | None = None

    def read(self, ctx: MinionContext) -> Upgrades:
        """Ask for what is newer; the lists are got anew once a run."""
        refresh = refreshing(ctx, self.refresh)
        installed = list_installed(ctx)
        try:
            newer = ctx.functions.call("pkg.list_upgrades", refresh=refresh, **self.options)
        except FunctionError as error:
            return Upgrades(installed, {}, str(error).rpartition("listing upgrades: ")[2])
        held = holds(ctx) if newer and can_hold(ctx) else ()  # a user's own module may list them
        chosen = {name: newer[name] for name in newer if not self.pkgs or name in self.pkgs}
        return Upgrades(installed, {name: chosen[name] for name in chosen if name not in held})

    def plan(self, now: Upgrades) -> Sequence[Step] | Verdict:
        """One command upgrades them."""
        if now.error:
            return Verdict(result=False, comment=f"Failed to get upgrades: {now.error}")
        if not now.newer:
            return []
        return [
            Step(
                would="System update will be performed",
                did="Upgrade ran successfully",
                run=lambda ctx: self._upgrade_packages(ctx, sorted(now.newer)),
                changes={
                    name: {"old": ",".join(now.installed.get(name, ())), "new": version}
                    for name, version in now.newer.items()
                },
            )
        ]

    def _upgrade_packages(self, ctx: MinionContext, names: list[str]) -> None:
        given = {**self.options, "pkgs": names} if self.pkgs else dict(self.options)
        ctx.functions.call("pkg.upgrade", refresh=False, **given)

    def comment_unchanged(self, now: Upgrades) -> str:
        """There is nothing newer."""
        return "System is already up-to-date"

    def changes(self, before: Upgrades, after: Upgrades, steps: Sequence[Step]) -> dict[str, Any]:
        """Every package that changed."""
        return difference(before.installed, after.installed)

    def unmet(self, after: Upgrades, left: Sequence[Step]) -> str:
        """The command succeeded and left some."""
        return f"The following packages failed to update: {join_names(sorted(after.newer))}"
