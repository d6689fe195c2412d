"""What functions there are, and how they are called."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from saltlite.context import MinionContext


def list_modules(ctx: MinionContext, *args: str) -> list[str]:
    """The names of all modules, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_modules 's*'
    """
    modules = {name.partition(".")[0] for name in ctx.functions.names()}
    return sorted(
        name for name in modules if not args or any(fnmatchcase(name, glob) for glob in args)
    )


def list_functions(ctx: MinionContext, *args: str, **kwargs: Any) -> list[str]:
    """The names of all functions, or of those of some modules, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_functions sys
        salt '*' sys.list_functions 'sys.list_*'
    """
    return _fitting(ctx.functions.names(), args)


def doc(ctx: MinionContext, *args: str) -> dict[str, str | None]:
    """The documentation of all functions, of some, of modules, or of those that fit a glob.

    CLI Example:

        salt '*' sys.doc network.traceroute user.info
    """
    names = _fitting(ctx.functions.names(), args)
    return {name: text for name in names if (text := ctx.functions.doc(name))}


def argspec(ctx: MinionContext, module: str = "") -> dict[str, Any]:
    """How functions are called: names and defaults of their arguments.

    CLI Example:

        salt '*' sys.argspec pkg.install
    """
    names = _fitting(ctx.functions.names(), [module] if module else [])
    return {name: ctx.functions.argspec(name) for name in names}


def reload_modules(
    ctx: MinionContext, initial_load: bool = False, context: dict[str, Any] | None = None
) -> None:
    """Read changed modules again.

    CLI Example:

        salt '*' sys.reload_modules
    """
    ctx.functions.reload()


def _fitting(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    patterns = [str(pattern) for pattern in wanted]
    return [name for name in names if not patterns or any(_fits(name, each) for each in patterns)]


def _fits(name: str, pattern: str) -> bool:
    if "*" in pattern or "?" in pattern:
        return fnmatchcase(name, pattern)
    return name == pattern or name.startswith(f"{pattern}.")
