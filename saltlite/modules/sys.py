"""What functions there are, and how they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from typing import Any

from saltlite.context import MinionContext
from saltlite.loader import catalogue
from saltlite.loader.catalogue import RETURNERS, RUNNERS, STATES, Kind
from saltlite.loader.function import documentation, is_user_function
from saltlite.loader.registry import argspec as spec_of
from saltlite.loader.registry import builtin_source

# --- execution modules ---------------------------------------------------------------------------


def list_modules(ctx: MinionContext, *args: str) -> list[str]:
    """The names of all modules, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_modules 's*'
    """
    return _module_names((name for name in ctx.functions.names()), args)


def list_functions(ctx: MinionContext, *args: str, **kwargs: Any) -> list[str]:
    """The names of all functions, or of those of some modules, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_functions sys
        salt '*' sys.list_functions 'sys.list_*'
    """
    return _find_matching(ctx.functions.names(), args)


def doc(ctx: MinionContext, *args: str) -> dict[str, str | None]:
    """The documentation of all functions, of some, of modules, or of those that fit a glob.

    CLI Example:

        salt '*' sys.doc network.traceroute user.info
    """
    names = _find_matching(ctx.functions.names(), args)
    return {name: _without_markup(ctx.functions.doc(name)) for name in names}


def argspec(ctx: MinionContext, module: str = "") -> dict[str, Any]:
    """How functions are called: names and defaults of their arguments.

    CLI Example:

        salt '*' sys.argspec pkg.install
    """
    names = _find_matching(ctx.functions.names(), [module] if module else [])
    return {name: ctx.functions.argspec(name) for name in names}


def reload_modules(
    ctx: MinionContext, initial_load: bool = False, context: dict[str, Any] | None = None
) -> None:
    """Read changed modules again.

    CLI Example:

        salt '*' sys.reload_modules
    """
    ctx.functions.reload()


# --- states --------------------------------------------------------------------------------------


def list_state_modules(ctx: MinionContext, *args: str) -> list[str]:
    """The names of all state modules, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_state_modules 'mysql_*'
    """
    return _module_names(_list_states(ctx), args)


def list_state_functions(ctx: MinionContext, *args: str, **kwargs: Any) -> list[str]:
    """The names of all state functions, of those of some modules, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_state_functions file pkg
    """
    return _find_matching(sorted(_list_states(ctx)), args)


def state_doc(ctx: MinionContext, *args: str) -> dict[str, str | None]:
    """The documentation of states: of their modules, and of their functions.

    CLI Example:

        salt '*' sys.state_doc service.running
    """
    functions = _list_states(ctx)
    found: dict[str, str | None] = {}
    for name in _find_matching(sorted(functions), args):
        module = name.partition(".")[0]
        if module not in found:
            found[module] = _without_markup(_module_doc(ctx, STATES, module))
        found[name] = _docstring_of(functions[name])
    return found


def state_argspec(ctx: MinionContext, module: str = "") -> dict[str, Any]:
    """How state functions are called.

    CLI Example:

        salt '*' sys.state_argspec pkg.installed
    """
    return _collect_specs(_list_states(ctx), module)


# --- returners, runners, renderers ---------------------------------------------------------------


def list_returners(ctx: MinionContext, *args: str) -> list[str]:
    """The names of all returners, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_returners 's*'
    """
    return _module_names(_list_returners(ctx), args)


def list_returner_functions(ctx: MinionContext, *args: str, **kwargs: Any) -> list[str]:
    """The names of all functions of returners, of some, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_returner_functions local
    """
    return _find_matching(sorted(_list_returners(ctx)), args)


def returner_doc(ctx: MinionContext, *args: str) -> dict[str, str | None]:
    """The documentation of returners.

    CLI Example:

        salt '*' sys.returner_doc local.returner
    """
    return _collect_docs(_list_returners(ctx), args)


def returner_argspec(ctx: MinionContext, module: str = "") -> dict[str, Any]:
    """How the functions of returners are called.

    CLI Example:

        salt '*' sys.returner_argspec local
    """
    return _collect_specs(_list_returners(ctx), module)


def list_runners(ctx: MinionContext, *args: str) -> list[str]:
    """The names of all runners, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_runners 'm*'
    """
    return _module_names(_list_runners(ctx), args)


def list_runner_functions(ctx: MinionContext, *args: str, **kwargs: Any) -> list[str]:
    """The names of all functions of runners, of some, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_runner_functions state
    """
    return _find_matching(sorted(_list_runners(ctx)), args)


def runner_doc(ctx: MinionContext, *args: str) -> dict[str, str | None]:
    """The documentation of runners.

    CLI Example:

        salt '*' sys.runner_doc cache.grains
    """
    return _collect_docs(_list_runners(ctx), args)


def runner_argspec(ctx: MinionContext, module: str = "") -> dict[str, Any]:
    """How runners are called.

    CLI Example:

        salt '*' sys.runner_argspec state
    """
    return _collect_specs(_list_runners(ctx), module)


def list_renderers(ctx: MinionContext, *args: str) -> list[str]:
    """The names of all renderers, or of those that fit a glob.

    CLI Example:

        salt '*' sys.list_renderers 'yaml*'
    """
    return _module_names(_list_renderers(ctx), args)


def renderer_doc(ctx: MinionContext, *args: str) -> dict[str, str | None]:
    """The documentation of renderers.

    CLI Example:

        salt '*' sys.renderer_doc jinja
    """
    found = _list_renderers(ctx)
    return {name.partition(".")[0]: text for name, text in _collect_docs(found, args).items()}


# --- what there is -------------------------------------------------------------------------------


def _list_states(ctx: MinionContext) -> dict[str, Callable[..., Any]]:
    from saltlite.loader.states import functions

    ours = {
        f"{module}.{name}": _strip_context(call)
        for module in STATES
        for name, call in functions(module).items()
    }
    return ours | _of_users(ctx, STATES)


def _list_returners(ctx: MinionContext) -> dict[str, Callable[..., Any]]:
    return _of_ours(RETURNERS) | _of_users(ctx, RETURNERS)


def _list_runners(ctx: MinionContext) -> dict[str, Callable[..., Any]]:
    return _of_ours(RUNNERS)


def _list_renderers(ctx: MinionContext) -> dict[str, Callable[..., Any]]:
    """Each renderer under the name of its one function, ``<name>.render``."""
    places = catalogue.RENDERERS.modules()
    ours = {f"{name}.render": vars(import_module(places[name]))["render"] for name in places}
    return ours | _of_users(ctx, catalogue.RENDERERS)


def _of_ours(kind: Kind) -> dict[str, Callable[..., Any]]:
    """All functions of a kind that come with saltlite, by Salt's names."""
    found: dict[str, Callable[..., Any]] = {}
    for name, place in kind.modules().items():
        source = builtin_source(name, import_module(place))
        found |= {f"{name}.{each}": _strip_context(call) for each, call in source.functions.items()}
    return found


def _of_users(ctx: MinionContext, kind: Kind) -> dict[str, Callable[..., Any]]:
    """All functions of a kind that users wrote, by Salt's names."""
    if not catalogue.has_custom_code(ctx.config, kind.name):
        return {}
    theirs = _load_users(ctx, kind.name)
    return {name: theirs.resolve(name).call for name in theirs.names()}


def _strip_context(call: Callable[..., Any]) -> Callable[..., Any]:
    """The function without the context that its callers do not see."""
    names = call.__code__.co_varnames[:1]
    return partial(call, None) if names == ("ctx",) else call


def _load_users(ctx: MinionContext, kind: str) -> Any:
    from saltlite.loader.surroundings import surroundings

    return surroundings(ctx).modules(kind)


def _module_doc(ctx: MinionContext, kind: Kind, module: str) -> str | None:
    custom = catalogue.has_custom_code(ctx.config, kind.name)
    theirs = _load_users(ctx, kind.name).source(module) if custom else None
    if theirs is not None:
        text: str | None = theirs.doc
        return text
    loaded = kind.load(module)
    return None if loaded is None else loaded.__doc__


# --- how it is shown -----------------------------------------------------------------------------


def _collect_docs(
    functions: Mapping[str, Callable[..., Any]], wanted: Iterable[str]
) -> dict[str, str | None]:
    return {
        name: _docstring_of(functions[name]) for name in _find_matching(sorted(functions), wanted)
    }


def _collect_specs(functions: Mapping[str, Callable[..., Any]], module: str) -> dict[str, Any]:
    names = _find_matching(sorted(functions), [module] if module else [])
    return {name: spec_of(functions[name]) for name in names}


def _docstring_of(call: Callable[..., Any]) -> str | None:
    raw = call.func.__doc__ if isinstance(call, partial) else call.__doc__
    return _without_markup(raw if is_user_function(call) else documentation(raw))


_MARKUP = (
    (r"(?m)^ *\.\. code-block:: \w+\n(?: *\n)*", ""),
    (r"(?m)^( *)\.\. versionadded:: +", r"\1New in version "),
    (r"(?m)^( *)\.\. versionchanged:: +", r"\1Changed in version "),
)
"""Marks of Salt's own manual and what its users see instead."""


def _without_markup(text: str | None) -> str | None:
    if text is None or ".. " not in text:
        return text
    import re

    for pattern, words in _MARKUP:
        text = re.sub(pattern, words, text)
    return text


def _module_names(names: Iterable[str], globs: Iterable[str]) -> list[str]:
    wanted = list(globs)
    modules = {name.partition(".")[0] for name in names}
    return sorted(
        name for name in modules if not wanted or any(fnmatchcase(name, glob) for glob in wanted)
    )


def _find_matching(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    patterns = [str(pattern) for pattern in wanted]
    return [
        name
        for name in names
        if not patterns or any(_matches_pattern(name, each) for each in patterns)
    ]


def _matches_pattern(name: str, pattern: str) -> bool:
    if "*" in pattern or "?" in pattern:
        return fnmatchcase(name, pattern)
    return name == pattern or name.startswith(f"{pattern}.")
