"""Kernel modules: which are loaded, which there are, and which are loaded at every start. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from saltlite.core.lazyregex import regex

PROC_MODULES = "/proc/modules"
TREE = "/lib/modules"
MODULES_FILE = "/etc/modules"
SYSTEMD_FILE = "/etc/modules-load.d/salt_managed.conf"

_MODULE_FILE = regex(r"(.+)\.ko(?:\.(?:gz|xz|zst|bz2))?$")


def parse_loaded(text: str) -> list[dict[str, Any]]:
    """``/proc/modules`` in the words of ``lsmod``; size in bytes, numbers as text."""
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 4:
            found.append(
                {
                    "size": words[1],
                    "module": words[0],
                    "depcount": words[2],
                    "deps": [name for name in words[3].split(",") if name not in ("", "-")],
                }
            )
    return found


def module_name(file_name: str) -> str | None:
    """The module in a file, under the name the kernel knows; ``None`` for another file."""
    match = _MODULE_FILE.match(file_name)
    return match.group(1).replace("-", "_") if match else None


def parse_builtin(text: str) -> list[str]:
    """The modules that ``modules.builtin`` names."""
    names = (module_name(line.strip().rpartition("/")[2]) for line in text.splitlines())
    return [name for name in names if name]


def parse_persistent(text: str) -> list[str]:
    """The modules that a file names for every start, sorted."""
    lines = (line.strip() for line in text.splitlines())
    return sorted({line.split()[0] for line in lines if line and not line.startswith("#")})


def with_module(text: str, name: str) -> str:
    """The file with a module more; one that was commented out comes back."""
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        if re.fullmatch(rf"#+\s*{re.escape(name)}\s*", line):
            lines[index] = f"{name}\n"
            return "".join(lines)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines, f"{name}\n"])


def without_modules(text: str, names: Collection[str], *, comment: bool) -> str:
    """The file without these modules; ``comment`` leaves them there behind a ``#``."""
    lines = []
    for line in text.splitlines(keepends=True):
        words = line.split()
        if not words or words[0] not in names:
            lines.append(line)
        elif comment:
            lines.append(f"#{line}")
    return "".join(lines)
