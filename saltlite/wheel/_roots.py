"""Files below the roots of an environment: found, read and written, never outside of them.

For ``file_roots`` and ``pillar_roots``. An environment is looked up among the configured ones; a
path is taken apart and followed without links that lead out. Source: CVE-2020-11652,
CVE-2021-25282.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.errors import FunctionError

Roots = Mapping[str, Sequence[str]]

FILE_LIMIT_BYTES = 10 * 1024 * 1024


def find(roots: Roots, path: str, saltenv: str) -> list[dict[str, str]]:
    """``{full path: "txt" or "bin"}`` of each root that has the file; a path out has none."""
    found = []
    for shown, data in _read_contents(roots, path, saltenv):
        found.append({shown: "bin" if b"\0" in data[:8192] else "txt"})
    return found


def list_env(roots: Roots, saltenv: str) -> dict[str, Any]:
    """Root → tree of its files; a directory is a map, a file is ``"f"``."""
    return {root: _build_tree(root) for root in _existing_roots(roots, saltenv)}


def list_roots(roots: Roots) -> dict[str, list[dict[str, Any]]]:
    """Environment → trees of its roots."""
    return {env: [list_env(roots, env)] for env in roots}


def read(roots: Roots, path: str, saltenv: str) -> list[dict[str, str]]:
    """``{full path: text}`` of each root that has the file; of others than text nothing."""
    return [
        {shown: data.decode("utf-8", "replace")}
        for shown, data in _read_contents(roots, path, saltenv)
        if b"\0" not in data[:8192]
    ]


def write(roots: Roots, data: str, path: str, saltenv: str, index: int) -> str:
    """Write a file below the root number ``index``, through a link that stays there; a sentence.

    Raises:
        FunctionError: there is no such environment or root, or the path leads out of it.
    """
    if not isinstance(saltenv, str) or saltenv not in roots:
        raise FunctionError(f"Named environment {saltenv} is not present")
    listed, number = roots[saltenv], int(index)
    if not -len(listed) <= number < len(listed):
        raise FunctionError(f"Specified index {index} in environment {saltenv} is not present")
    if os.path.isabs(str(path)):
        raise FunctionError(
            f"The path passed in {path} is not relative to the environment {saltenv}"
        )
    real = _path_inside(listed[number], path)
    if real is None:
        raise FunctionError(f"Invalid path: {path}")
    real.parent.mkdir(parents=True, exist_ok=True)
    disk.write_file(real, str(data).encode(), mode=0o644)
    return f"Wrote data to file {os.path.join(listed[number], path)}"


def _read_contents(roots: Roots, path: str, saltenv: str) -> Iterator[tuple[str, bytes]]:
    """Full path, as Salt shows it, and content of each root's file."""
    for root in _existing_roots(roots, saltenv):
        real = _path_inside(root, path)
        if real is not None and real.is_file():
            data = disk.read_regular(real, limit_bytes=FILE_LIMIT_BYTES) or b""
            yield os.path.join(root, path), data


def _of_env(roots: Roots, saltenv: str) -> Sequence[str]:
    if not isinstance(saltenv, str) or saltenv not in roots:
        raise FunctionError("there is no such environment")
    return roots[saltenv]


def _existing_roots(roots: Roots, saltenv: str) -> list[str]:
    return [root for root in _of_env(roots, saltenv) if os.path.isdir(root)]


def _path_inside(root: str, path: str) -> Path | None:
    """The real path of a file below ``root``; ``None`` for what leads out, by dots or links."""
    parts = [part for part in str(path).split("/") if part not in ("", ".")]
    if not parts or ".." in parts or str(path).startswith("/") or "\0" in str(path):
        return None
    top = os.path.realpath(root)
    real = Path(os.path.realpath(os.path.join(top, *parts)))
    return real if real.is_relative_to(top) and str(real) != top else None


def _build_tree(folder: str) -> dict[str, Any]:
    """Name → tree or ``"f"``; a link to a directory is shown as an empty one."""
    found: dict[str, Any] = {}
    for entry, status in sorted(disk.entries_of(folder), key=lambda one: one[0].name):
        if stat.S_ISDIR(status.st_mode):
            found[entry.name] = _build_tree(entry.path)
        elif stat.S_ISLNK(status.st_mode):
            found[entry.name] = {} if os.path.isdir(entry.path) else "f"
        elif stat.S_ISREG(status.st_mode):
            found[entry.name] = "f"
    return found
