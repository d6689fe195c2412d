"""How full file systems are."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import BeaconContext
from saltlite.core.beacons import COMMON_OPTIONS
from saltlite.providers.mount import active
from saltlite.providers.watch import settings

log = logging.getLogger(__name__)


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    try:
        _compile(config)
    except (re.error, ValueError) as error:
        return False, f"Configuration for diskusage beacon: {error}."
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, object]) -> list[dict[str, Any]]:
    """Tell of every file system that is as full as its limit or fuller.

    A key is a mount point or a regular expression for whole ones; the last that fits counts.
    """
    text = ctx.minion.host.read_text(active.MOUNTS) or ""
    limits = _compile(config)
    found = []
    for mount in active.parse_mounts(text):
        fitting = [limit for pattern, limit in limits if pattern.match(mount)]
        used = _percent_in_use(mount) if fitting else None
        if used is not None and used >= fitting[-1]:
            found.append({"diskusage": used, "mount": mount})
    return found


def _compile(config: Mapping[str, object]) -> list[tuple[re.Pattern[str], float]]:
    """What file systems are asked about, and their limits; raises re.error, ValueError."""
    return [
        (re.compile(rf"(?:{mount})\Z"), settings.percent(limit)) for mount, limit in _limits(config)
    ]


def _limits(config: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
    """What is configured of file systems, without what all beacons have."""
    for mount, limit in config.items():
        if mount not in COMMON_OPTIONS:
            yield mount.removesuffix("$"), limit


def _percent_in_use(mount: str) -> float | None:
    """As ``df`` counts: of what users other than root can have; ``None`` if nobody can say."""
    try:
        found = os.statvfs(mount)
    except OSError as error:
        log.debug("%s: %s", mount, error.strerror)
        return None
    used = found.f_blocks - found.f_bfree
    total = used + found.f_bavail
    return round(100.0 * used / total, 1) if total else 0.0
