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
    for root in _existing(roots, saltenv):
        full = _inside(root, path)
        if full is not None and full.is_file():
            data = disk.read_regular(full, limit_bytes=FILE_LIMIT_BYTES) or b""
            found.append({str(full): "bin" if b"\0" in data[:8192] else "txt"})
    return found


def list_env(roots: Roots, saltenv: str) -> dict[str, Any]:
    """Root → tree of its files; a directory is a map, a file is ``"f"``."""
    return {str(root): _tree(root) for root in _existing(roots, saltenv)}


def list_roots(roots: Roots) -> dict[str, list[dict[str, Any]]]:
    """Environment → trees of its roots."""
    return {env: [list_env(roots, env)] for env in roots}


def read(roots: Roots, path: str, saltenv: str) -> list[dict[str, str]]:
    """``{full path: text}`` of each root that has the file; of others than text nothing."""
    found = []
    for one in find(roots, path, saltenv):
        for full, kind in one.items():
            data = disk.read_regular(Path(full), limit_bytes=FILE_LIMIT_BYTES) or b""
            if kind == "txt":
                found.append({full: data.decode("utf-8", "replace")})
    return found


def write(roots: Roots, data: str, path: str, saltenv: str, index: int) -> str:
    """Write a file below the root number ``index``; a sentence about it."""
    listed = _of_env(roots, saltenv)
    if not 0 <= int(index) < len(listed):
        raise FunctionError(f"environment {saltenv} has no root number {index}")
    root = Path(os.path.realpath(listed[int(index)]))
    full = _inside(root, path)
    if full is None:
        raise FunctionError("the path leads out of the root")
    full.parent.mkdir(parents=True, exist_ok=True)
    disk.write_file(full, str(data).encode(), mode=0o644)
    return f"Wrote data to file {full}"


def _of_env(roots: Roots, saltenv: str) -> Sequence[str]:
    if not isinstance(saltenv, str) or saltenv not in roots:
        raise FunctionError("there is no such environment")
    return roots[saltenv]


def _existing(roots: Roots, saltenv: str) -> Iterator[Path]:
    for root in _of_env(roots, saltenv):
        if os.path.isdir(root):
            yield Path(os.path.realpath(root))


def _inside(root: Path, path: str) -> Path | None:
    """The file below ``root``; ``None`` for whatever leads out, by dots or links."""
    parts = str(path).split("/")
    if not path or "\0" in str(path) or any(part in ("", ".", "..") for part in parts):
        return None
    full = root.joinpath(*parts)
    if not Path(os.path.realpath(full)).is_relative_to(root) or full.is_symlink():
        return None
    return full


def _tree(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry, status in sorted(disk.entries_of(folder), key=lambda one: one[0].name):
        if stat.S_ISDIR(status.st_mode):
            found[entry.name] = _tree(Path(entry.path))
        elif stat.S_ISREG(status.st_mode):
            found[entry.name] = "f"
    return found
