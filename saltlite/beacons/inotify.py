"""Changes of files and directories, from the kernel."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers.watch import inotify, settings

KEPT = "watches"
SWITCHES = ("recurse", "auto_add")


@dataclass(frozen=True, slots=True)
class InotifyOptions:
    """The configuration of this beacon."""

    files: Any = None
    coalesce: Any = False


@dataclass(frozen=True, slots=True)
class WatchedPathOptions:
    """What is configured for one path."""

    mask: Any = inotify.DEFAULT
    recurse: Any = False
    auto_add: Any = False
    exclude: Any = ()


def validate(config: Mapping[str, Any]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    if "files" not in config:
        return False, "Configuration for inotify beacon must include files."
    checked = settings.check_map("inotify", config, "files")
    if not checked[0]:
        return checked
    for path, options in read_fields(InotifyOptions, config).files.items():
        text = _check_options(str(path), options)
        if text:
            return False, text
    text = settings.check_switches("inotify", "inotify", config, ["coalesce"])
    return (False, text) if text else settings.VALID


def _check_options(path: str, options: object) -> str:
    if options is not None and not isinstance(options, Mapping):
        return f"Configuration for inotify beacon: {path} must be a map."
    try:
        _parse_path(path, options or {})
    except (ValueError, re.error) as error:
        return f"Configuration for inotify beacon: {path}: {error}."
    return settings.check_switches("inotify", path, options or {}, SWITCHES)


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell what has changed since the last look.

    With ``coalesce`` the same change of the same path is told once. When the kernel could not keep
    all changes, that is an event of its own.
    """
    given = read_fields(InotifyOptions, config)
    if KEPT not in ctx.kept:
        files = given.files.items()
        ctx.kept[KEPT] = inotify.Watches(_parse_path(str(p), options or {}) for p, options in files)
    watches: inotify.Watches = ctx.kept[KEPT]
    changes = [*watches.changes(), *watches.look_for_missing()]
    events = [(each.watched, each.path, inotify.name_of(each.mask)) for each in changes]
    return [
        {"tag": watched, "path": path, "change": change}
        for watched, path, change in (dict.fromkeys(events) if given.coalesce else events)
    ]


def close(ctx: BeaconContext, config: Mapping[str, object]) -> None:
    """Watch nothing until the next look; what happens meanwhile is not told."""
    if KEPT in ctx.kept:
        ctx.kept.pop(KEPT).close()


def _parse_path(path: str, given: Mapping[str, object]) -> inotify.WatchedPath:
    """A configured path; raises ValueError, re.error."""
    options = read_fields(WatchedPathOptions, given)
    words = options.mask
    words = [words] if isinstance(words, str) else words
    if not isinstance(words, (list, tuple)):
        raise ValueError("mask must be a list of words")
    return inotify.WatchedPath(
        path=path.rstrip("/") or "/",
        mask=inotify.mask_of(words) or inotify.mask_of(inotify.DEFAULT),
        recurse=bool(options.recurse),
        auto_add=bool(options.auto_add),
        is_left_out=_excluder(options.exclude),
    )


def _excluder(given: object) -> Callable[[str], bool]:
    """What says of a path whether it is left out; raises ValueError, re.error."""
    if not isinstance(given, (list, tuple)):
        raise ValueError("exclude must be a list")
    globs: list[str] = []
    expressions: list[re.Pattern[str]] = []
    for each in given:
        for pattern, options in each.items() if isinstance(each, Mapping) else ((each, {}),):
            if isinstance(options, Mapping) and options.get("regex", False):
                expressions.append(re.compile(str(pattern)))
            else:
                globs.append(str(pattern).rstrip("/") or "/")

    def is_left_out(path: str) -> bool:
        parents = (path, *_parents(path))
        return any(fnmatch.fnmatch(path, glob) or glob in parents for glob in globs) or any(
            expression.search(path) for expression in expressions
        )

    return is_left_out


def _parents(path: str) -> list[str]:
    found = []
    while (path := os.path.dirname(path)) not in ("/", ""):
        found.append(path)
    return found
