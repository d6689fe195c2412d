"""Packages that are installed, and held if that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.providers.pkg import names as asked
from saltlite.states._pkg.held import hold_change, hold_step, holds
from saltlite.states._pkg.versions import (
    Installed,
    PackageSpec,
    both,
    candidates,
    comparing,
    difference,
    errors_of,
    file_versions,
    fits,
    join_names,
    list_installed,
    narrowing,
    refreshing,
)


@dataclass(frozen=True, slots=True)
class Stock:
    """The packages of a machine, and which of the wanted ones are not as they shall be."""

    installed: Installed
    missing: tuple[PackageSpec, ...] = ()
    coming: Mapping[str, str] = field(default_factory=dict)
    """The version that an installation would bring."""
    held: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class InstalledPackages(Resource[Stock]):
    """Packages that are installed; ``hold`` also says whether they are kept as they are."""

    wanted: tuple[PackageSpec, ...]
    options: Mapping[str, Any]
    refresh: bool | None = None
    hold: bool | None = None
    ignore_epoch: bool = False

    def read(self, ctx: MinionContext) -> Stock:
        """Ask what is there; what is offered only if something is missing."""
        installed = list_installed(ctx)
        compare = comparing(ctx, ignore_epoch=self.ignore_epoch)
        missing = tuple(
            each for each in self.wanted if not fits(each, installed.get(each.name, ()), compare)
        )
        names = [each.name for each in missing if each.file is None]
        return Stock(
            installed=installed,
            missing=missing,
            coming={
                **candidates(ctx, names, self.options),
                **self._choose_versions(ctx, missing),
                **file_versions(ctx, missing),
            },
            held=holds(ctx) if self.hold is not None else frozenset(),
        )

    def _choose_versions(
        self, ctx: MinionContext, missing: Sequence[PackageSpec]
    ) -> dict[str, str]:
        """The offered version that fits each condition."""
        chosen, compare = {}, comparing(ctx, ignore_epoch=self.ignore_epoch)
        for each in missing:
            if each.version and asked.is_condition(each.version):
                given = narrowing(self.options)
                offered = ctx.functions.call("pkg.list_repo_pkgs", each.name, **given)
                fitting = asked.satisfying(each.version, offered.get(each.name, []), compare)
                chosen[each.name] = fitting or ""
        return chosen

    def plan(self, now: Stock) -> Sequence[Step] | Verdict:
        """One command installs all that is missing; another holds or lets go."""
        return [*self._plan_install(now), *self._plan_holds(now)]

    def _plan_install(self, now: Stock) -> list[Step]:
        if not now.missing:
            return []
        names = join_names([each.name for each in now.missing])
        wanted = self._list_names(now.missing)
        return [
            Step(
                would=f"The following packages would be installed/updated: {names}",
                did=f"The following packages were installed/updated: {wanted}",
                run=lambda ctx: self._install_packages(ctx, now.missing),
                changes={
                    each.name: {
                        "old": ",".join(now.installed.get(each.name, ())),
                        "new": self._expect_version(each, now),
                    }
                    for each in now.missing
                },
            )
        ]

    @staticmethod
    def _list_names(wanted: Sequence[PackageSpec]) -> str:
        return join_names([str(each) for each in wanted])

    @staticmethod
    def _expect_version(wanted: PackageSpec, now: Stock) -> str:
        if wanted.version and not asked.is_condition(wanted.version):
            return wanted.version
        return now.coming.get(wanted.name) or "installed"

    def _install_packages(self, ctx: MinionContext, wanted: Sequence[PackageSpec]) -> None:
        pkgs = [
            {each.name: each.version} if each.version else each.name
            for each in wanted
            if each.file is None
        ]
        sources = [{each.name: each.file} for each in wanted if each.file is not None]
        given = {**self.options, "pkgs": pkgs or None, "sources": sources or None}
        given["ignore_epoch"] = self.ignore_epoch
        try:
            ctx.functions.call("pkg.install", refresh=refreshing(ctx, self.refresh), **given)
        except FunctionError as error:
            raise FunctionError(errors_of(error)) from error

    def _plan_holds(self, now: Stock) -> list[Step]:
        if self.hold is None:
            return []
        coming = {
            name: change
            for step in self._plan_install(now)
            for name, change in step.changes.items()
        }
        names = [each.name for each in self.wanted if (each.name in now.held) is not self.hold]
        return [hold_step(name, self.hold, coming.get(name, {})) for name in names]

    def comment_unchanged(self, now: Stock) -> str:
        """All is there."""
        said = "All specified packages are already installed"
        if any(each.version for each in self.wanted):
            said += " and are at the desired version"
        if self.hold is None:
            return said
        about = "to be held" if self.hold else "not to be held"
        held = [f"Package {each.name} is already set {about}." for each in self.wanted]
        return "\n".join([f"{said}.", *held])

    def would(self, now: Stock, steps: Sequence[Step]) -> str:
        """What is missing; holding is told only if nothing is."""
        if now.missing:
            return steps[0].would
        told = self.comment_unchanged(now).split("\n")[0]
        return "\n".join([told, *(step.would for step in steps)])

    def comment_changed(self, before: Stock, after: Stock, steps: Sequence[Step]) -> str:
        """What was installed, what was there, and what is held now."""
        there = [each for each in self.wanted if each not in before.missing]
        told = [steps[0].did] if before.missing else [self.comment_unchanged(before).split("\n")[0]]
        if before.missing and there:
            told.append(f"The following packages were already installed: {self._list_names(there)}")
        if self.hold is not None:
            now = {step.did for step in self._plan_holds(before)}
            about = "to be held" if self.hold else "not to be held"
            for each in self.wanted:
                did = hold_step(each.name, self.hold).did
                told.append(did if did in now else f"Package {each.name} is already set {about}.")
        return "\n".join(told)

    def changes(self, before: Stock, after: Stock, steps: Sequence[Step]) -> dict[str, Any]:
        """Every package that changed, also those that came along; then what is held."""
        changed = difference(before.installed, after.installed)
        for name in (name for step in steps[bool(before.missing) :] for name in step.changes):
            changed[name] = both(changed.get(name, {}), hold_change(bool(self.hold)))
        return changed

    def unmet(self, after: Stock, left: Sequence[Step]) -> str:
        """The package manager said nothing and did not do it."""
        return (
            "The following packages failed to install/update:"
            f" {self._list_names(after.missing) or join_names([step.would for step in left])}"
        )
