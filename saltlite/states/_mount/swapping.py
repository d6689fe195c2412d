"""Devices and files that are swapped to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, join_changes
from saltlite.modules import mount as mounts
from saltlite.states._mount.table import SAID, TableLine, table_at


@dataclass(frozen=True, slots=True)
class SwapSpace:
    """What is known of a swap space (nothing while it is not used), and the table."""

    stats: Mapping[str, str]
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap(Resource[SwapSpace]):
    """A device or file that is swapped to."""

    name: str
    line: TableLine
    persist: bool
    drawn: ClassVar[frozenset[str]] = frozenset({"type", "size", "used", "priority"})

    def read(self, ctx: MinionContext) -> SwapSpace:
        device = os.path.realpath(self._device_path)
        used = {os.path.realpath(each): stats for each, stats in ctx.follow(mounts.swaps).items()}
        return SwapSpace(
            used.get(device, {}), table_at(ctx, self.line.path) if self.persist else ""
        )

    @property
    def _device_path(self) -> str:
        kind, _, value = self.name.partition("=")
        names = {"UUID": "by-uuid", "LABEL": "by-label"}
        return f"/dev/disk/{names[kind]}/{value}" if value and kind in names else self.name

    def plan(self, now: SwapSpace) -> list[Step]:
        steps = []
        answer = self.line.answer(now.table)
        if self.persist and answer != "present":
            steps.append(
                Step(
                    would="added to the fstab",
                    changes={"persist": answer},
                    run=self.line.write,
                )
            )
        if not now.stats:
            steps.append(Step(would="activated", run=self._activate_swap))
        return steps

    def _activate_swap(self, ctx: MinionContext) -> None:
        if not ctx.follow(mounts.swapon, self._device_path):
            raise FunctionError(f"Swap {self.name} failed to activate")

    def comment_unchanged(self, now: SwapSpace) -> str:
        return f"Swap {self.name} already active"

    def would(self, now: SwapSpace, steps: Sequence[Step]) -> str:
        return f"Swap {self.name} is set to be {steps[-1].would}"

    def comment_changed(self, before: SwapSpace, after: SwapSpace, steps: Sequence[Step]) -> str:
        what = "already active" if before.stats else "activated"
        kept = "persist" in join_changes(steps)
        return f"Swap {self.name} {what}{f'. {SAID[self.line.answer(before.table)]}' * kept}"

    def changes(self, before: SwapSpace, after: SwapSpace, steps: Sequence[Step]) -> dict[str, Any]:
        stats = {} if before.stats else after.stats
        return {**stats, **join_changes(steps)}
