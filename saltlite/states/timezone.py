"""The time zone of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, UsageError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import timezone


def system(name: str, utc: object = True) -> Zone:
    """The zone of the machine; with ``utc`` the hardware clock shows UTC."""
    return Zone(name=str(name), utc=utc)


@dataclass(frozen=True, slots=True)
class Clock:
    """Whether zone and clock are right; ``problem`` is what is wrong with the name of the zone."""

    in_zone: bool
    in_utc: bool
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone(Resource[Clock]):
    """A time zone that the machine is in."""

    name: str
    utc: Any

    def read(self, ctx: MinionContext) -> Clock:
        in_utc = ctx.follow(timezone.get_hwclock) == "UTC"
        try:
            return Clock(ctx.follow(timezone.zone_compare, self.name), in_utc)
        except UsageError as error:
            return Clock(False, in_utc, str(error))

    def plan(self, now: Clock) -> list[Step] | Verdict:
        if now.problem:
            what = f"Unable to compare desired timezone '{self.name}' to system timezone"
            return Verdict(result=False, comment=f"{what}: {now.problem}")
        steps = []
        if not now.in_zone:
            steps.append(self._plan_zone())
        if self.utc and not now.in_utc:
            steps.append(self._plan_clock())
        return steps

    def _plan_zone(self) -> Step:
        return Step(
            would=f"Timezone {self.name} needs to be set",
            did=f"Set timezone {self.name}",
            changes={"timezone": self.name},
            run=self._set_zone,
        )

    def _set_zone(self, ctx: MinionContext) -> None:
        if ctx.follow(timezone.set_zone, self.name) is not True:
            raise FunctionError("Failed to set timezone")

    def _plan_clock(self) -> Step:
        return Step(
            would=f"UTC needs to be set to {self.utc}",
            did=f"Set UTC to {self.utc}",
            changes={"utc": self.utc},
            run=self._set_clock,
        )

    def _set_clock(self, ctx: MinionContext) -> None:
        if not ctx.follow(timezone.set_hwclock, "UTC"):
            raise FunctionError(f"Failed to set UTC to {self.utc}")

    def comment_unchanged(self, now: Clock) -> str:
        said = f"Timezone {self.name} already set"
        return f"{said}, UTC already set to {self.name}" if self.utc else said

    def would(self, now: Clock, steps: Sequence[Step]) -> str:
        return ", ".join(step.would for step in steps)

    def comment_changed(self, before: Clock, after: Clock, steps: Sequence[Step]) -> str:
        return ", ".join(step.did for step in steps)
