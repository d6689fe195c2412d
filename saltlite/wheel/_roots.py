"""Files below the roots of an environment: found, read and written, never outside of them.

For ``file_roots`` and ``pillar_roots``. An environment is looked up among the configured ones; a
path is taken apart and followed without links that lead out. Source: CVE-2020-11652,
CVE-2021-25282.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.core.factories import name_function
from saltlite.errors import FunctionError
from saltlite.runner_context import RunnerContext

Roots = Mapping[str, Sequence[str]]

FILE_LIMIT_BYTES = 10 * 1024 * 1024


def make_functions(
    module: str, roots_of: Callable[[RunnerContext], Roots]
) -> tuple[Callable[..., Any], ...]:
    """Make the functions of a module, in the order of the alphabet, for the roots of an option."""

    def find(ctx: RunnerContext, path: str, saltenv: str = "base") -> list[dict[str, str]]:
        """Return where a file is, and whether it is text (``txt``) or not (``bin``).

        CLI Example:

            wheel.cmd("MODULE.find", ["top.sls"])
        """
        return _find_file(roots_of(ctx), path, saltenv)

    def list_env(ctx: RunnerContext, saltenv: str = "base") -> dict[str, Any]:
        """Return the files of an environment.

        CLI Example:

            wheel.cmd("MODULE.list_env", ["base"])
        """
        return _list_environment(roots_of(ctx), saltenv)

    def list_roots(ctx: RunnerContext) -> dict[str, list[dict[str, Any]]]:
        """Return the files of all environments.

        CLI Example:

            wheel.cmd("MODULE.list_roots")
        """
        roots = roots_of(ctx)
        return {env: [_list_environment(roots, env)] for env in roots}

    def read(ctx: RunnerContext, path: str, saltenv: str = "base") -> list[dict[str, str]]:
        """Return the text of a file in each root that has it.

        CLI Example:

            wheel.cmd("MODULE.read", ["top.sls"])
        """
        return _read_texts(roots_of(ctx), path, saltenv)

    def write(
        ctx: RunnerContext, data: str, path: str, saltenv: str = "base", index: int = 0
    ) -> str:
        """Write a file below a root of an environment, the first one unless ``index`` says else.

        CLI Example:

            wheel.cmd("MODULE.write", ["text", "a/file.sls"])
        """
        return _write_file(roots_of(ctx), data, path, saltenv, index)

    made = (find, list_env, list_roots, read, write)
    for function in made:
        function.__module__ = f"saltlite.wheel.{module}"
        text = (function.__doc__ or "").replace("MODULE", module)
        name_function(function, function.__name__, text)
    return made


def _find_file(roots: Roots, path: str, saltenv: str) -> list[dict[str, str]]:
    """``{full path: "txt" or "bin"}`` of each root that has the file; a path out has none."""
    found = []
    for shown, data in _read_contents(roots, path, saltenv):
        found.append({shown: "bin" if b"\0" in data[:8192] else "txt"})
    return found


def _list_environment(roots: Roots, saltenv: str) -> dict[str, Any]:
    """Root → tree of its files; a directory is a map, a file is ``"f"``."""
    return {root: _build_tree(root) for root in _existing_roots(roots, saltenv)}


def _read_texts(roots: Roots, path: str, saltenv: str) -> list[dict[str, str]]:
    """``{full path: text}`` of each root that has the file; of others than text nothing."""
    return [
        {shown: data.decode("utf-8", "replace")}
        for shown, data in _read_contents(roots, path, saltenv)
        if b"\0" not in data[:8192]
    ]


def _write_file(roots: Roots, data: str, path: str, saltenv: str, index: int) -> str:
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
