"""Variables of the process that runs the states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import environ

_FAILED = "Failed to set environ variables"


def setenv(
    name: str,
    value: object,
    false_unsets: bool = False,
    clear_all: bool = False,
    update_minion: bool = False,
    permanent: bool = False,
) -> Variables | Verdict:
    """One variable, or with a map as ``value`` several.

    ``False`` empties a variable, with ``false_unsets`` it removes it; ``clear_all`` does so with
    all that are not named. ``update_minion`` and ``permanent`` change nothing: a job has a process
    of its own, and permanent variables are a matter of Windows.
    """
    wanted = {name: value} if isinstance(value, str) or value is False else value
    if not isinstance(wanted, Mapping):
        return Verdict(result=False, comment="Environ value must be string, dict or False")
    values = {str(key): each for key, each in wanted.items()}
    if not all(isinstance(each, str) or each is False for each in values.values()):
        return Verdict(result=False, comment=_FAILED, changes=values)
    return Variables(values=values, false_unsets=false_unsets, clear_all=clear_all)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables(Resource[Mapping[str, str]]):
    """Variables with these values, ``False`` for those that shall have none."""

    values: Mapping[str, Any]
    false_unsets: bool
    clear_all: bool

    def read(self, ctx: MinionContext) -> Mapping[str, str]:
        return environ.items()

    def plan(self, now: Mapping[str, str]) -> list[Step]:
        wanted = self._find_wanted(now)
        if all(self._is_met(key, value, now) for key, value in wanted.items()):
            return []
        step = Step(
            would="Environ values will be changed",
            did="Environ values were set",
            changes=wanted,
            run=self._set_variables,
        )
        return [step]

    def _is_met(self, key: str, value: str | None, now: Mapping[str, str]) -> bool:
        """Who asks for ``''`` is content with none; ``False`` empties what is not there, too."""
        return now.get(key) == value or (key not in now and self.values.get(key) == "")

    def _find_wanted(self, now: Mapping[str, str]) -> dict[str, str | None]:
        """By variable its value, ``None`` for one that shall not be there."""
        others = dict.fromkeys(now, False) if self.clear_all else {}
        nothing = None if self.false_unsets else ""
        values = {**others, **self.values}
        return {key: nothing if value is False else value for key, value in values.items()}

    def _set_variables(self, ctx: MinionContext) -> None:
        if not isinstance(environ.setenv(self.values, self.false_unsets, self.clear_all), dict):
            raise FunctionError(_FAILED)

    def comment_unchanged(self, now: Mapping[str, str]) -> str:
        return "Environ values were already set with the correct values"

    def would_leave(self, now: Mapping[str, str]) -> str:
        return "Environ values are already set with the correct values"
