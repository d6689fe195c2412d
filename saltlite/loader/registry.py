"""From ``module.function`` to something that can be called.

The minion, ``salt-call`` and functions that call functions ask here. A name is looked up in the
catalogue of built-in modules and only the module it belongs to is imported. Modules of users are
consulted first, in :meth:`Registry._find_source`; where there are none, that is a look at one
directory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from saltlite.context import ModuleFunctions
from saltlite.errors import FunctionUnavailable
from saltlite.loader import catalogue
from saltlite.loader.builtin import NAMED_OTHERWISE, functions_of, public_name
from saltlite.loader.catalogue import MODULES, PROVIDERS
from saltlite.loader.function import Function

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.loader.user import UserModules

CONTEXT = "ctx"
"""The name of a first parameter that the registry fills in."""


def with_functions(ctx: MinionContext) -> MinionContext:
    """The context itself, now with the functions that can be called in it: the end of each making.

    A context and its registry belong to one another for good: functions are found, loaded and bound
    for its configuration, and what they keep in ``state`` is of that configuration too. Whoever
    wants another configuration makes another context; ``grains`` and ``pillar`` may be exchanged at
    any time, and the option ``test``, which nothing is found by. Nothing is imported or looked for
    before the first call.
    """
    ctx.functions = Registry(ctx)
    return ctx


class Registry:
    """The functions that one context can call; :func:`with_functions` makes it."""

    def __init__(self, ctx: MinionContext) -> None:
        self._ctx = ctx
        self._sources: dict[str, ModuleFunctions] = {}
        self._user: UserModules | None = None
        self._user_known = False

    def resolve(self, name: str) -> Function:
        """The function ``module.function``.

        Raises:
            FunctionUnavailable: there is none.
        """
        module, _, function = name.partition(".")
        source = self._find_source(module)
        found = source.functions.get(function) if source is not None else None
        if source is None or found is None:
            raise FunctionUnavailable(name, self._find_refusal(module) if source is None else None)
        return Function(
            name=name,
            call=partial(found, self._ctx) if takes_context(found) else found,
            text=found.__doc__,
            outputter=source.outputters.get(function),
        )

    def get_offered(self, name: str) -> Function:
        """The function ``module.function``, for a call from outside: ``whitelist_modules`` counts.

        Templates ask for themselves; as in Salt, functions and states may call any module.

        Raises:
            FunctionUnavailable: there is none, or its module is not on the list.
        """
        only = self._ctx.config.modules.whitelist_modules
        if only and name.partition(".")[0] not in only:
            raise FunctionUnavailable(name)
        return self.resolve(name)

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call ``module.function``; raises FunctionUnavailable."""
        return self.resolve(name).call(*args, **kwargs)

    def find_replacement(self, function: Callable[..., Any] | str) -> Callable[..., Any] | None:
        """What users have in the place of one of our public functions; ``None`` if nothing.

        Of a function that a provider does the work of, the name (``file.line``) will do.

        Raises:
            FunctionUnavailable: a user's file stands in the place of ours, without the function.
        """
        if self._user_modules() is None:
            return None
        name = function
        if not isinstance(name, str):
            module = name.__module__.split(".")[2]  # saltlite.modules.<module>[.<part>]
            name = f"{module}.{public_name(name.__name__)}"
        found = self.resolve(name).call
        inner = found.func if isinstance(found, partial) else found
        is_ours = (getattr(inner, "__module__", None) or "").startswith("saltlite.modules.")
        return None if is_ours else found

    def modules(self) -> list[str]:
        """Salt's names of all modules, sorted. Loads all that users wrote."""
        user = self._user_modules()
        names = set(MODULES) if user is None else {*MODULES, *user.modules()}
        return sorted(name for name in names if self._find_source(name) is not None)

    def names(self) -> list[str]:
        """All ``module.function`` names, sorted."""
        return sorted(
            f"{module}.{function}"
            for module in self.modules()
            for function in self.source(module).functions
        )

    def source(self, module: str) -> ModuleFunctions:
        """A module by Salt's name of it.

        Raises:
            FunctionUnavailable: there is none.
        """
        source = self._find_source(module)
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
        if self._user is not None:
            from saltlite.loader.surroundings import surroundings

            surroundings(self._ctx).forget()
        self._user, self._user_known = None, False

    def _find_source(self, module: str) -> ModuleFunctions | None:
        if module in self._sources:
            return self._sources[module]
        source = self._load_source(module) if self._is_allowed(module) else None
        if source is not None:
            self._sources[module] = source
        return source

    def _is_allowed(self, module: str) -> bool:
        """Whether ``disable_modules`` leaves a module: its name counts, and its file's."""
        off = self._ctx.config.modules.disable_modules
        return not off or not (module in off or self._salt_file(module) in off)

    def _salt_file(self, module: str) -> str:
        """The name of the file in Salt that has a module of ours; of others their own name."""
        return NAMED_OTHERWISE.get(module, module) or _backend_of(module, self._ctx)

    def _load_source(self, module: str) -> ModuleFunctions | None:
        """The user's module, ours, or both where their files do not have the same name in Salt."""
        user = self._user_modules()
        theirs = user.source(module) if user is not None else None
        loaded = None if self._is_hidden(module) else MODULES.load(module)
        if loaded is None:
            return theirs
        ours = builtin_source(module, loaded)
        return ours if theirs is None else _join_sources(theirs, ours)

    def _is_hidden(self, module: str) -> bool:
        """Whether a user's file stands in the place of ours, working or not.

        As in Salt a file replaces the whole of one with the same name; to one that only says the
        same name it adds its functions. Source: observed on Salt 3006.30.
        """
        user = self._user_modules()
        return user is not None and user.has_file(self._salt_file(module))

    def _find_refusal(self, module: str) -> str | None:
        user = self._user_modules()
        return user.refusal(module) if user is not None and self._is_allowed(module) else None

    def _user_modules(self) -> UserModules | None:
        """The modules that users wrote, ``None`` if there are none: nothing is imported then."""
        if not self._user_known:
            if catalogue.has_custom_code(self._ctx.config, "modules"):
                from saltlite.loader.surroundings import surroundings

                self._user = surroundings(self._ctx).modules("modules")
            self._user_known = True
        return self._user


def _backend_of(module: str, ctx: MinionContext) -> str:
    """Salt's name of the back end that serves a module here, which its kind of providers knows."""
    kind: Any = PROVIDERS.load(module)
    return "" if kind is None else str(kind.salt_file(ctx))


def _join_sources(first: ModuleFunctions, second: ModuleFunctions) -> ModuleFunctions:
    """Both modules in one; what both have is of the first."""
    return ModuleFunctions(
        name=first.name,
        path=first.path,
        doc=first.doc or second.doc,
        functions={**second.functions, **first.functions},
        outputters={**second.outputters, **first.outputters},
    )


def builtin_source(name: str, module: ModuleType) -> ModuleFunctions:
    """The functions of one of our own modules, by Salt's names."""
    return ModuleFunctions(
        name=name,
        path=module.__name__.rpartition(".")[2],
        doc=module.__doc__,
        functions=functions_of(module),
        outputters=getattr(module, "OUTPUTTERS", {}),
    )


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether a context is to be filled in as its first argument."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_argcount > 0 and code.co_varnames[0] == CONTEXT


def argspec(function: Callable[..., Any]) -> dict[str, Any]:
    """How a function is called, in the words of ``sys.argspec``: absent is ``None``."""
    import inspect  # which takes longer to load than most functions take

    parameters = inspect.signature(function).parameters.values()
    positional = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    kinds = {each.kind for each in parameters}
    defaults = [each.default for each in positional if each.default is not each.empty]
    return {
        "args": [each.name for each in positional] or None,
        "defaults": defaults or None,
        "varargs": True if inspect.Parameter.VAR_POSITIONAL in kinds else None,
        "kwargs": True if inspect.Parameter.VAR_KEYWORD in kinds else None,
    }
