"""New lines of a log file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import BeaconContext
from saltlite.providers.watch import settings
from saltlite.providers.watch.logfile import LogFile

KEPT = "file"


def validate(config: Mapping[str, Any]) -> tuple[bool, str]:
    """Check the configuration of this beacon; a wrong expression is told as an event."""
    if not isinstance(config.get("file"), str):
        return False, "Configuration for log beacon must contain file option."
    if not isinstance(config.get("tags"), Mapping):
        return False, "Configuration for log beacon must contain tags option, a map."
    for tag, options in config["tags"].items():
        if not isinstance(options, Mapping) or not isinstance(options.get("regex"), str):
            return False, f"Configuration for log beacon: {tag} must be a map with a regex."
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell of every new line that begins as one of the expressions says.

    The file is read from its end on, and followed when it is cut or replaced.
    """
    if KEPT not in ctx.kept:
        ctx.kept[KEPT] = LogFile(config["file"])
    file: LogFile = ctx.kept[KEPT]
    lines = file.lines()
    found = []
    for tag, options in config["tags"].items():
        try:
            pattern = re.compile(options["regex"])
        except re.error:
            found.append({"tag": str(tag), "match": "no", "raw": "", "error": "bad regex"})
            continue
        found += _matching(str(tag), pattern, lines)
    return found


def close(ctx: BeaconContext, config: Mapping[str, object]) -> None:
    """Let go of the file; what is written meanwhile is not told."""
    if KEPT in ctx.kept:
        ctx.kept.pop(KEPT).close()


def _matching(tag: str, pattern: re.Pattern[str], lines: list[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if pattern.match(line):
            yield {"tag": tag, "match": "yes", "raw": line, "error": ""}
