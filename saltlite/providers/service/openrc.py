"""OpenRC: ``rc-service`` and ``rc-update``, on Gentoo and Alpine. Source: rc-service(8), rc-update(8)."""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.errors import CommandError
from saltlite.providers.pkg.names import words

if TYPE_CHECKING:
    from saltlite.context import MinionContext

DEFAULT = "default"
"""The run level of services for which none is named."""


class OpenRc:
    """OpenRC on this machine."""

    def __init__(self, ctx: MinionContext) -> None:
        self.ctx = ctx

    def list_names(self, kind: str, root: str | None) -> Any:
        """Services by state; the enabled ones with their run levels."""
        if kind == "running":
            text = self._run_command(["rc-status", "--all", "--nocolor"])[1]
            return parse_started(text)
        on, off = parse_levels(self._run_command(["rc-update", "-v", "show"])[1])
        if kind == "enabled":
            return on
        if kind == "disabled":
            return off
        return sorted({*on, *off}) if kind == "all" else []

    def exists(self, name: str) -> bool:
        """Whether OpenRC knows it."""
        return self._run_command(["rc-service", "-e", name])[0] == 0

    def running(self, name: str) -> bool:
        """What its ``status`` says."""
        return self._run_command(["rc-service", name, "status"])[0] == 0

    def act(self, name: str, action: str, options: Mapping[str, object]) -> bool:
        """Start, stop and so on; a forced reload is a restart of what cannot do it."""
        if action == "force_reload":
            return self.act(name, "reload", options) or self.act(name, "restart", options)
        return self._run_command(["rc-service", name, action])[0] == 0

    def switch(self, name: str, on: bool, options: Mapping[str, object]) -> bool:
        """Put it into run levels (option ``runlevels``) or take it out of them."""
        wanted = words(options.get("runlevels"))
        if on:
            return self._run_command(["rc-update", "add", name, *(wanted or [DEFAULT])])[0] == 0
        there = self.list_names("enabled", None).get(name, [])
        levels = [level for level in there if not wanted or level in wanted] or wanted
        return self._run_command(["rc-update", "delete", name, *levels])[0] == 0

    def is_enabled(self, name: str, options: Mapping[str, object]) -> bool:
        """Whether it is in a run level, or in all of those that are named."""
        levels = self.list_names("enabled", None).get(name)
        wanted = words(options.get("runlevels"))
        return bool(levels) and all(level in levels for level in wanted)

    def _run_command(self, argv: Sequence[str]) -> tuple[int, str]:
        try:
            done = self.ctx.host.run(argv, env={"LC_ALL": "C"})
        except CommandError:
            return 127, ""
        return done.exit_code, done.stdout


def parse_levels(text: str) -> tuple[dict[str, list[str]], list[str]]:
    """``rc-update -v show``: the run levels of services, and the services without any."""
    on: dict[str, list[str]] = {}
    off: list[str] = []
    for line in text.splitlines():
        name, bar, levels = line.partition("|")
        if not bar or not name.strip():
            continue
        if levels.split():
            on[name.strip()] = sorted(levels.split())
        else:
            off.append(name.strip())
    return on, sorted(off)


def parse_started(text: str) -> list[str]:
    """``rc-status --all``: the services that are started, sorted."""
    names = set()
    for line in text.splitlines():
        name, _, state = line.strip().partition(" ")
        if state.strip().startswith("[") and state.strip("[] \t").startswith("started"):
            names.add(name)
    return sorted(names)
