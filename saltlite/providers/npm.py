"""npm: its command lines and what it prints, taken apart. Called by ``modules/npm.py``.

Source: npm-install(1), npm-ls(1); observed on Salt 3006.30 with npm 10 and 11.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def parse_listed(text: str) -> dict[str, dict[str, Any]]:
    """``npm list --json``: packages by name, each as npm describes it.

    Raises:
        ValueError: it is no JSON.
    """
    found = json.loads(text or "{}")
    return dict(found.get("dependencies") or {}) if isinstance(found, Mapping) else {}


def parse_done(text: str) -> Any:
    """What ``npm install --json`` prints; remarks before the JSON are left out, plain text stays.

    Source: with ``--json`` scripts of packages print to the same place.
    """
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line[:1] in ("{", "["):
            try:
                return json.loads("\n".join(lines[number:]))
            except ValueError:
                continue
    return text


def package(text: str) -> tuple[str, str | None]:
    """Name and version of ``name``, ``name@1.0``, ``@scope/name@1.0``; no version is ``None``."""
    name, mark, version = text.rpartition("@")
    return (name, version) if mark and name else (text, None)


def listing(directory: str | None, depth: object, pkg: str | None) -> list[str]:
    """The words of ``npm list``; without a directory it is about the whole machine."""
    words = ["npm", "list", "--json", "--silent"]
    words += [] if directory else ["--global"]
    words += [] if depth is None else [f"--depth={depth}"]
    return words + ([pkg] if pkg else [])


def installing(
    packages: Sequence[str],
    directory: str | None,
    *,
    registry: str | None = None,
    dry_run: bool = False,
    silent: bool = True,
) -> list[str]:
    """The words of ``npm install``; without packages those of the directory's ``package.json``."""
    words = ["npm", "install", "--json"]
    words += ["--silent"] if silent else []
    words += [] if directory else ["--global"]
    words += [f"--registry={registry}"] if registry else []
    words += ["--dry-run"] if dry_run else []
    return words + list(packages)
