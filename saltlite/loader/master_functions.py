"""Runners and wheel functions by name. Only the module that is asked for is imported.

Users' own runners (``runner_dirs``, ``salt://_runners``) go before ours.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionUnavailable
from saltlite.loader import catalogue
from saltlite.loader.builtin import functions_of
from saltlite.loader.catalogue import RUNNERS, WHEELS, Kind
from saltlite.loader.function import documentation
from saltlite.loader.registry import takes_context
from saltlite.loader.signature import fits
from saltlite.runner_context import RunnerContext


@dataclass(frozen=True, slots=True)
class Runner:
    """A runner or wheel function that is ready to be called."""

    name: str
    call: Callable[..., Any]
    doc: str


class MasterFunctions:
    """All functions of one kind, runners or wheel functions."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def resolve(self, name: str, ctx: RunnerContext) -> Runner:
        """The function ``module.function``.

        Raises:
            FunctionUnavailable: there is none.
        """
        module, _, function = name.partition(".")
        found = self._of_users(name, ctx)
        if found is not None:
            return Runner(name, found, found.__doc__ or "")
        ours = self._load_functions(module).get(function)
        if ours is None:
            raise FunctionUnavailable(name)
        call = partial(ours, ctx) if takes_context(ours) else ours
        return Runner(name, call, documentation(ours.__doc__) or "")

    def suggest(self, name: str) -> str:
        """What was meant by a name that is none of ours; only modules like it are imported."""
        from difflib import get_close_matches

        module, _, function = name.partition(".")
        if module in self._kind and not function:
            return f" {module} is a module; -d {module} lists its functions."
        near = [module, *get_close_matches(module, list(self._kind), n=2, cutoff=0.6)]
        known = [
            f"{each}.{one}" for each in dict.fromkeys(near) for one in self._load_functions(each)
        ]
        close = get_close_matches(name, known, n=1, cutoff=0.75)
        return f" Did you mean '{close[0]}'?" if close else ""

    def docs(self, wanted: Sequence[str] = (), ctx: RunnerContext | None = None) -> dict[str, str]:
        """Documentation by name: of everything, or of the named modules and functions.

        With a context, users' own are there too.
        """
        found = dict(self._all_docs())
        if ctx is not None and catalogue.has_custom_code(ctx.config, self._kind.name):
            theirs = _user_modules(ctx, self._kind.name)
            found |= {name: theirs.resolve(name).call.__doc__ or "" for name in theirs.names()}
        return {
            name: doc
            for name, doc in sorted(found.items())
            if not wanted or any(name == one or name.startswith(f"{one}.") for one in wanted)
        }

    def _of_users(self, name: str, ctx: RunnerContext) -> Callable[..., Any] | None:
        if not catalogue.has_custom_code(ctx.config, self._kind.name):
            return None
        found: Callable[..., Any] | None = _user_modules(ctx, self._kind.name).get(name)
        return found

    def _all_docs(self) -> Iterator[tuple[str, str]]:
        for module in self._kind:
            for function, found in self._load_functions(module).items():
                yield f"{module}.{function}", documentation(found.__doc__) or ""

    def _load_functions(self, module: str) -> Mapping[str, FunctionType]:
        loaded = self._kind.load(module)
        return {} if loaded is None else functions_of(loaded)


class RunnerFunctions:
    """What users' runners find in ``__salt__``: all runners."""

    def __init__(self, ctx: RunnerContext) -> None:
        self._ctx = ctx

    def resolve(self, name: str) -> Runner:
        """The runner ``module.function``; raises FunctionUnavailable."""
        return resolve(name, self._ctx)

    def names(self) -> list[str]:
        """The names of all runners, sorted."""
        return sorted(docs(ctx=self._ctx))


_RUNNERS: Final = MasterFunctions(RUNNERS)
_WHEELS: Final = MasterFunctions(WHEELS)


def resolve(name: str, ctx: RunnerContext) -> Runner:
    """The runner ``module.function``.

    Raises:
        FunctionUnavailable: there is none.
    """
    return _RUNNERS.resolve(name, ctx)


def docs(wanted: Sequence[str] = (), ctx: RunnerContext | None = None) -> dict[str, str]:
    """Documentation by name: of everything, or of the named modules and functions."""
    return _RUNNERS.docs(wanted, ctx)


def suggest(name: str) -> str:
    """A sentence with the runner that was meant by a name that is none; empty without one."""
    return _RUNNERS.suggest(name)


def resolve_wheel(name: str, ctx: RunnerContext) -> Runner:
    """The wheel function ``module.function``.

    Raises:
        FunctionUnavailable: there is none.
    """
    return _WHEELS.resolve(name, ctx)


def wheel_docs(wanted: Sequence[str] = ()) -> dict[str, str]:
    """Documentation of wheel functions by name, as :func:`docs`."""
    return _WHEELS.docs(wanted)


def call(runner: Runner, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
    """Call a runner.

    Raises:
        TypeError: it does not take these arguments; the text is Python's.
    """
    return runner.call(*args, **kwargs)


def wrong_arguments(
    runner: Runner, args: Sequence[object], kwargs: Mapping[str, object]
) -> str | None:
    """What is wrong with the arguments, in Salt's words; ``None`` if nothing is."""
    if fits(runner.call, args, kwargs):
        return None
    try:
        inspect.signature(runner.call).bind(*args, **kwargs)
    except TypeError as error:
        function = runner.name.rpartition(".")[2]
        return f"{function}() {_python_words(str(error), runner)}{_suggest_keyword(runner, kwargs)}"
    return None


def _suggest_keyword(runner: Runner, kwargs: Mapping[str, object]) -> str:
    from difflib import get_close_matches

    taken = inspect.signature(runner.call).parameters
    for key in kwargs:
        close = get_close_matches(key, list(taken), n=1) if key not in taken else ()
        if close:
            return f"; did you mean '{close[0]}'?"
    return ""


def _user_modules(ctx: RunnerContext, kind: str) -> Any:
    from saltlite.loader.surroundings import surroundings

    return surroundings(ctx).modules(kind)


def _python_words(text: str, runner: Runner) -> str:
    """As Python says it when a function is called: all missing arguments at once."""
    if not text.startswith("missing a required"):
        return text
    parameters = inspect.signature(runner.call).parameters.values()
    missing = [
        repr(one.name)
        for one in parameters
        if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    many = "s" if len(missing) != 1 else ""
    names = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
    return f"missing {len(missing)} required positional argument{many}: {names}"
