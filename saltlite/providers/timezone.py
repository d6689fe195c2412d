"""The time zone of the machine, by its files. Pure, but for what reads them."""

from __future__ import annotations

import os

from saltlite.host import Host

LOCALTIME = "/etc/localtime"
TIMEZONE = "/etc/timezone"
ADJTIME = "/etc/adjtime"
ZONES = "/usr/share/zoneinfo"
BOOTED_WITH_SYSTEMD = "/run/systemd/system"


def of_link(target: str) -> str | None:
    """The zone that a link to a file of zones names, ``None`` for another file."""
    _, found, zone = os.path.normpath(os.path.join("/etc", target)).partition("zoneinfo/")
    for tree in ("posix/", "right/"):
        zone = zone.removeprefix(tree)
    return zone if found and zone else None


def zone_file(zone: str) -> str:
    """The file of a zone."""
    return os.path.join(ZONES, zone)


def current(host: Host) -> str | None:
    """The zone of the machine; ``None`` if its files do not tell."""
    link = host.read_link(LOCALTIME)
    named = of_link(link) if link is not None else None
    if named is None:
        named = (host.read_text(TIMEZONE) or "").partition("#")[0].strip() or None
    return named or _by_content(host)


def _by_content(host: Host) -> str | None:
    """The first zone whose file is a copy of ``/etc/localtime``."""
    wanted = host.read_bytes(LOCALTIME)
    if wanted is None:
        return None
    for directory, names, files in os.walk(ZONES):
        names[:] = sorted(name for name in names if name not in ("posix", "right"))
        for name in sorted(files):
            path = os.path.join(directory, name)
            if host.read_bytes(path) == wanted:
                return os.path.relpath(path, ZONES)
    return None


def parse_adjtime(text: str) -> str | None:
    """What the hardware clock shows by the third line of ``/etc/adjtime``: UTC or localtime."""
    lines = text.splitlines()
    word = lines[2].strip() if len(lines) > 2 else ""
    return {"UTC": "UTC", "LOCAL": "localtime"}.get(word)
