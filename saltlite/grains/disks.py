"""Disks that turn, and those that do not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from saltlite.host import Host

BLOCK = "/sys/block"


def read(host: Host) -> dict[str, Any]:
    """The grains of this machine; devices without hardware of their own are left out."""
    return disk_grains(
        (name, host.read_text(f"{BLOCK}/{name}/queue/rotational") or "")
        for name in host.names(BLOCK)
        if "/virtual/" not in (host.read_link(f"{BLOCK}/{name}") or "")
    )


def disk_grains(rotational: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """``disks`` and ``ssds`` for names and what their ``rotational`` files say."""
    disks: list[str] = []
    ssds: list[str] = []
    for name, flag in rotational:
        if flag.strip() == "1":
            disks.append(name)
        elif flag.strip() == "0":
            ssds.append(name)
    return {"disks": disks, "ssds": ssds}
