"""``salt.utils.platform``: what kind of machine this is: Linux, or nothing that we know."""

from __future__ import annotations

import os
import sys


def is_linux() -> bool:
    """Whether this is Linux."""
    return sys.platform.startswith("linux")


def is_windows() -> bool:
    """Whether this is Windows."""
    return sys.platform.startswith("win")


def is_darwin() -> bool:
    """Whether this is macOS."""
    return sys.platform.startswith("darwin")


def is_sunos() -> bool:
    """Whether this is SunOS."""
    return sys.platform.startswith("sunos")


def is_freebsd() -> bool:
    """Whether this is FreeBSD."""
    return sys.platform.startswith("freebsd")


def is_netbsd() -> bool:
    """Whether this is NetBSD."""
    return sys.platform.startswith("netbsd")


def is_openbsd() -> bool:
    """Whether this is OpenBSD."""
    return sys.platform.startswith("openbsd")


def is_aix() -> bool:
    """Whether this is AIX."""
    return sys.platform.startswith("aix")


def is_proxy() -> bool:
    """Whether this is a proxy minion: never."""
    return False


def is_junos() -> bool:
    """Whether this is Junos: never."""
    return False


def is_smartos() -> bool:
    """Whether this is SmartOS: never."""
    return False


is_smartos_globalzone = is_smartos_zone = is_smartos


def is_fedora() -> bool:
    """Whether this is Fedora."""
    return _release_id() == "fedora"


def is_photonos() -> bool:
    """Whether this is Photon OS."""
    return _release_id() == "photon"


def is_aarch64() -> bool:
    """Whether the processor is a 64-bit ARM."""
    return os.uname().machine.startswith("aarch64")


def get_machine_identifier() -> str:
    """The id that the machine got when it was set up."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, encoding="utf-8") as file:
                return file.read().strip()
        except OSError:  # noqa: PERF203 - one of two files
            continue
    return ""


def _release_id() -> str:
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            lines = dict(line.strip().partition("=")[::2] for line in file)
    except OSError:
        return ""
    return lines.get("ID", "").strip('"')
