"""OpenRC, Debian's init scripts and Red Hat's in little: their commands, words and exit codes.

Sources: rc-service(8), rc-update(8), update-rc.d(8), chkconfig(8), service(8), and the recorded
texts in tests/cases/data/service. Scripts, and the links that start them, are files as they really
are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from small_machine import SERVICES, Answer, Program, Stock, made, said

SCRIPTS = "/etc/init.d"
AT_BOOT = ("web", "offen")
"""The services that start with the machine."""

NAMES = sorted(SERVICES)


def _scripts(text: str) -> None:
    for name in NAMES:
        made(f"{SCRIPTS}/{name}", text, 0o755)
    made(f"{SCRIPTS}/README")


def _link(path: str, name: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    os.symlink(f"{SCRIPTS}/{name}", path)


def _exists(name: str) -> bool:
    return os.access(f"{SCRIPTS}/{name}", os.X_OK)


# --- OpenRC ---------------------------------------------------------------------------------------

LEVELS = "/etc/runlevels"
LEVEL_NAMES = ("boot", "default", "nonetwork", "shutdown", "sysinit")


def furnish_openrc() -> None:
    """Scripts and run levels."""
    _scripts("#!/sbin/openrc-run\n")
    for level in LEVEL_NAMES:
        os.makedirs(f"{LEVELS}/{level}")
    for name in AT_BOOT:
        _link(f"{LEVELS}/default/{name}", name)


def rc_service(stock: Stock, words: Sequence[str]) -> Answer:
    if words[0] == "-e":
        return (0 if _exists(words[1]) else 1), "", ""
    name, action = words
    if not _exists(name):
        return 1, "", said(f" * rc-service: service `{name}' does not exist")
    if action in ("reload", "force-reload") and name != "web":
        return 1, "", said(f" * {name}: unknown function `{action}'")
    if action == "start" and stock.running.get(name):
        return 0, "", said(f" * WARNING: {name} has already been started")
    code = stock.act(name, action)
    if action == "status":
        return code, said(f" * status: {'started' if code == 0 else 'stopped'}"), ""
    return code, "", said(f" * ERROR: {name} failed to {action}") if code else ""


def rc_update(stock: Stock, words: Sequence[str]) -> Answer:
    if words[-1] == "show":
        return 0, _rc_levels(verbose="-v" in words), ""
    command, name, *levels = words
    if not _exists(name):
        return 1, "", said(f" * rc-update: service `{name}' does not exist")
    wrong = [level for level in levels if level not in LEVEL_NAMES]
    if wrong:
        return 1, "", said(f" * rc-update: `{wrong[0]}' is not a valid runlevel")
    lines, code = [], 0
    for level in levels or ["default"]:
        path = f"{LEVELS}/{level}/{name}"
        there = os.path.lexists(path)
        if command == "add" and not there:
            _link(path, name)
            lines.append(f" * service {name} added to runlevel {level}")
        elif command == "add":
            lines.append(f" * rc-update: {name} already installed in runlevel `{level}'; skipping")
        elif there:
            os.unlink(path)
            lines.append(f" * service {name} removed from runlevel {level}")
        else:
            code = 1
            lines.append(f" * rc-update: service `{name}' is not in the runlevel `{level}'")
    return code, said(*lines), ""


def _rc_levels(*, verbose: bool) -> str:
    lines = []
    for name in NAMES:
        there = [level for level in LEVEL_NAMES if os.path.lexists(f"{LEVELS}/{level}/{name}")]
        shown = [level if level in there else " " * len(level) for level in LEVEL_NAMES]
        if there or verbose:
            lines.append(f" {name:>20} | {' '.join(shown)}")
    return said(*lines)


# --- init scripts ---------------------------------------------------------------------------------


def service(stock: Stock, words: Sequence[str]) -> Answer:
    if words == ["--status-all"]:
        return 0, said(*(f" [ {'+' if stock.running.get(n) else '-'} ]  {n}" for n in NAMES)), ""
    name, action = words
    if not _exists(name):
        return 1, "", said(f"{name}: unrecognized service")
    return stock.act(name, action), "", ""


def _level_links(place: str, name: str) -> list[Path]:
    return sorted(Path(place).glob(f"rc[S0-6].d/[SK][0-9][0-9]{name}"))


def _turned(link: Path, sign: str) -> None:
    if link.name[0] != sign:
        link.rename(link.with_name(sign + link.name[1:]))


def furnish_debian() -> None:
    """Scripts with LSB headers, as insserv links them; ``idle`` never was."""
    _scripts("#!/bin/sh\n### BEGIN INIT INFO\n# Default-Start: 2 3 4 5\n### END INIT INFO\n")
    for name in NAMES:
        if name != "idle":
            _debian_links(name, "S" if name in AT_BOOT else "K")


def _debian_links(name: str, sign: str) -> None:
    for level in "0123456":
        _link(f"/etc/rc{level}.d/{sign if level in '2345' else 'K'}01{name}", name)


def update_rc_d(stock: Stock, words: Sequence[str]) -> Answer:
    name, action = words
    if not _exists(name):
        return 1, "", said(f"update-rc.d: error: unable to read {SCRIPTS}/{name}")
    links = _level_links("/etc", name)
    if action == "defaults":
        if not links:
            _debian_links(name, "S")
        return 0, "", ""
    if not links:
        return 1, "", said("update-rc.d: error: no runlevel symlinks to modify, aborting!")
    for link in links:
        if link.parent.name[2] in "2345":
            _turned(link, "S" if action == "enable" else "K")
    return 0, "", ""


def furnish_redhat() -> None:
    """Scripts with a line for chkconfig; ``idle`` is in no run level."""
    os.makedirs("/etc/rc.d/init.d")
    os.symlink("rc.d/init.d", SCRIPTS)
    _scripts("#!/bin/sh\n# chkconfig: 2345 90 10\n")
    for name in NAMES:
        if name != "idle":
            _redhat_links(name, on=name in AT_BOOT)


def _redhat_links(name: str, *, on: bool) -> None:
    for level in "0123456":
        starts = on and level in "2345"
        _link(f"/etc/rc.d/rc{level}.d/{'S90' if starts else 'K10'}{name}", name)


def chkconfig(stock: Stock, words: Sequence[str]) -> Answer:
    name, wish = words
    if not _exists(name):
        told = f"error reading information on service {name}: No such file or directory"
        return 1, "", said(told)
    for link in _level_links("/etc/rc.d", name):
        link.unlink()
    _redhat_links(name, on=wish == "on")
    return 0, "", ""


OPENRC: Mapping[str, Program] = {"rc-service": rc_service, "rc-update": rc_update}
DEBIAN: Mapping[str, Program] = {"service": service, "update-rc.d": update_rc_d}
REDHAT: Mapping[str, Program] = {"service": service, "chkconfig": chkconfig}
