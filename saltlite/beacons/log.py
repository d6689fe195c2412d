"""New lines of a log file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers.watch import settings
from saltlite.providers.watch.logfile import LogFile

KEPT = "file"


@dataclass(frozen=True, slots=True)
class LogFileOptions:
    """The configuration of this beacon."""

    file: Any = None
    tags: Any = None


@dataclass(frozen=True, slots=True)
class TagOptions:
    """What is looked for under one tag."""

    regex: Any = None


def validate(config: Mapping[str, Any]) -> tuple[bool, str]:
    """Check the configuration of this beacon; a wrong expression is told as an event."""
    options = read_fields(LogFileOptions, config)
    if not isinstance(options.file, str):
        return False, "Configuration for log beacon must contain file option."
    if not isinstance(options.tags, Mapping):
        return False, "Configuration for log beacon must contain tags option, a map."
    for tag, given in options.tags.items():
        if not isinstance(given, Mapping) or not isinstance(_regex_of(given), str):
            return False, f"Configuration for log beacon: {tag} must be a map with a regex."
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell of every new line that begins as one of the expressions says.

    The file is read from its end on, and followed when it is cut or replaced.
    """
    options = read_fields(LogFileOptions, config)
    if KEPT not in ctx.kept:
        ctx.kept[KEPT] = LogFile(options.file)
    file: LogFile = ctx.kept[KEPT]
    lines = file.lines()
    found = []
    for tag, given in options.tags.items():
        try:
            pattern = re.compile(_regex_of(given))
        except re.error:
            found.append({"tag": str(tag), "match": "no", "raw": "", "error": "bad regex"})
            continue
        found += _matching(str(tag), pattern, lines)
    return found


def _regex_of(given: Mapping[str, Any]) -> Any:
    return read_fields(TagOptions, given).regex


def close(ctx: BeaconContext, config: Mapping[str, object]) -> None:
    """Let go of the file; what is written meanwhile is not told."""
    if KEPT in ctx.kept:
        ctx.kept.pop(KEPT).close()


def _matching(tag: str, pattern: re.Pattern[str], lines: list[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if pattern.match(line):
            yield {"tag": tag, "match": "yes", "raw": line, "error": ""}
