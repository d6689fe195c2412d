"""Kernel parameters, now and after a restart."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import sysctl
from saltlite.providers import textfile
from saltlite.providers.kernel import parameters


def present(name: str, value: object, config: str | None = None) -> Parameter:
    """A parameter with this value, in the kernel and in a file that is read at the start."""
    return Parameter(name=str(name), value=value, config=config)


@dataclass(frozen=True, slots=True)
class SysctlSetting:
    """The value in the kernel, and the text of the file."""

    running: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter(Resource[SysctlSetting]):
    """A kernel parameter; ``config`` ``None`` is the file that the machine has for them."""

    name: str
    value: Any
    config: str | None

    def read(self, ctx: MinionContext) -> SysctlSetting:
        path = self.config or ctx.follow(sysctl.default_config)
        return SysctlSetting(ctx.follow(sysctl.get, self.name), textfile.load(ctx.host, path) or "")

    def plan(self, now: SysctlSetting) -> list[Step]:
        wanted = str(self.value)
        runs = parameters.same(now.running, wanted)
        if runs and parameters.with_setting(now.text, self.name, wanted) is None:
            return []
        step = Step(
            would=self._say_kept(runs, is_kept=self.name in parameters.parse(now.text)),
            did=f"Updated sysctl value {self.name} = {self.value}",
            changes={self.name: self.value},
            run=self._persist_value,
        )
        return [step]

    def _say_kept(self, runs: bool, *, is_kept: bool) -> str:
        what = f"Sysctl option {self.name}"
        if is_kept:
            return f"{what} would be changed to {self.value}"
        if not runs:
            return f"{what} set to be changed to {self.value}"
        return (
            "Sysctl value is currently set on the running system but not in a config file. "
            f"{what} set to be changed to {self.value} in config file."
        )

    def _persist_value(self, ctx: MinionContext) -> None:
        try:
            ctx.follow(sysctl.persist, self.name, self.value, self.config)
        except SaltliteError as error:
            said = f"Failed to set {self.name} to {self.value}: {error}"
            raise FunctionError(said) from error

    def comment_unchanged(self, now: SysctlSetting) -> str:
        return f"Sysctl value {self.name} = {self.value} is already set"
