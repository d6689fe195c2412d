"""Packages that are put in place again although they are there: no state to converge to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Action, Verdict, realise
from saltlite.providers.pkg import names as asked
from saltlite.states._pkg.present import InstalledPackages
from saltlite.states._pkg.versions import (
    PackageSpec,
    candidates,
    comparing,
    errors_of,
    fits,
    join_names,
    list_installed,
)


@dataclass(frozen=True, kw_only=True)
class Again:
    """``present`` sees to what is missing of the ``wanted``; the others are reinstalled."""

    present: InstalledPackages
    wanted: tuple[PackageSpec, ...]
    options: Mapping[str, Any]
    ignore_epoch: bool = False

    def action(self) -> Action:
        """What a state function gives back."""
        names = join_names([each.name for each in self.wanted])
        return Action(
            would=f"The following packages would be reinstalled: {names}",
            run=self._run_reinstall,
            foreseen=self._foresee_run,
        )

    def _find_installed(self, ctx: MinionContext) -> list[PackageSpec]:
        installed, compare = list_installed(ctx), comparing(ctx, ignore_epoch=self.ignore_epoch)
        return [each for each in self.wanted if fits(each, installed.get(each.name, ()), compare)]

    def _find_coming(
        self, ctx: MinionContext, there: Sequence[PackageSpec]
    ) -> dict[str, dict[str, str]]:
        """Old and new version of each; apt takes the newest one, others the same."""
        installed = list_installed(ctx)
        moves = ctx.grains.get("os_family") == "Debian"
        names = [each.name for each in there if moves and _exact_version(each) is None]
        offered = candidates(ctx, names, self.options)
        old = {each.name: ",".join(installed[each.name]) for each in there}
        return {name: {"old": old[name], "new": offered.get(name) or old[name]} for name in old}

    def _foresee_run(self, ctx: MinionContext) -> Verdict:
        there = self._find_installed(ctx)
        others = self._install_others(ctx, there, test=True)
        if others.result is False or not there:
            return others
        names = join_names([each.name for each in there])
        return _add_others(
            others,
            None,
            [f"The following packages would be reinstalled: {names}"],
            self._find_coming(ctx, there),
        )

    def _run_reinstall(self, ctx: MinionContext) -> Verdict:
        there = self._find_installed(ctx)
        others = self._install_others(ctx, there, test=False)
        if others.result is False or not there:
            return others
        try:
            changed = self._reinstall_packages(ctx, there)
        except SaltliteError as error:
            return _add_others(others, False, [str(error)], {})
        said = [f"Package {each.name} was reinstalled." for each in there]
        return _add_others(others, True, said, changed)

    def _install_others(
        self, ctx: MinionContext, there: Sequence[PackageSpec], *, test: bool
    ) -> Verdict:
        """What comes of the missing ones; an empty verdict where all are there and as declared."""
        if there and not self.present.plan(self.present.read(ctx)):
            return Verdict(result=True, comment="")
        return realise(self.present, ctx, test=test)

    def _reinstall_packages(
        self, ctx: MinionContext, there: Sequence[PackageSpec]
    ) -> dict[str, Any]:
        pkgs = [
            {each.name: version} if (version := _exact_version(each)) else each.name
            for each in there
        ]
        try:
            changed: dict[str, Any] = ctx.functions.call(
                "pkg.install",
                pkgs=pkgs,
                refresh=False,
                reinstall=True,
                ignore_epoch=self.ignore_epoch,
                **self.options,
            )
        except FunctionError as error:
            raise FunctionError(errors_of(error)) from error
        return changed


def _add_others(
    others: Verdict, result: bool | None, said: Sequence[str], changes: Mapping[str, object]
) -> Verdict:
    told = [others.comment] if others.comment else []
    return Verdict(
        result=result,
        comment="\n".join([*told, *said]),
        changes={**others.changes, **changes},
    )


def _exact_version(wanted: PackageSpec) -> str | None:
    version = wanted.version
    return version if version and not asked.is_condition(version) else None
