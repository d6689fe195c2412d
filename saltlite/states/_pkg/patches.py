"""Patches that are installed, or whose files are got."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.providers.pkg import names as asked
from saltlite.providers.pkg import package_files
from saltlite.providers.pkg.options import PackageOptions
from saltlite.providers.pkg.patches import patches
from saltlite.states._pkg.versions import Installed, join_names, list_installed

_FAILED = "An error was encountered while downloading package(s)"


@dataclass(frozen=True, slots=True)
class PatchStatus:
    """What is there, and what the patches that are not installed would bring."""

    installed: Installed
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    open: tuple[str, ...] = ()
    """The patches that are not installed."""
    unknown: tuple[str, ...] = ()
    coming: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Patched(Resource[PatchStatus]):
    """Patches are installed; with ``only_files`` their files are there.

    A patch of packages that are not installed is not needed, and nothing is done.
    """

    drawn = frozenset(package_files.DETAILS)

    ids: tuple[str, ...]
    options: Mapping[str, Any]
    only_files: bool = False
    one: bool = False

    def read(self, ctx: MinionContext) -> PatchStatus:
        """Ask for the patches, and what those that are not installed would change."""
        known = ctx.functions.call("pkg.list_patches")
        missing = tuple(each for each in self.ids if each not in known)
        left = tuple(each for each in self.ids if each in known and not known[each]["installed"])
        files = package_files.list_downloaded(ctx) if self.only_files else {}
        coming: dict[str, str] = {}
        if left and not missing:
            found = patches(ctx, "list_patches").coming(left, PackageOptions.of(self.options))
            coming = {
                name: version
                for name, version in found.items()
                if not self.only_files or version not in files.get(name, {})
            }
        return PatchStatus(list_installed(ctx), files, left, missing, coming)

    def plan(self, now: PatchStatus) -> Sequence[Step] | Verdict:
        """One command for all."""
        if now.unknown:
            said = f'{_FAILED}: Advisory id "{now.unknown[0]}" not found'
            return Verdict(result=False, comment=said)
        if not now.coming:
            return []
        return [
            Step(
                would=f"The following advisory patches would be downloaded: {join_names(now.open)}",
                did=f"Advisory patches {'downloaded' if self.only_files else 'installed'}:"
                f" {join_names(now.open)}",
                run=lambda ctx: self._install_patches(ctx, now.open),
                changes={name: self._change_of(name, now) for name in now.coming},
            )
        ]

    def _change_of(self, name: str, now: PatchStatus) -> dict[str, Any]:
        if self.only_files:
            return {"old": dict(now.files.get(name, {})) or "", "new": {now.coming[name]: {}}}
        return {"old": ",".join(now.installed.get(name, ())), "new": now.coming[name]}

    def _install_patches(self, ctx: MinionContext, ids: Sequence[str]) -> None:
        options = {**self.options, "downloadonly": self.only_files}
        errors = patches(ctx, "list_patches").install(ids, PackageOptions.of(options))
        if errors:
            raise FunctionError(f"{_FAILED}: {errors[0]}")

    def comment_unchanged(self, now: PatchStatus) -> str:
        """They are installed, or not needed."""
        if now.open:
            done = "downloaded" if self.only_files else "installed"
            return f"Advisory patch is not needed or related packages are already {done}"
        if self.one:
            return f"Advisory patch {self.ids[0]} is already installed"
        return "All specified advisory patches are already installed"

    def changes(
        self, before: PatchStatus, after: PatchStatus, steps: Sequence[Step]
    ) -> dict[str, Any]:
        """Every package that changed, or the files that came."""
        if self.only_files:
            return package_files.changes(before.files, after.files)
        return dict(asked.changes(before.installed, after.installed))

    def unmet(self, after: PatchStatus, left: Sequence[Step]) -> str:
        """The package manager said nothing and did not do it."""
        return f"The following packages failed to update: {join_names(sorted(after.coming))}"
