"""Packages in their newest version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.states._pkg.versions import (
    INSTALLING,
    Installed,
    difference,
    join_names,
    list_installed,
    narrowing,
    refreshing,
)


@dataclass(frozen=True, slots=True)
class Offer:
    """Packages and their newest versions; ``newest`` is ``""`` where there is nothing newer."""

    installed: Installed
    newest: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Newest(Resource[Offer]):
    """Packages that are there in their newest version."""

    names: tuple[str, ...]
    options: Mapping[str, Any]
    refresh: bool | None = None

    def read(self, ctx: MinionContext) -> Offer:
        """The lists are got anew once a run: what is newest is known only then."""
        found = ctx.functions.call(
            "pkg.latest_version",
            *self.names,
            refresh=refreshing(ctx, self.refresh),
            **narrowing(self.options),
        )
        newest = {self.names[0]: found} if isinstance(found, str) else dict(found)
        return Offer(list_installed(ctx), newest)

    def _find_targets(self, now: Offer) -> list[str]:
        return sorted(name for name in self.names if now.newest.get(name))

    def plan(self, now: Offer) -> Sequence[Step] | Verdict:
        """One command for all that is not the newest."""
        unknown = [
            name for name in self.names if not (now.newest.get(name) or name in now.installed)
        ]
        if unknown:
            said = "\n".join(f"No information found for '{name}'." for name in unknown)
            return Verdict(result=False, comment=said)
        targets = self._find_targets(now)
        if not targets:
            return []
        return [
            Step(
                would=f"The following packages would be installed/upgraded: {join_names(targets)}",
                run=lambda ctx: self._install_packages(ctx, targets),
                changes={
                    name: {"old": ",".join(now.installed.get(name, ())), "new": now.newest[name]}
                    for name in targets
                },
            )
        ]

    def _install_packages(self, ctx: MinionContext, targets: Sequence[str]) -> None:
        try:
            ctx.functions.call("pkg.install", pkgs=list(targets), refresh=False, **self.options)
        except FunctionError as error:
            raise FunctionError(f"{INSTALLING}{error}") from error

    def comment_unchanged(self, now: Offer) -> str:
        """All are the newest."""
        if len(self.names) == 1:
            return f"Package {self.names[0]} is already up-to-date"
        return f"All packages are up-to-date ({join_names(sorted(self.names))})."

    def _find_fresh(self, now: Offer) -> list[str]:
        return sorted(set(self.names) - set(self._find_targets(now)))

    def would(self, now: Offer, steps: Sequence[Step]) -> str:
        """What would change, and what is fine."""
        fresh = [f"{name} ({','.join(now.installed[name])})" for name in self._find_fresh(now)]
        more = f"\nThe following packages are already up-to-date: {join_names(fresh)}"
        return steps[0].would + (more if fresh else "")

    def comment_changed(self, before: Offer, after: Offer, steps: Sequence[Step]) -> str:
        """What changed, and what was fine."""
        names = join_names(self._find_targets(before))
        said = f"The following packages were successfully installed/upgraded: {names}"
        fresh = self._find_fresh(before)
        more = f" The following packages were already up-to-date: {join_names(fresh)}"
        return said + (more if fresh else "")

    def changes(self, before: Offer, after: Offer, steps: Sequence[Step]) -> dict[str, Any]:
        """Every package that changed."""
        return difference(before.installed, after.installed)

    def unmet(self, after: Offer, left: Sequence[Step]) -> str:
        """They were installed and are not the newest."""
        return f"The following packages failed to update: {join_names(self._find_targets(after))}"
