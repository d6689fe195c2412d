"""The plainest resource: something that is so, or is made so in one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Resource[bool]):
    """Something that ``holds`` after ``make``; ``known`` is what is said if it held before.

    ``failed``: ``make`` answers whether it worked, and this is said if not. ``remains`` is what is
    said if it does not hold afterwards.
    """

    holds: Callable[[MinionContext], bool]
    make: Callable[[MinionContext], object]
    intent: str
    report: str
    known: str
    told: Mapping[str, Any]
    failed: str = ""
    remains: str = ""

    def read(self, ctx: MinionContext) -> bool:
        return self.holds(ctx)

    def plan(self, now: bool) -> Sequence[Step]:
        if now:
            return []
        return [Step(would=self.intent, did=self.report, run=self._make_true, changes=self.told)]

    def _make_true(self, ctx: MinionContext) -> None:
        worked = self.make(ctx)
        if self.failed and not worked:
            raise FunctionError(self.failed)

    def comment_unchanged(self, now: bool) -> str:
        return self.known

    def unmet(self, after: bool, left: Sequence[Step]) -> str:
        return self.remains or super().unmet(after, left)
