"""What the states of MySQL share: one that cannot look says so, and a failure has its reason."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import mysql

Now = TypeVar("Now")


@dataclass(frozen=True, slots=True)
class Unseen:
    """The server gave no answer; ``reason`` is its sentence."""

    reason: str


class MysqlResource(Resource[Now | Unseen], Generic[Now]):
    """Something that a server says of itself."""

    @abstractmethod
    def look(self, ctx: MinionContext) -> Now:
        """How it is now. Raises FunctionError."""

    @abstractmethod
    def steps(self, now: Now) -> Sequence[Step] | Verdict:
        """What is to be done."""

    def read(self, ctx: MinionContext) -> Now | Unseen:
        try:
            return self.look(ctx)
        except FunctionError as error:
            return Unseen(self.unseen(str(error)))

    def plan(self, now: Now | Unseen) -> Sequence[Step] | Verdict:
        if isinstance(now, Unseen):
            return Verdict(result=False, comment=now.reason)
        return self.steps(now)

    def unseen(self, reason: str) -> str:
        """The comment if the server gives no answer."""
        return reason


def require_success(ctx: MinionContext, worked: bool, failed: str) -> None:
    """Raise FunctionError with the server's reason if something did not work."""
    if not worked:
        reason = ctx.state.get(mysql.ERROR)
        raise FunctionError(f"{failed} ({reason})" if reason else failed)


def step(
    would: str, did: str, changes: dict[str, Any], run: Callable[[MinionContext], object]
) -> list[Step]:
    """The one step of a plan."""
    return [Step(would=would, did=did, changes=changes, run=run)]
