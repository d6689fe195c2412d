"""Packages whose files are as they were installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.states._pkg.versions import (
    PackageSpec,
    both,
    comparing,
    errors_of,
    fits,
    list_installed,
    refreshing,
)


@dataclass(frozen=True, slots=True)
class Files:
    """What ``present`` sees, and the altered files of each package that is there."""

    present: Any
    installed: Mapping[str, Sequence[str]]
    altered: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Verified(Resource[Files]):
    """``present`` sees to what is missing; what is there and altered is put in place again."""

    present: Resource[Any]
    wanted: tuple[PackageSpec, ...]
    options: Mapping[str, Any]
    verify: Mapping[str, Any]
    refresh: bool | None = None
    ignore_epoch: bool = False

    def read(self, ctx: MinionContext) -> Files:
        """Compare the files of the packages that are there."""
        installed, compare = list_installed(ctx), comparing(ctx, ignore_epoch=self.ignore_epoch)
        altered = {
            each.name: ctx.functions.call("pkg.verify", each.name, **self.verify)
            for each in self.wanted
            if fits(each, installed.get(each.name, ()), compare)
        }
        found = {name: files for name, files in altered.items() if files}
        return Files(self.present.read(ctx), installed, found)

    def plan(self, now: Files) -> Sequence[Step] | Verdict:
        """What ``present`` plans, and one command for all that is altered."""
        steps = self.present.plan(now.present)
        if isinstance(steps, Verdict) or not now.altered:
            return steps
        held = {name: each for step in steps for name, each in step.changes.items()}
        return [*steps, self._plan_again(now, held)]

    def _plan_again(self, now: Files, held: Mapping[str, Any]) -> Step:
        """Put all in place again; of one that is held now, too, both are told."""
        there = {name: ",".join(now.installed[name]) for name in now.altered}
        return Step(
            would="\n".join(
                f"Package '{name}' would be reinstalled because the following files have been"
                f" altered:\n{_show_files(files)}"
                for name, files in now.altered.items()
            ),
            did="\n".join(
                f"Package {name} was reinstalled. The following files were remediated:\n"
                f"{_show_files(files)}"
                for name, files in now.altered.items()
            ),
            run=lambda ctx: self._reinstall_packages(ctx, now),
            changes={
                name: both({"old": version, "new": version}, held.get(name, {}))
                for name, version in there.items()
            },
        )

    def _reinstall_packages(self, ctx: MinionContext, now: Files) -> None:
        """The same version once more: apt would take the newest one, unless it is named."""
        moves = ctx.grains.get("os_family") == "Debian"
        exact = {each.name for each in self.wanted if each.version}
        pkgs = [
            {name: now.installed[name][0]} if moves or name in exact else name
            for name in now.altered
        ]
        try:
            ctx.functions.call(
                "pkg.install",
                pkgs=pkgs,
                refresh=refreshing(ctx, self.refresh),
                reinstall=True,
                ignore_epoch=self.ignore_epoch,
                **self.options,
            )
        except FunctionError as error:
            raise FunctionError(errors_of(error)) from error

    def comment_unchanged(self, now: Files) -> str:
        """All is there, and as it was installed."""
        return self.present.comment_unchanged(now.present)

    def would(self, now: Files, steps: Sequence[Step]) -> str:
        """What is missing, then what is altered."""
        first = steps[:-1] if now.altered else steps
        told = [self.present.would(now.present, first)] if first else []
        return "\n".join([*told, *(step.would for step in steps[len(first) :])])

    def comment_changed(self, before: Files, after: Files, steps: Sequence[Step]) -> str:
        """What was installed, then what was put in place again."""
        first = steps[:-1] if before.altered else steps
        told = [self.present.comment_changed(before.present, after.present, first)] if first else []
        return "\n".join([*told, *(step.did for step in steps[len(first) :])])

    def changes(self, before: Files, after: Files, steps: Sequence[Step]) -> dict[str, Any]:
        """What is new, and what was put in place again, with the same version twice."""
        again = [step for step in steps if set(step.changes) == set(before.altered)]
        first = [step for step in steps if step not in again]
        changed = self.present.changes(before.present, after.present, first)
        for step in again:
            changed |= step.changes
        return changed

    def unmet(self, after: Files, left: Sequence[Step]) -> str:
        """Some files are still altered: a configuration file, say, that was edited."""
        missing = left[:-1] if after.altered else left
        told = [self.present.unmet(after.present, missing)] if missing else []
        return "\n".join(
            [
                *told,
                *(
                    f"Reinstall was not successful for package {name}. The following files could"
                    f" not be remediated:\n{_show_files(files)}"
                    for name, files in after.altered.items()
                ),
            ]
        )


def _show_files(files: Mapping[str, Any]) -> str:
    from saltlite.core.output_options import OutputOptions
    from saltlite.outputters.nested import output as nested

    return nested(dict(files), OutputOptions()).rstrip("\n")
