"""``pillar_roots.*``: the files below ``pillar_roots``."""

from __future__ import annotations

from typing import Any

from saltlite.runner_context import RunnerContext
from saltlite.wheel import _roots


def find(ctx: RunnerContext, path: str, saltenv: str = "base") -> list[dict[str, str]]:
    """Return where a file is, and whether it is text (``txt``) or not (``bin``).

    CLI Example:

        wheel.cmd("pillar_roots.find", ["top.sls"])
    """
    return _roots.find(ctx.config.pillar.pillar_roots, path, saltenv)


def list_env(ctx: RunnerContext, saltenv: str = "base") -> dict[str, Any]:
    """Return the files of an environment.

    CLI Example:

        wheel.cmd("pillar_roots.list_env", ["base"])
    """
    return _roots.list_env(ctx.config.pillar.pillar_roots, saltenv)


def list_roots(ctx: RunnerContext) -> dict[str, list[dict[str, Any]]]:
    """Return the files of all environments.

    CLI Example:

        wheel.cmd("pillar_roots.list_roots")
    """
    return _roots.list_roots(ctx.config.pillar.pillar_roots)


def read(ctx: RunnerContext, path: str, saltenv: str = "base") -> list[dict[str, str]]:
    """Return the text of a file in each root that has it.

    CLI Example:

        wheel.cmd("pillar_roots.read", ["top.sls"])
    """
    return _roots.read(ctx.config.pillar.pillar_roots, path, saltenv)


def write(ctx: RunnerContext, data: str, path: str, saltenv: str = "base", index: int = 0) -> str:
    """Write a file below a root of an environment, the first one unless ``index`` says else.

    CLI Example:

        wheel.cmd("pillar_roots.write", ["text", "a/file.sls"])
    """
    return _roots.write(ctx.config.pillar.pillar_roots, data, path, saltenv, index)
