"""What is mounted, and what is swapped to. Pure parsers of files below ``/proc``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from saltlite.core.lazyregex import regex

MOUNTS = "/proc/self/mounts"
MOUNTINFO = "/proc/self/mountinfo"
SWAPS = "/proc/swaps"

_OCTAL = regex(r"\\([0-7]{3})")
_BLKID = regex(r'(\w+)="([^"]*)"')


def unescape_path(text: str) -> str:
    """A path as it is; the kernel writes blanks as a backslash and ``040``."""
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), text)


def parse_mounts(text: str) -> dict[str, dict[str, Any]]:
    """Where what is mounted; the uppermost where something is mounted over another."""
    found: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 4:
            continue
        device = unescape_path(words[0])
        found[unescape_path(words[1])] = {
            "device": device,
            "alt_device": device,
            "fstype": words[2],
            "opts": words[3].split(","),
        }
    return found


def parse_mountinfo(text: str, blkid: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, Any]]:
    """The same with more: ids, numbers of the device, its own options, UUID and label."""
    found: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        head, dash, tail = line.partition(" - ")
        words, more = head.split(), tail.split()
        if not dash or len(words) < 6 or len(more) < 3:
            continue
        major, _, minor = words[2].partition(":")
        device = unescape_path(more[1])
        ids = blkid.get(device, {})
        found[unescape_path(words[4])] = {
            "mountid": words[0],
            "parentid": words[1],
            "major": major,
            "minor": minor,
            "root": unescape_path(words[3]),
            "opts": words[5].split(","),
            "fstype": more[0],
            "device": device,
            "alt_device": device,
            "superopts": more[2].split(","),
            "device_uuid": _lower_text(ids.get("UUID")),
            "device_label": ids.get("LABEL"),
        }
    return found


def _lower_text(text: str | None) -> str | None:
    return None if text is None else text.lower()


def parse_blkid(text: str) -> dict[str, dict[str, str]]:
    """The output of ``blkid``: devices with ``UUID``, ``TYPE``, ``LABEL`` and others."""
    found = {}
    for line in text.splitlines():
        device, colon, rest = line.partition(":")
        if colon and device.startswith("/"):
            found[device] = dict(_BLKID.findall(rest))
    return found


def parse_swaps(text: str) -> dict[str, dict[str, str]]:
    """``/proc/swaps``; sizes in KiB, as text."""
    found = {}
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) == 5:
            found[unescape_path(words[0])] = dict(
                zip(("type", "size", "used", "priority"), words[1:], strict=True)
            )
    return found


def mount_of(path: str, mounts: Mapping[str, object]) -> str | None:
    """The place below which a path is."""
    path = os.path.realpath(path)
    while path not in mounts:
        if path == "/":
            return None
        path = os.path.dirname(path)
    return path
