"""Which of several programs a name stands for (``update-alternatives``).

Comments are Salt's. Source: docs/states-reference.md; observed on Salt 3006.30 with its own
alternatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict


@dataclass(frozen=True, slots=True)
class AlternativeStatus:
    """A name: the program it stands for, whether one is registered, and how it is chosen."""

    current: str | None
    registered: bool = False
    shown: str = ""

    @property
    def automatic(self) -> bool:
        """Whether the priorities decide."""
        return " auto mode" in self.shown


@dataclass(frozen=True, kw_only=True)
class _Alternative(Resource[AlternativeStatus]):
    """A name that stands for one of several programs, and the path that is meant."""

    name: str
    path: str = ""

    def read(self, ctx: MinionContext) -> AlternativeStatus:
        """Ask for the alternatives of the name."""
        call = ctx.functions.call
        return AlternativeStatus(
            current=call("alternatives.show_current", self.name) or None,
            registered=bool(self.path and call("alternatives.check_exists", self.name, self.path)),
            shown=str(call("alternatives.display", self.name)),
        )


@dataclass(frozen=True, kw_only=True)
class Registered(_Alternative):
    """A program is one of the alternatives."""

    link: str
    priority: int | str

    def plan(self, now: AlternativeStatus) -> Sequence[Step] | Verdict:
        """Register it."""
        if now.registered:
            return []
        wish = f"{self.path} with priority {self.priority}"
        return [
            Step(
                would=f"Alternative will be set for {self.name} to {wish}",
                did=f"Alternative for {self.name} set to path {wish}",
                run=self._install_link,
                changes={
                    "name": self.name,
                    "link": self.link,
                    "path": self.path,
                    "priority": self.priority,
                },
            )
        ]

    def _install_link(self, ctx: MinionContext) -> None:
        call = ctx.functions.call
        said = call("alternatives.install", self.name, self.link, self.path, self.priority)
        if not call("alternatives.check_exists", self.name, self.path):
            raise FunctionError(f"Alternative for {self.name} not installed: {said}")

    def comment_changed(
        self, before: AlternativeStatus, after: AlternativeStatus, steps: Sequence[Step]
    ) -> str:
        """It is registered; another one may have a greater priority, or be chosen."""
        if after.current == self.path:
            return steps[0].did
        wish = f"registered with priority {self.priority} and not set to default"
        return f"Alternative {self.path} for {self.name} {wish}"

    def comment_unchanged(self, now: AlternativeStatus) -> str:
        """It is registered; with which priority does not matter."""
        return f"Alternative {self.path} for {self.name} is already registered"


@dataclass(frozen=True, kw_only=True)
class Unregistered(_Alternative):
    """A program is none of the alternatives."""

    def plan(self, now: AlternativeStatus) -> Sequence[Step] | Verdict:
        """Take it away; another one takes its place."""
        if not now.registered:
            return []
        left = _next_path(now, self.path)
        fallback = f". Falling back to path {left}" if left else ""
        return [
            Step(
                would=f"Alternative for {self.name} will be removed",
                did=f"Alternative for {self.name} removed{fallback}",
                run=lambda ctx: ctx.functions.call("alternatives.remove", self.name, self.path),
                changes={"path": left},
            )
        ]

    def comment_unchanged(self, now: AlternativeStatus) -> str:
        """It is not registered."""
        if now.current:
            return f"Alternative for {self.name} is set to it's default path {now.current}"
        return f"Alternative for {self.name} doesn't exist"

    def unmet(self, after: AlternativeStatus, left: Sequence[Step]) -> str:
        """It is still registered."""
        return f"Alternative {self.path} for {self.name} was not removed"


def _next_path(now: AlternativeStatus, path: str) -> str:
    """What the name stands for without this program: the other one with the greatest priority."""
    if now.current != path:
        return now.current or ""
    ranked = [line.split(" - priority ") for line in now.shown.splitlines() if " - pr" in line]
    others = [(int(rank), each) for each, rank in ranked if each != path and is_digits(rank)]
    return max(others)[1] if others else ""


@dataclass(frozen=True, kw_only=True)
class Chosen(_Alternative):
    """A program is what the name stands for, whatever the priorities."""

    def plan(self, now: AlternativeStatus) -> Sequence[Step] | Verdict:
        """Choose it, if it is registered."""
        if now.current == self.path:
            return []
        if not now.registered:
            said = f"Alternative {self.path} for {self.name} doesn't exist"
            return Verdict(result=False, comment=said)
        return [
            Step(
                would=f"Alternative for {self.name} will be set to path {self.path}",
                did=f"Alternative for {self.name} set to path {self.path}",
                run=lambda ctx: ctx.functions.call("alternatives.set", self.name, self.path),
                changes={"path": self.path},
            )
        ]

    def comment_unchanged(self, now: AlternativeStatus) -> str:
        """It is chosen."""
        return f"Alternative for {self.name} already set to {self.path}"

    def unmet(self, after: AlternativeStatus, left: Sequence[Step]) -> str:
        """It was not chosen."""
        return f"Alternative for {self.name} not updated"


def install(
    name: str, link: str, path: str, priority: Any
) -> Resource[AlternativeStatus] | Verdict:
    """A program is one of the alternatives for a name. ``priority`` is a whole number."""
    if isinstance(priority, bool) or not is_digits(str(priority).removeprefix("-")):
        said = f"priority {str(priority)!r} must be an integer"
        return Verdict(result=False, comment=f"Alternative for {name} not installed: {said}")
    return Registered(name=name, link=link, path=path, priority=priority)


def remove(name: str, path: str) -> Resource[AlternativeStatus]:
    """A program is none of the alternatives for a name."""
    return Unregistered(name=name, path=path)


def set_(name: str, path: str) -> Resource[AlternativeStatus]:
    """A name stands for a program, whatever the priorities of the alternatives."""
    return Chosen(name=name, path=path)


@dataclass(frozen=True, kw_only=True)
class Automatic(_Alternative):
    """The priorities decide what a name stands for."""

    def plan(self, now: AlternativeStatus) -> Sequence[Step] | Verdict:
        """Let them decide."""
        if now.automatic:
            return []
        if now.current is None:
            said = f"There are no alternatives for {self.name}"
            return Verdict(result=False, comment=said)
        return [
            Step(
                would=f"{self.name} will be put in auto mode",
                did=f"{self.name} was put in auto mode",
                run=lambda ctx: ctx.functions.call("alternatives.auto", self.name),
                changes={"mode": {"old": "manual", "new": "auto"}},
            )
        ]

    def comment_unchanged(self, now: AlternativeStatus) -> str:
        """They do."""
        return f"{self.name} already in auto mode"


def auto(name: str) -> Resource[AlternativeStatus]:
    """The alternative with the greatest priority is what a name stands for."""
    return Automatic(name=name)
