"""Packages that are kept as they are, or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.states._pkg.versions import both


def holds(ctx: MinionContext) -> frozenset[str]:
    """The packages that are held.

    Raises:
        FunctionUnavailable: this package manager cannot hold any.
    """
    return frozenset(ctx.functions.call("pkg.list_holds", full=False))


def can_hold(ctx: MinionContext) -> bool:
    """Whether this package manager can hold packages."""
    try:
        holds(ctx)
    except FunctionUnavailable:
        return False
    return True


def hold_step(name: str, hold: bool, besides: Mapping[str, str] | None = None) -> Step:
    """Hold one package or let it go; ``besides`` are other changes of it in the same run."""
    function = "pkg.hold" if hold else "pkg.unhold"
    return Step(
        would=f"Package {name} is set {'to be held' if hold else 'not to be held'}.",
        did=f"Package {name} is {'now' if hold else 'no longer'} being held.",
        run=lambda ctx: _set_hold(ctx, function, name),
        changes={name: both(besides or {}, hold_change(hold))},
    )


def hold_change(hold: bool) -> dict[str, str]:
    """As Salt tells it: what is wanted of the package, before and afterwards."""
    states = ("install", "hold")
    return dict(zip(("old", "new"), states if hold else reversed(states), strict=True))


def _set_hold(ctx: MinionContext, function: str, name: str) -> None:
    answer = ctx.functions.call(function, name)
    failed = [each for each in answer.values() if each.get("result") is False]
    if failed:
        raise FunctionError(str(failed[0].get("comment", "")))


@dataclass(frozen=True, kw_only=True)
class Kept(Resource[frozenset[str]]):
    """Packages that are held, or not. ``alone``: all others are not held."""

    names: tuple[str, ...]
    hold: bool
    alone: bool = False

    def read(self, ctx: MinionContext) -> frozenset[str]:
        """What is held."""
        return holds(ctx)

    def plan(self, now: frozenset[str]) -> Sequence[Step] | Verdict:
        """A step for each that is not as it shall be."""
        wrong = [name for name in self.names if (name in now) is not self.hold]
        others = sorted(now - set(self.names)) if self.alone else []
        return [
            *(self._plan_hold(name, self.hold) for name in wrong),
            *(self._plan_hold(name, not self.hold) for name in others),
        ]

    @staticmethod
    def _plan_hold(name: str, hold: bool) -> Step:
        step = hold_step(name, hold)
        answer = {"name": name, "changes": hold_change(hold), "result": True, "comment": step.did}
        return Step(
            would=f"The following package would be {'held' if hold else 'unheld'}: {name}",
            did=step.did.removesuffix(".") if hold else step.did,
            run=step.run,
            changes={name: answer},
        )

    def comment_unchanged(self, now: frozenset[str]) -> str:
        """All is so already."""
        return "No changes made"
