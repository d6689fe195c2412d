"""Names for mail: who gets what is sent to them. Source: observed on Salt 3006.30."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import aliases


def present(name: str, target: object) -> Alias:
    """The name ``name`` with a target, or a list of them."""
    return Alias(name=name, target=tuple(target) if isinstance(target, list) else target)


def absent(name: str) -> NoAlias:
    """No such name."""
    return NoAlias(name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias(Resource[bool]):
    """A name with this target."""

    name: str
    target: Any

    def read(self, ctx: MinionContext) -> bool:
        return ctx.follow(aliases.has_target, self.name, self.target)

    def plan(self, now: bool) -> list[Step]:
        told = list(self.target) if isinstance(self.target, tuple) else self.target
        step = Step(
            would=f"Alias {self.name} -> {told} is set to be added",
            did=f"Set email alias {self.name} -> {told}",
            changes={"alias": self.name},
            run=lambda ctx: ctx.follow(aliases.set_target, self.name, self.target),
        )
        return [] if now else [step]

    def comment_unchanged(self, now: bool) -> str:
        return f"Alias {self.name} already present"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAlias(Resource[str]):
    """A name that is not in the table."""

    name: str

    def read(self, ctx: MinionContext) -> str:
        return ctx.follow(aliases.get_target, self.name)

    def plan(self, now: str) -> list[Step]:
        step = Step(
            would=f"Alias {self.name} is set to be removed",
            did=f"Removed alias {self.name}",
            changes={"alias": self.name},
            run=lambda ctx: ctx.follow(aliases.rm_alias, self.name),
        )
        return [step] if now else []

    def comment_unchanged(self, now: str) -> str:
        return f"Alias {self.name} already absent"
