"""Whether something is in a file."""

from __future__ import annotations

import os
import re
from typing import Any

from saltlite.context import MinionContext
from saltlite.providers.file import edits, programs
from saltlite.providers.file.paths import home

READ_CHARACTERS = 65536


def contains(path: str, text: object) -> bool:
    """Whether a text is in a file.

    CLI Example:

        salt '*' file.contains /etc/crontab 'mymaintenance.sh'
    """
    path = home(path)
    wanted = str(text).strip()
    if not os.path.isfile(path):
        return False
    kept = ""
    with open(path, encoding="utf-8") as file:
        while chunk := file.read(READ_CHARACTERS):
            kept += chunk
            if wanted in kept:
                return True
            kept = kept[-len(wanted) :] if wanted else ""
    return not wanted


def contains_regex(path: str, regex: str, lchar: str = "") -> bool:
    """Whether a regular expression matches in a line; ``lchar`` is stripped from the left before.

    CLI Example:

        salt '*' file.contains_regex /etc/crontab '^[^#].*root'
    """
    path = home(path)
    if not os.path.isfile(path):
        return False
    pattern = re.compile(regex)
    with open(path, encoding="utf-8") as file:
        return any(pattern.search(line.lstrip(lchar) if lchar else line) for line in file)


def contains_glob(path: str, glob_expr: str) -> bool:
    """Whether the content of a file fits a glob.

    CLI Example:

        salt '*' file.contains_glob /etc/foobar '*cheese*'
    """
    import fnmatch

    path = home(path)
    if not os.path.isfile(path):
        return False
    with open(path, encoding="utf-8") as file:
        return fnmatch.fnmatch(file.read(), glob_expr)


def sed_contains(
    ctx: MinionContext, path: str, text: object, limit: object = "", flags: str = "g"
) -> bool:
    """Whether sed finds a text in a file.

    CLI Example:

        salt '*' file.sed_contains /etc/crontab 'mymaintenance.sh'
    """
    path = home(path)
    if not os.path.exists(path):
        return False
    escaped = programs.escape_sed
    return programs.sed_finds(ctx, path, escaped(text), escaped(limit), flags)


def grep(ctx: MinionContext, path: str, pattern: str, *opts: str) -> dict[str, Any]:
    """Search files with grep; ``opts`` are its options.

    CLI Example:

        salt '*' file.grep /etc/passwd nobody
        salt '*' file.grep "/etc/sysconfig/network-scripts/*" ipaddr -- -i -l
    """
    return programs.grep(ctx, home(path), pattern, opts)


def search(
    ctx: MinionContext,
    path: str,
    pattern: str,
    flags: object = 8,
    bufsize: object = 1,
    ignore_if_missing: bool = False,
    multiline: bool = False,
) -> bool:
    """Whether a regular expression matches in a file.

    CLI Example:

        salt '*' file.search /etc/crontab 'mymaintenance.sh'
    """
    number = edits.flags_of(flags) | (re.MULTILINE if multiline else 0)
    wanted = edits.Replacement(
        pattern=pattern, flags=number, bufsize="file" if multiline else bufsize,
        search_only=True, ignore_if_missing=ignore_if_missing,
    )  # fmt: skip
    return bool(edits.replace_in_file(ctx, home(path), wanted))
