"""Changes in directories, in the words of the package watchdog."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers.watch import inotify, settings

KEPT: Final = "watches"
WORDS: Final = {"create": "created", "modify": "modified", "delete": "deleted", "move": "moved"}
"""The words of ``mask``, and those of events."""

ASKED: Final = inotify.mask_of(
    ("create", "delete", "modify", "attrib", "moved_from", "moved_to", "delete_self")
)
_FROM, _TO = inotify.Mask.MOVED_FROM, inotify.Mask.MOVED_TO


@dataclass(frozen=True, slots=True)
class WatchdogOptions:
    """The configuration of this beacon."""

    directories: Any = None


@dataclass(frozen=True, slots=True)
class DirectoryOptions:
    """What is configured for one directory."""

    mask: Any = tuple(WORDS)


def validate(config: Mapping[str, Any]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    checked = settings.check_map("watchdog", config, "directories")
    if not checked[0]:
        return checked
    for path, options in read_fields(WatchdogOptions, config).directories.items():
        if options is not None and not isinstance(options, Mapping):
            return False, f"Configuration for watchdog beacon: {path} must be a map."
        mask = read_fields(DirectoryOptions, options or {}).mask
        if not isinstance(mask, (list, tuple)) or not set(map(str, mask)) <= set(WORDS):
            text = f"mask of {path} must be a list of {', '.join(WORDS)}"
            return False, f"Configuration for watchdog beacon: {text}."
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell what has changed in the directories since the last look; not what is below others."""
    masks = {
        str(path).rstrip("/") or "/": read_fields(DirectoryOptions, options or {}).mask
        for path, options in read_fields(WatchdogOptions, config).directories.items()
    }
    if KEPT not in ctx.kept:
        ctx.kept[KEPT] = inotify.Watches(inotify.WatchedPath(path, ASKED) for path in masks)
    watches: inotify.Watches = ctx.kept[KEPT]
    changes = list(watches.changes())
    watches.look_for_missing()
    found: list[dict[str, Any]] = []
    for watched, path, word in _find_changes(changes):
        event = {"tag": "watchdog", "path": path, "change": WORDS[word]}
        if word in masks.get(watched, ()) and found[-1:] != [event]:
            found.append(event)
    return found


def close(ctx: BeaconContext, config: Mapping[str, object]) -> None:
    """Watch nothing until the next look; what happens meanwhile is not told."""
    if KEPT in ctx.kept:
        ctx.kept.pop(KEPT).close()


def _find_changes(changes: Sequence[inotify.Change]) -> Iterator[tuple[str, str, str]]:
    """The directory, the path and the word of each change; one in a directory changes that, too."""
    came = {each.cookie for each in changes if each.mask & _TO}
    went = {each.cookie for each in changes if each.mask & _FROM}
    for each in changes:
        word = _word_of(each, came, went)
        if word:
            yield each.watched, each.path, word
        if word != "modify" and each.path != each.watched:
            yield each.watched, os.path.dirname(each.path), "modify"


def _word_of(change: inotify.Change, came: set[int], went: set[int]) -> str:
    """What a change is called; a move is told where it begins, or is half of one."""
    mask = change.mask
    if mask & _FROM:
        return "move" if change.cookie in came else "delete"
    if mask & _TO:
        return "" if change.cookie in went else "create"
    if mask & inotify.Mask.CREATE:
        return "create"
    if mask & (inotify.Mask.DELETE | inotify.Mask.DELETE_SELF):
        return "delete"
    return "modify"
