"""The kernel, how it was started, and the firmware it was started by."""

from __future__ import annotations

import contextlib
import os
import shlex
from typing import Any

from saltlite.errors import CommandError
from saltlite.host import Host

COMMAND_TIMEOUT_S = 5.0
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

_QUOTING = frozenset("'\"\\")


def read(host: Host, name: os.uname_result) -> dict[str, Any]:
    """The grains of this machine."""
    efi = host.exists("/sys/firmware/efi")
    grains: dict[str, Any] = {
        "kernel": name.sysname,
        "kernelrelease": name.release,
        "kernelversion": name.version,
        "cpuarch": name.machine,
        "kernelparams": parse_cmdline(host.read_text("/proc/cmdline") or ""),
        "efi": efi,
        "efi-secure-boot": efi and is_secure(host.read_bytes(SECURE_BOOT)),
        "transactional": host.which("transactional-update") is not None,
        "zfs_support": False,
        "zfs_feature_flags": False,
    }
    if host.which("selinuxenabled"):
        grains["selinux"] = _read_selinux(host)
    return grains


def parse_cmdline(text: str) -> list[list[str | None]]:
    """The kernel's parameters as pairs; the value is ``None`` where there is no ``=``."""
    words = text.split()
    # Most have nothing that takes more than that, and a lexer is slow.
    if not text.rstrip("\n").isprintable() or not _QUOTING.isdisjoint(text):
        with contextlib.suppress(ValueError):
            words = shlex.split(text)
    pairs = (word.partition("=") for word in words)
    return [[name, value if equals else None] for name, equals, value in pairs]


def is_secure(variable: bytes | None) -> bool:
    """Whether the firmware's variable SecureBoot is set; its first four bytes are attributes."""
    return variable is not None and variable[-1:] == b"\x01"


def _read_selinux(host: Host) -> dict[str, Any]:
    try:
        enabled = host.run(["selinuxenabled"], timeout_s=COMMAND_TIMEOUT_S).exit_code == 0
        enforced = host.run(["getenforce"], timeout_s=COMMAND_TIMEOUT_S).stdout.strip()
    except CommandError:
        return {"enabled": False}
    return {"enabled": enabled, "enforced": enforced}
