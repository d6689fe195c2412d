"""Attributes of files on Linux file systems: ``lsattr`` and ``chattr``."""

from __future__ import annotations

import os
from collections.abc import Sequence

from saltlite.errors import UsageError
from saltlite.host import Host

LETTERS = "aAcCdDeijPsStTu"
SET_BY_THE_SYSTEM = frozenset("e")
"""Extents: an ext4 file has them, and nobody can take them away."""


def parse(text: str) -> dict[str, list[str]]:
    """The attributes of each file in the output of ``lsattr``, as letters."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        letters, _, path = line.partition(" ")
        if path.startswith("/") and not line.startswith("lsattr"):
            found[path.strip()] = [letter for letter in letters if letter in LETTERS]
    return found


def read(host: Host, path: str) -> dict[str, list[str]] | None:
    """Attributes of a file, or of the files in a directory; ``None`` without the program.

    Raises:
        UsageError: there is no such file.
    """
    if host.which("lsattr") is None:
        return None
    if not os.path.exists(path):
        raise UsageError(f"File or directory does not exist: {path}")
    return parse(host.run(["lsattr", "--", path]).stdout)


def change(
    host: Host,
    paths: Sequence[str],
    operator: str | None,
    attributes: str | None,
    flags: str | None = None,
    version: object = None,
    *,
    cwd: str | None = None,
) -> bool:
    """Add or remove attributes; whether that could be done. ``chattr`` runs in ``cwd``.

    Raises:
        UsageError: operator or attributes are missing.
    """
    if operator not in ("add", "remove"):
        raise UsageError("Need an operator: 'add' or 'remove' to modify attributes.")
    if attributes is None:
        raise UsageError(f"Need attributes: [{LETTERS}]")
    sign = "+" if operator == "add" else "-"
    argv = ["chattr", f"{sign}{attributes}"]
    if flags is not None:
        argv.append(f"-{flags}")
    if version is not None:
        argv += ["-v", str(version)]
    return host.run([*argv, *paths], cwd=cwd).exit_code == 0


def differing(now: Sequence[str], wanted: str) -> tuple[str, str]:
    """The letters to add and those to remove."""
    there, needed = set(now) - SET_BY_THE_SYSTEM, set(wanted) - SET_BY_THE_SYSTEM
    return "".join(sorted(needed - there)), "".join(sorted(there - needed))
