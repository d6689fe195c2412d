"""What templates and Python renderers find under ``salt``, ``opts`` and the names of the file."""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from saltlite.context import MinionContext
from saltlite.errors import FunctionUnavailable

T = TypeVar("T")

_OPTS = "saltlite.templates.opts"

MORE_OPTS = "saltlite.templates.more_opts"
"""In a context's state: options that templates have, and functions have not."""

QUOTE_ALL = "saltlite.templates.quote_all"
"""In a context's ``state``: what its templates print is to be quoted (``templates/quoting.py``)."""


class SaltFunctions(Mapping[str, Callable[..., Any]]):
    """Execution functions as templates call them.

    ``salt['m.f']``, ``salt['m']['f']`` and ``salt.m.f`` are the same function. As a mapping it has
    the full names only, as in Salt.
    """

    def __init__(self, ctx: MinionContext) -> None:
        self._ctx = ctx

    def __getitem__(self, name: str) -> Any:
        module, dot, function = name.partition(".")
        only = self._ctx.config.modules.whitelist_modules  # holds for templates as for jobs
        if only and module not in only:
            raise KeyError(name)
        try:
            functions = self._ctx.functions.source(module).functions
        except FunctionUnavailable:
            raise KeyError(name) from None
        if not dot:
            return SaltModule(self, module)
        if function not in functions:
            raise KeyError(name)
        return SaltFunction(self._ctx, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or "." not in name:
            return False
        try:
            self[name]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._ctx.functions.names() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class SaltFunction:
    """One function. It can be called and has nothing else that a template could reach."""

    __slots__ = ("__ctx", "__name")

    def __init__(self, ctx: MinionContext, name: str) -> None:
        self.__ctx = ctx
        self.__name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return self.__ctx.functions.call(self.__name, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<LoadedFunc name={self.__name!r}>"


class SaltModule:
    """The functions of one module, by ``[name]`` or as attributes."""

    def __init__(self, functions: SaltFunctions, module: str) -> None:
        self._functions = functions
        self._module = module

    def __getitem__(self, name: str) -> Any:
        return self._functions[f"{self._module}.{name}"]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __contains__(self, name: object) -> bool:
        return f"{self._module}.{name}" in self._functions


def keep(ctx: MinionContext, name: str, make: Callable[[MinionContext], T]) -> T:
    """What ``make`` gives; made anew when configuration, grains or pillar is another."""
    of = (ctx.config, ctx.grains, ctx.pillar)
    found = ctx.state.get(name)
    if found is None or any(old is not new for old, new in zip(found[0], of, strict=True)):
        found = ctx.state[name] = (of, make(ctx))
    made: T = found[1]
    return made


def opts_of(ctx: MinionContext) -> dict[str, Any]:
    """The flat options with ``grains`` and ``pillar``."""
    return keep(ctx, _OPTS, _template_opts)


def _template_opts(ctx: MinionContext) -> dict[str, Any]:
    from saltlite.config.opts import flat_opts

    return {
        **flat_opts(ctx.config),
        **ctx.state.get(MORE_OPTS, {}),
        "__cli": os.path.basename(sys.argv[0]),
        "grains": ctx.grains,
        "pillar": ctx.pillar,
    }


def file_names(sls: str, path: str, name: str = "") -> dict[str, str]:
    """The variables that say which file is being rendered.

    ``path`` is the file itself (``tplpath``), ``name`` its path below the root of its environment,
    which ``tplfile`` and ``tpldir`` tell; without a name they come from ``sls``. Source: observed
    on Salt 3006.30.
    """
    file = name or _file_of(sls, path)
    directory = posixpath.dirname(file)
    slspath = directory if sls else ""
    return {
        "tplpath": path,
        "tplfile": file,
        "tpldir": directory or ".",
        "tpldot": directory.replace("/", "."),
        "slspath": slspath,
        "slsdotpath": slspath.replace("/", "."),
        "slscolonpath": slspath.replace("/", ":"),
        "sls_path": slspath.replace("/", "_"),
    }


def _file_of(sls: str, path: str) -> str:
    if not sls:
        return ""
    below = sls.replace(".", "/")
    if path.endswith(f"{below}/init.sls"):
        return f"{below}/init.sls"
    return f"{below}.sls"
