"""What shall be true of a broker, and the one thing to do where it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.highstate.resource import Resource, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Resource[bool]):
    """Something that ``holds`` after ``make``; ``known`` is what is said if it held before."""

    holds: Callable[[MinionContext], bool]
    make: Callable[[MinionContext], object]
    intent: str
    report: str
    known: str
    told: Mapping[str, Any]

    def read(self, ctx: MinionContext) -> bool:
        return self.holds(ctx)

    def plan(self, now: bool) -> Sequence[Step]:
        if now:
            return []
        return [Step(would=self.intent, did=self.report, run=self.make, changes=self.told)]

    def comment_unchanged(self, now: bool) -> str:
        return self.known
