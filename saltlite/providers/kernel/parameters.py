"""Kernel parameters, as ``sysctl`` and its files name them. Pure."""

from __future__ import annotations

import os
import re

from saltlite.core.lazyregex import regex

PROC_SYS = "/proc/sys"
DEFAULT_FILE = "/etc/sysctl.conf"
SYSTEMD_FILE = "/etc/sysctl.d/99-salt.conf"
NEW_FILE = "#\n# Kernel sysctl configuration\n#\n"

_SETTING = regex(r"\s*([^#;=\s][^=]*?)\s*=\s*(.*?)\s*$")


def path_of(name: str) -> str | None:
    """The file of a parameter below ``/proc/sys``; ``None`` if the name leads out of there.

    Dots and slashes change places when a slash comes first, as in ``sysctl``.
    """
    first = re.search(r"[./]", name)
    parts = name.split("/") if first and first.group() == "/" else _swap_separators(name)
    if any(part in ("", ".", "..") for part in parts) or "\0" in name:
        return None
    return os.path.join(PROC_SYS, *parts)


def _swap_separators(name: str) -> list[str]:
    return [part.replace("/", ".") for part in name.split(".")]


def parse(text: str) -> dict[str, str]:
    """The parameters in a file or in what ``sysctl -a`` prints: lines ``name = value``."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _SETTING.match(line)
        if match:
            found[match.group(1)] = match.group(2)
    return found


def same(one: str, other: str) -> bool:
    """Whether two values say the same: blanks and tabs between numbers are alike."""
    return one.split() == other.split()


def with_setting(text: str, name: str, value: str) -> str | None:
    """A file with a parameter set in all its lines; ``None`` if it says so already."""
    lines = text.splitlines(keepends=True)
    found = [(index, match) for index, line in enumerate(lines) if (match := _SETTING.match(line))]
    values = {index: match.group(2) for index, match in found if match.group(1) == name}
    wrong = [index for index in values if not same(values[index], value)]
    for index in wrong:
        lines[index] = f"{name} = {value}\n"
    if values:
        return "".join(lines) if wrong else None
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines, f"{name} = {value}\n"])
