"""Locales: the one that the machine uses, and those that are there."""

from __future__ import annotations

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import locale


def system(name: str) -> SystemLocale:
    """The locale of the machine."""
    return SystemLocale(name=str(name))


def present(name: str) -> Locale:
    """A locale that can be used; it is generated if it is not there."""
    return Locale(name=str(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemLocale(Resource[str]):
    """The locale that the machine uses."""

    name: str

    def read(self, ctx: MinionContext) -> str:
        return ctx.follow(locale.get_locale)

    def plan(self, now: str) -> list[Step]:
        step = Step(
            would=f"System locale {self.name} needs to be set",
            did=f"Set system locale {self.name}",
            changes={"locale": self.name},
            run=self._set_locale,
        )
        return [] if now == self.name else [step]

    def _set_locale(self, ctx: MinionContext) -> None:
        if not ctx.follow(locale.set_locale, self.name):
            raise FunctionError("Failed to set system locale")

    def comment_unchanged(self, now: str) -> str:
        return f"System locale {self.name} already set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Locale(Resource[bool]):
    """A locale that is there."""

    name: str

    def read(self, ctx: MinionContext) -> bool:
        return ctx.follow(locale.avail, self.name)

    def plan(self, now: bool) -> list[Step]:
        step = Step(
            would=f"Locale {self.name} needs to be generated",
            did=f"Generated locale {self.name}",
            changes={"locale": self.name},
            run=self._generate_locale,
        )
        return [] if now else [step]

    def _generate_locale(self, ctx: MinionContext) -> None:
        if not ctx.follow(locale.gen_locale, self.name):
            raise FunctionError(f"Failed to generate locale {self.name}")

    def comment_unchanged(self, now: bool) -> str:
        return f"Locale {self.name} is already present"
