"""Cases of file states: the directory that each begins with, and texts with ``{tmp}`` for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

RUNS = (True, False, False, True)
"""A test, twice for real, a test: what each case is called with."""


def prepare(tmp: Path, world: dict[str, Any], case: dict[str, Any]) -> None:
    """Make the tree of the world, and what the case has on top of it."""
    tmp.mkdir(parents=True, exist_ok=True)
    for one in [*world["setup"], *case.get("setup", [])]:
        _make(tmp, one)


def _make(tmp: Path, one: dict[str, Any]) -> None:
    kind = next(key for key in ("write", "mkdir", "link") if key in one)
    path = tmp / one[kind]
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "mkdir":
        path.mkdir(exist_ok=True)
    elif kind == "link":
        os.symlink(filled(one["to"], tmp), path)
    else:
        path.write_bytes(filled(one.get("text", ""), tmp).encode())
    if kind != "link":
        path.chmod(int(str(one.get("mode", "755" if kind == "mkdir" else "644")), 8))


def filled(value: Any, tmp: Path) -> Any:
    """The value with the directory's path in it."""
    return _replaced(value, "{tmp}", str(tmp))


def masked(value: Any, tmp: Path) -> Any:
    """The value without it."""
    return _replaced(value, str(tmp), "{tmp}")


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {_replaced(key, old, new): _replaced(item, old, new) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(item, old, new) for item in value]
    return value
