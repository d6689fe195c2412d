"""Volumes of a Docker Engine. Comments observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.modules.docker import networks
from saltlite.providers.docker import options
from saltlite.providers.docker.engine import EngineError

Facts = Mapping[str, Any] | None


def present(
    name: str, driver: str | None = None, driver_opts: object = None, force: bool = False
) -> Declared:
    """A volume of this name; one with another ``driver`` is replaced with ``force``."""
    return PresentVolume(
        name=name,
        driver=driver,
        options=options.to_map(driver_opts) if driver_opts else {},
        force=bool(force),
    )


def absent(name: str, driver: str | None = None) -> Declared:
    """No volume of this name."""
    return AbsentVolume(name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Volume(Resource[Facts]):
    """A volume by its name."""

    name: str

    def read(self, ctx: MinionContext) -> Facts:
        try:
            return ctx.follow(networks.inspect_volume, self.name)
        except EngineError as error:
            if error.status != 404:
                raise
            return None

    def removing(self) -> Step:
        return Step(
            would=f"The volume '{self.name}' will be removed",
            did=f"Removed volume '{self.name}'",
            changes={"removed": True},
            run=lambda ctx: ctx.follow(networks.remove_volume, self.name),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentVolume(_Volume):
    """A volume that is there."""

    drawn = frozenset({"created"})

    driver: str | None
    options: Mapping[str, str]
    force: bool

    def plan(self, now: Facts) -> Sequence[Step] | Verdict:
        if now is None:
            return [self._plan_creation()]
        if self.driver is None or now["Driver"] == self.driver:
            return []
        if not self.force:
            said = (
                f"Driver for existing volume '{self.name}' ('{now['Driver']}') does not match"
                f" specified driver ('{self.driver}') and force is False"
            )
            return Verdict(result=False, comment=said)
        return [self.removing(), self._plan_creation()]

    def _plan_creation(self) -> Step:
        def run(ctx: MinionContext) -> None:
            ctx.follow(networks.create_volume, self.name, self.driver, self.options)

        would = f"The volume '{self.name}' will be created"
        return Step(
            would=would,
            did=f"Created volume '{self.name}'",
            changes={"created": {"Name": self.name}},
            run=run,
        )

    def comment_unchanged(self, now: Facts) -> str:
        return f"Volume '{self.name}' already exists."

    def changes(self, before: Facts, after: Facts, steps: Sequence[Step]) -> dict[str, Any]:
        found: dict[str, Any] = {"removed": True} if before is not None else {}
        return {**found, "created": dict(after)} if after is not None else found


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentVolume(_Volume):
    """A volume that is not there."""

    def plan(self, now: Facts) -> Sequence[Step]:
        return [] if now is None else [self.removing()]

    def comment_unchanged(self, now: Facts) -> str:
        return f"Volume '{self.name}' already absent"
