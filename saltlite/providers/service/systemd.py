"""systemd's services and other units, through ``systemctl``.

Names without a suffix are services; Salt shows services without theirs. Source: systemctl(1),
observed on Salt 3006.30.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltlite.errors import CommandError, FunctionError
from saltlite.host import Completed

if TYPE_CHECKING:
    from saltlite.context import MinionContext

BOOTED = "/run/systemd/system"
LISTED = (
    "service", "socket", "mount", "automount", "swap", "target", "path", "timer", "snapshot",
)  # fmt: skip
"""The kinds of units that Salt lists."""

SUFFIXES = (*LISTED, "device", "slice", "scope")

PLACES = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system",
          "/lib/systemd/system")  # fmt: skip
SCRIPTS = "/etc/init.d"
NO_SCRIPTS = ("README", "rc", "rcS", "rc.local", "functions", "skeleton", "halt", "reboot",
              "killall", "single")  # fmt: skip

LISTS_OF_NAMES = ("Before", "After", "Wants")
"""Properties that Salt shows as lists."""

_MAY_FAIL = ("stop",)
"""What answers ``False`` where other commands are an error."""


class Systemd:
    """systemd on this machine, or the unit files below a directory (``root``)."""

    def __init__(self, ctx: MinionContext) -> None:
        self.ctx = ctx

    def list_names(self, kind: str, root: str | None) -> list[str]:
        """Units by their state; services are named without their suffix."""
        if kind == "all":
            return self._all_units(root)
        if kind == "running":
            return parse_running(
                self._ask_systemctl(["--full", "--no-legend", "--no-pager"], None).stdout
            )
        argv = ["--full", "--no-legend", "--no-pager", "list-unit-files"]
        found = parse_unit_files(self._ask_systemctl(argv, root).stdout)
        names = {name for name, state in found.items() if state == kind}
        if root is None and kind in ("enabled", "disabled"):
            scripts = [name for name in self._init_scripts() if name not in found]
            names |= {name for name in scripts if self._script_on(name) == (kind == "enabled")}
        return sorted(names)

    def _all_units(self, root: str | None) -> list[str]:
        names = set() if root else set(self._init_scripts())
        for place in PLACES:
            for file in self.ctx.host.names(_path_below(root, place)):
                stem, dot, suffix = file.rpartition(".")
                if dot and suffix in LISTED:
                    names.add(stem if suffix == "service" else file)
        return sorted(names)

    def _init_scripts(self) -> list[str]:
        """Old init scripts, which systemd runs too."""
        names = [name for name in self.ctx.host.names(SCRIPTS) if name not in NO_SCRIPTS]
        return [name for name in names if os.access(f"{SCRIPTS}/{name}", os.X_OK)]

    def _script_on(self, name: str) -> bool:
        starts = re.compile(rf"S\d+{re.escape(name)}$")
        return any(
            starts.match(link)
            for level in "2345"
            for link in self.ctx.host.names(f"/etc/rc{level}.d")
        )

    def exists(self, name: str) -> bool:
        """Whether systemd can load it; also an instance of a template."""
        unit = canonical(name)
        done = self._ask_systemctl(["show", unit, "--property=LoadState"], None)
        if done.exit_code == 0 and "=" in done.stdout:
            return "LoadState=not-found" not in done.stdout.splitlines()
        template = re.sub(r"@.*(?=\.)", "@", unit)
        return any(_plain_name(one) in self._all_units(None) for one in (unit, template))

    def running(self, name: str) -> bool:
        """Whether it is active."""
        return self._ask_systemctl(["is-active", canonical(name)], None).exit_code == 0

    def act(self, name: str, action: str, options: Mapping[str, object]) -> bool:
        """Start, stop and so on.

        Raises:
            FunctionError: systemd refused; its words.
        """
        unit = canonical(name)
        self._read_changed(unit)
        if options.get("unmask"):
            self.unmask(name, False, None)
        if options.get("unmask_runtime"):
            self.unmask(name, True, None)
        command = action.replace("_", "-")
        block = ["--no-block"] if options.get("no_block") else []
        done = self._run_systemctl([*block, command, unit], None)
        if done.exit_code != 0 and action not in _MAY_FAIL:
            raise FunctionError(_error_words(done))
        return done.exit_code == 0

    def switch(self, name: str, on: bool, options: Mapping[str, Any]) -> bool:
        """Enable or disable it; an init script in its own way.

        Raises:
            FunctionError: systemd refused; its words.
        """
        root = options.get("root")
        if options.get("unmask"):
            self.unmask(name, False, root)
        if options.get("unmask_runtime"):
            self.unmask(name, True, root)
        if root is None and self._is_script_alone(name):
            return self._switch_script(name, on)
        block = ["--no-block"] if options.get("no_block") else []
        done = self._run_systemctl([*block, "enable" if on else "disable", canonical(name)], root)
        if done.exit_code != 0 and on:
            raise FunctionError(_error_words(done))
        return done.exit_code == 0

    def _is_script_alone(self, name: str) -> bool:
        """Whether it is an init script without a unit file."""
        if name not in self._init_scripts():
            return False
        unit = canonical(name)
        return not any(unit in self.ctx.host.names(place) for place in PLACES)

    def _switch_script(self, name: str, on: bool) -> bool:
        if self.ctx.host.which("update-rc.d"):
            argv = ["update-rc.d", "-f", name, *(["defaults", "99"] if on else ["remove"])]
        else:
            argv = ["chkconfig", name, "on" if on else "off"]
        done = self.ctx.host.run(argv, env={"LC_ALL": "C"})
        self._ask_systemctl(["daemon-reload"], None)
        return done.exit_code == 0

    def is_enabled(self, name: str, options: Mapping[str, Any]) -> bool:
        """What ``is-enabled`` says."""
        return (
            self._ask_systemctl(["is-enabled", canonical(name)], options.get("root")).exit_code == 0
        )

    def mask(self, name: str, runtime: bool, root: str | None) -> bool:
        """Link the unit to nothing.

        Raises:
            FunctionError: systemd refused.
        """
        flag = ["--runtime"] if runtime else []
        done = self._run_systemctl(["mask", *flag, canonical(name)], root)
        if done.exit_code != 0:
            raise FunctionError(_build_error("mask", name, done))
        return True

    def unmask(self, name: str, runtime: bool, root: str | None) -> bool:
        """Remove the link to nothing; one that is not there is no fault.

        Raises:
            FunctionError: systemd refused.
        """
        if not self.is_masked(name, runtime, root):
            return True
        flag = ["--runtime"] if runtime else []
        done = self._run_systemctl(["unmask", *flag, canonical(name)], root)
        if done.exit_code != 0:
            raise FunctionError(_build_error("unmask", name, done))
        return True

    def is_masked(self, name: str, runtime: bool, root: str | None) -> bool:
        """Whether the unit is a link to nothing."""
        place = "/run/systemd/system" if runtime else "/etc/systemd/system"
        return (
            self.ctx.host.read_link(_path_below(root, f"{place}/{canonical(name)}")) == "/dev/null"
        )

    def show(self, name: str, root: str | None) -> dict[str, Any]:
        """The properties; commands are maps, a few are lists of names."""
        done = self._ask_systemctl(["show", canonical(name)], root)
        return parse_properties(done.stdout or done.stderr)

    def read_again(self) -> bool:
        """``daemon-reload``.

        Raises:
            FunctionError: systemd refused.
        """
        done = self._run_systemctl(["--system", "daemon-reload"], None)
        if done.exit_code != 0:
            raise FunctionError(f"Problem performing systemctl daemon-reload: {_error_words(done)}")
        return True

    def _read_changed(self, unit: str) -> None:
        done = self._ask_systemctl(["show", unit, "--property=NeedDaemonReload"], None)
        if done.stdout.strip() == "NeedDaemonReload=yes":
            self.read_again()

    def _ask_systemctl(self, words: Sequence[str], root: str | None) -> Completed:
        """Run ``systemctl``; where it is not there, it failed."""
        try:
            return self._run_systemctl(words, root)
        except CommandError as error:
            return Completed(pid=0, exit_code=127, stdout="", stderr=error.stderr)

    def _run_systemctl(self, words: Sequence[str], root: str | None) -> Completed:
        place = ["--root", root] if root else []
        scope = ["systemd-run", "--scope"] if self._wants_scope(words) else []
        argv = [*scope, "systemctl", *place, *words]
        return self.ctx.host.run(argv, env={"LC_ALL": "C", "SYSTEMD_COLORS": "0"})

    def _wants_scope(self, words: Sequence[str]) -> bool:
        """A restart of the minion's own service must not end the command that asked for it."""
        changes = not set(words).isdisjoint({"start", "stop", "restart", "reload", "force-reload"})
        wanted = bool(self.ctx.config.extra.get("systemd.scope", True))
        return changes and wanted and self.ctx.host.is_dir(BOOTED)


def canonical(name: str) -> str:
    """The name of a unit: with ``.service`` if it has no suffix of systemd's."""
    suffix = name.rpartition(".")[2] if "." in name else ""
    return name if suffix in SUFFIXES else f"{name}.service"


def _plain_name(unit: str) -> str:
    return unit.removesuffix(".service")


def _path_below(root: str | None, path: str) -> str:
    return f"{root.rstrip('/')}{path}" if root else path


def _error_words(done: Completed) -> str:
    lines = done.stderr.strip().splitlines()
    kept = [line for line in lines if not line.startswith("Running scope as unit")]
    return "\n".join(kept) or done.stdout.strip()


def _build_error(doing: str, name: str, done: Completed) -> str:
    said = _error_words(done)
    failed = f"Failed to {doing} service '{name}'"
    return f"{failed}. Additional info follows:\n\n{said}" if said else failed


def parse_unit_files(text: str) -> dict[str, str]:
    """``list-unit-files``: units and their states; services without their suffix."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and words[0].rpartition(".")[2] in LISTED:
            found[_plain_name(words[0])] = words[1]
    return found


def parse_running(text: str) -> list[str]:
    """``list-units``: those whose sub state is ``running``, sorted."""
    found = set()
    for line in text.splitlines():
        words = line.lstrip("●*○\u00d7 ").split()
        if len(words) >= 4 and words[3] == "running":
            found.add(_plain_name(words[0]))
    return sorted(found)


def parse_properties(text: str) -> dict[str, Any]:
    """``show``: ``Name=value`` lines; ``{ path=… ; argv[]=… }`` becomes a map."""
    properties: dict[str, Any] = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if value.startswith("{"):
            pairs = (part.strip().partition("=") for part in value.strip("{} ").split(" ; "))
            properties[name] = {key.strip(): each.strip() for key, _, each in pairs if key.strip()}
        elif name in LISTS_OF_NAMES:
            properties[name] = value.split()
        else:
            properties[name] = value
    return properties
