"""What the programs of Debian enable and disable of Apache. Source: observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step

Check = Callable[[MinionContext, str], bool]
Switch = Callable[[MinionContext, str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enabled(Resource[bool]):
    """A module, configuration or site (``kind``) that is enabled, or with ``wanted`` not is not."""

    kind: str
    name: str
    wanted: bool
    check: Check
    switch: Switch

    @property
    def become(self) -> str:
        """The word for what shall be."""
        return "enabled" if self.wanted else "disabled"

    def read(self, ctx: MinionContext) -> bool:
        return self.check(ctx, self.name)

    def plan(self, now: bool) -> list[Step]:
        if now is self.wanted:
            return []
        old, new = (None, self.name) if self.wanted else (self.name, None)
        step = Step(
            would=f"Apache {self.kind} {self.name} is set to be {self.become}.",
            changes={"old": old, "new": new},
            run=self._switch_site,
        )
        return [step]

    def _switch_site(self, ctx: MinionContext) -> None:
        status = self.switch(ctx, self.name)["Status"]
        if not isinstance(status, str) or self.become not in status:
            raise FunctionError(
                self._say_failure(f" ({status})" if isinstance(status, str) else "")
            )

    def _say_failure(self, why: str) -> str:
        return f"Failed to {self.become.removesuffix('d')} {self.name} Apache {self.kind}{why}"

    def comment_unchanged(self, now: bool) -> str:
        return f"{self.name} already {self.become}."

    def comment_changed(self, before: bool, after: bool, steps: Sequence[Step]) -> str:
        return ""

    def unmet(self, after: bool, left: Sequence[Step]) -> str:
        return self._say_failure("")
