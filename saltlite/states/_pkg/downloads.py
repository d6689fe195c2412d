"""Package files that are in the package manager's cache, to be installed later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step
from saltlite.providers.pkg import names as asked
from saltlite.providers.pkg import package_files
from saltlite.states._pkg.versions import (
    PackageSpec,
    candidates,
    comparing,
    errors_of,
    fits,
    join_names,
    refreshing,
)


@dataclass(frozen=True, slots=True)
class Cached:
    """The files that are there, the packages of which none will do, and what would come."""

    files: Mapping[str, Mapping[str, Any]]
    missing: tuple[PackageSpec, ...] = ()
    coming: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Downloaded(Resource[Cached]):
    """Files of these packages are there. As in Salt they count as changes where rpm is, not apt."""

    drawn = frozenset(package_files.DETAILS)

    wanted: tuple[PackageSpec, ...]
    options: Mapping[str, Any]
    refresh: bool | None = None
    ignore_epoch: bool = False
    tells_files: bool = False

    def read(self, ctx: MinionContext) -> Cached:
        """The packages of which there is no file, or none of the wanted version."""
        found = ctx.functions.call("pkg.list_downloaded")
        compare = comparing(ctx, ignore_epoch=self.ignore_epoch)
        missing = tuple(
            each for each in self.wanted if not fits(each, list(found.get(each.name, ())), compare)
        )
        names = [each.name for each in missing if self.tells_files]
        return Cached(found, missing, candidates(ctx, names, self.options))

    def plan(self, now: Cached) -> Sequence[Step]:
        """One command gets them all, and what they depend on."""
        if not now.missing:
            return []
        names = join_names([each.name for each in now.missing])
        return [
            Step(
                would=f"The following packages would be downloaded: {names}",
                did="" if self.tells_files else f"Packages downloaded: {names}",
                run=lambda ctx: self._download_packages(ctx, now.missing),
                changes={each.name: self._change_of(each, now) for each in now.missing}
                if self.tells_files
                else {},
            )
        ]

    @staticmethod
    def _change_of(wanted: PackageSpec, now: Cached) -> dict[str, Any]:
        exact = wanted.version and not asked.is_condition(wanted.version)
        version = wanted.version if exact else now.coming.get(wanted.name)
        old = now.files.get(wanted.name) or ""
        return {"old": old, "new": {version: {}} if version else {}}

    def _download_packages(self, ctx: MinionContext, missing: Sequence[PackageSpec]) -> None:
        pkgs = [{each.name: each.version} if each.version else each.name for each in missing]
        try:
            ctx.functions.call(
                "pkg.install",
                pkgs=pkgs,
                refresh=refreshing(ctx, self.refresh),
                downloadonly=True,
                ignore_epoch=self.ignore_epoch,
                **self.options,
            )
        except FunctionError as error:
            raise FunctionError(errors_of(error)) from error

    def changes(self, before: Cached, after: Cached, steps: Sequence[Step]) -> dict[str, Any]:
        """The files that came, also of what the packages depend on."""
        return package_files.changes(before.files, after.files) if self.tells_files else {}

    def comment_changed(self, before: Cached, after: Cached, steps: Sequence[Step]) -> str:
        """What was got; nothing where the changes tell it."""
        return "\n".join(step.did for step in steps)

    def comment_unchanged(self, now: Cached) -> str:
        """They are there."""
        versions = any(each.version for each in self.wanted)
        which = " (matching specified versions)" if versions else ""
        return f"All specified packages{which} are already downloaded"

    def unmet(self, after: Cached, left: Sequence[Step]) -> str:
        """The package manager said nothing and did not do it: what is installed is not got."""
        names = join_names([each.name for each in after.missing])
        return f"The following packages failed to download: {names}"
