"""From ``module.function`` to something that can be called.

The minion, ``salt-call`` and functions that call functions ask here. A name is looked up in the
table of built-in modules and only the module it belongs to is imported. Modules of users are to be
consulted first, in :meth:`Registry._source`, once there is a loader for them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from saltlite.errors import FunctionUnavailable
from saltlite.loader.builtin import MODULES

if TYPE_CHECKING:
    from saltlite.context import MinionContext

CONTEXT = "ctx"
"""The name of a first parameter that the registry fills in."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that is ready to be called. ``outputter`` is ``None`` for the default one."""

    name: str
    call: Callable[..., Any]
    doc: str | None
    outputter: str | None


@dataclass(frozen=True, slots=True)
class Source:
    """The functions of one module, by Salt's names, and how their values are shown."""

    name: str
    path: str
    doc: str | None
    functions: Mapping[str, FunctionType]
    outputters: Mapping[str, str] = field(default_factory=dict)


class Registry:
    """The functions that one context can call."""

    def __init__(self, ctx: MinionContext) -> None:
        self._ctx = ctx
        self._sources: dict[str, Source] = {}

    def resolve(self, name: str) -> Function:
        """The function ``module.function``.

        Raises:
            FunctionUnavailable: there is none.
        """
        module, _, function = name.partition(".")
        source = self._source(module)
        found = source.functions.get(function) if source is not None else None
        if source is None or found is None:
            raise FunctionUnavailable(name)
        return Function(
            name=name,
            call=partial(found, self._ctx) if _takes_context(found) else found,
            doc=documentation(found.__doc__),
            outputter=source.outputters.get(function),
        )

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call ``module.function``; raises FunctionUnavailable."""
        return self.resolve(name).call(*args, **kwargs)

    def modules(self) -> list[str]:
        """Salt's names of all modules, sorted."""
        allowed = self._ctx.config.modules
        return sorted(
            name
            for name in MODULES
            if name not in allowed.disable_modules
            and (not allowed.whitelist_modules or name in allowed.whitelist_modules)
        )

    def names(self) -> list[str]:
        """All ``module.function`` names, sorted."""
        return sorted(
            f"{module}.{function}"
            for module in self.modules()
            for function in self.source(module).functions
        )

    def source(self, module: str) -> Source:
        """A module by Salt's name of it.

        Raises:
            FunctionUnavailable: there is none.
        """
        source = self._source(module)
        if source is None:
            raise FunctionUnavailable(module)
        return source

    def doc(self, name: str) -> str | None:
        """The docstring of ``module.function``, ``None`` without one or without the function."""
        try:
            return self.resolve(name).doc
        except FunctionUnavailable:
            return None

    def argspec(self, name: str) -> dict[str, Any]:
        """``{"args", "defaults", "varargs", "kwargs"}`` as ``sys.argspec`` shows a function.

        Raises:
            FunctionUnavailable: there is none.
        """
        return argspec(self.resolve(name).call)

    def reload(self) -> None:
        """Forget what was found, so that changed files are read again."""
        self._sources.clear()

    def _source(self, module: str) -> Source | None:
        if module in self._sources:
            return self._sources[module]
        if module not in MODULES or module not in self.modules():
            return None
        source = _builtin(module, importlib.import_module(MODULES[module]))
        self._sources[module] = source
        return source


def _builtin(name: str, module: ModuleType) -> Source:
    return Source(
        name=name,
        path=module.__name__.rpartition(".")[2],
        doc=documentation(module.__doc__),
        functions=dict(_public(module)),
        outputters=getattr(module, "OUTPUTTERS", {}),
    )


def _public(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """The functions that a module defines for others; what it imports is not among them."""
    for name, value in vars(module).items():
        if name.startswith("_") or not isinstance(value, FunctionType):
            continue
        if value.__module__ == module.__name__:
            yield name.removesuffix("_"), value


def _takes_context(function: FunctionType) -> bool:
    code = function.__code__
    return code.co_argcount > 0 and code.co_varnames[0] == CONTEXT


def documentation(text: str | None) -> str | None:
    """A docstring as Salt's tools show it: a line feed, the text indented by four, a line feed."""
    if not text:
        return None
    lines = inspect.cleandoc(text).splitlines()
    body = "\n".join(f"    {line}" if line else "" for line in lines)
    return f"\n{body}\n    "


def argspec(function: Callable[..., Any]) -> dict[str, Any]:
    """How a function is called, in the words of ``sys.argspec``: absent is ``None``."""
    parameters = inspect.signature(function).parameters.values()
    named = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    kinds = {each.kind for each in parameters}
    defaults = [each.default for each in named if each.default is not each.empty]
    return {
        "args": [each.name for each in named] or None,
        "defaults": defaults or None,
        "varargs": True if inspect.Parameter.VAR_POSITIONAL in kinds else None,
        "kwargs": True if inspect.Parameter.VAR_KEYWORD in kinds else None,
    }
