"""What started the system's services: ``init`` and ``systemd``."""

from __future__ import annotations

from typing import Any

from saltlite.errors import CommandError
from saltlite.grains.programs import Programs
from saltlite.host import Host

COMMAND_TIMEOUT_S = 5.0

_BY_NAME = {
    "systemd": "systemd",
    "runit": "runit",
    "runit-init": "runit",
    "openrc-init": "openrc",
    "supervisord": "supervisord",
    "dumb-init": "dumb-init",
    "tini": "tini",
    "busybox": "busybox",
}
_IN_BINARY = ((b"upstart", "upstart"), (b"sysvinit", "sysvinit"), (b"systemd", "systemd"))


def read(host: Host) -> dict[str, Any]:
    """The grains of this machine."""
    return {"init": _find_init(host)}


def systemd(host: Programs) -> dict[str, Any]:
    """The version of systemd and what it was built with; nothing without it."""
    version = _read_systemd(host) if host.which("systemctl") else None
    return {"systemd": version} if version else {}


def _find_init(host: Host) -> str:
    if host.is_dir("/run/systemd/system"):
        return "systemd"
    command = (host.read_text("/proc/1/cmdline") or "").split("\0")[0]
    name = command.rpartition("/")[2]
    if name in _BY_NAME:
        return _BY_NAME[name]
    return kind_of_init(host.read_bytes(command) or b"") if name == "init" else "unknown"


def kind_of_init(binary: bytes) -> str:
    """Which of the programs that are all called ``init`` this is."""
    return next((kind for word, kind in _IN_BINARY if word in binary), "unknown")


def _read_systemd(host: Programs) -> dict[str, str] | None:
    try:
        return parse_version(
            host.run(["systemctl", "--version"], timeout_s=COMMAND_TIMEOUT_S).stdout
        )
    except CommandError:
        return None


def parse_version(text: str) -> dict[str, str] | None:
    """The output of ``systemctl --version``: ``systemd 252 (…)`` and a line of features."""
    lines = text.splitlines()
    words = lines[0].split() if lines else []
    if len(words) < 2:
        return None
    return {"version": words[1], "features": lines[1].strip() if len(lines) > 1 else ""}
