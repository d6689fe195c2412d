"""Init scripts: ``service`` with Debian's ``update-rc.d`` or Red Hat's ``chkconfig``.

Source: update-rc.d(8), chkconfig(8), service(8); observed on Salt 3006.30 (Debian).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from saltlite.core.lazyregex import regex
from saltlite.errors import CommandError

if TYPE_CHECKING:
    from saltlite.context import MinionContext

SCRIPTS = "/etc/init.d"
NO_SCRIPTS = ("README", "rc", "rcS", "rc.local", "functions", "skeleton", "halt", "reboot",
              "killall", "single")  # fmt: skip
LEVELS = ("S", "2")
"""The run levels in which Debian starts services."""

_LINK = regex(r"^S\d+(?P<name>.+)$")
_STATUS = regex(r"^\s*\[ (?P<sign>[+?-]) \]\s+(?P<name>\S+)")


class SysV:
    """The init scripts of this machine."""

    def __init__(self, ctx: MinionContext) -> None:
        self.ctx = ctx

    def list_names(self, kind: str, root: str | None) -> list[str]:
        """Services by state, sorted; nothing is static."""
        if kind == "running":
            return parse_status_all(self._run_script(["service", "--status-all"])[1])
        enabled = self._enabled_scripts()
        if kind == "enabled":
            return sorted(enabled)
        scripts = self._init_scripts()
        if kind == "disabled":
            return sorted(name for name in scripts if name not in enabled)
        return sorted({*scripts, *enabled}) if kind == "all" else []

    def exists(self, name: str) -> bool:
        """Whether there is an init script."""
        return name in self._init_scripts()

    def running(self, name: str) -> bool:
        """What the script's ``status`` says."""
        return self._run_script(["service", name, "status"])[0] == 0

    def act(self, name: str, action: str, options: Mapping[str, object]) -> bool:
        """Run the script."""
        return self._run_script(["service", name, action.replace("_", "-")])[0] == 0

    def switch(self, name: str, on: bool, options: Mapping[str, object]) -> bool:
        """Make or remove the links that start it."""
        if self.ctx.host.which("chkconfig") and not self.ctx.host.which("update-rc.d"):
            return self._run_script(["chkconfig", name, "on" if on else "off"])[0] == 0
        if not on:
            return self._run_script(["update-rc.d", name, "disable"])[0] == 0
        if self._run_script(["update-rc.d", name, "defaults"])[0] != 0:
            return False
        return self._run_script(["update-rc.d", name, "enable"])[0] == 0

    def is_enabled(self, name: str, options: Mapping[str, object]) -> bool:
        """Whether a link starts it."""
        return name in self._enabled_scripts()

    def _init_scripts(self) -> list[str]:
        names = self.ctx.host.names(SCRIPTS)
        return [
            name
            for name in names
            if name not in NO_SCRIPTS and os.access(f"{SCRIPTS}/{name}", os.X_OK)
        ]

    def _enabled_scripts(self) -> set[str]:
        if self.ctx.host.is_dir("/etc/rc.d/rc3.d"):
            return parse_links(self.ctx.host.names("/etc/rc.d/rc3.d"))
        return parse_links(
            [link for level in LEVELS for link in self.ctx.host.names(f"/etc/rc{level}.d")]
        )

    def _run_script(self, argv: Sequence[str]) -> tuple[int, str]:
        try:
            done = self.ctx.host.run(argv, env={"LC_ALL": "C"})
        except CommandError:
            return 127, ""
        return done.exit_code, done.stdout


def parse_links(links: Sequence[str]) -> set[str]:
    """The services that links like ``S01dbus`` start."""
    return {match["name"] for match in map(_LINK.match, links) if match}


def parse_status_all(text: str) -> list[str]:
    """``service --status-all``: those with a plus sign, sorted."""
    matches = map(_STATUS.match, text.splitlines())
    return sorted(match["name"] for match in matches if match and match["sign"] == "+")
