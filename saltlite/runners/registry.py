"""Runners and wheel functions by name. Only the module that is asked for is imported.

Users' own runners (``runner_dirs``, ``salt://_runners``) go before ours.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any, Final

from saltlite.errors import FunctionUnavailable
from saltlite.loader import places
from saltlite.loader.builtin import functions_of
from saltlite.loader.registry import documentation, takes_context
from saltlite.runners.context import RunnerContext


@dataclass(frozen=True, slots=True)
class Runner:
    """A runner or wheel function that is ready to be called."""

    name: str
    call: Callable[..., Any]
    doc: str


class Catalogue:
    """All functions of one kind.

    ``table``: Salt's name of a module → ours, so that no name that is asked for reaches an import.
    ``users`` is what the directories of users' own are called.
    """

    def __init__(self, users: str, table: Mapping[str, str]) -> None:
        self.users = users
        self.table = table

    def resolve(self, name: str, ctx: RunnerContext) -> Runner:
        """The function ``module.function``.

        Raises:
            FunctionUnavailable: there is none.
        """
        module, _, function = name.partition(".")
        found = self._of_users(name, ctx)
        if found is not None:
            return Runner(name, found, found.__doc__ or "")
        ours = self._functions(module).get(function) if module in self.table else None
        if ours is None:
            raise FunctionUnavailable(name)
        call = partial(ours, ctx) if takes_context(ours) else ours
        return Runner(name, call, documentation(ours.__doc__) or "")

    def docs(self, wanted: Sequence[str] = (), ctx: RunnerContext | None = None) -> dict[str, str]:
        """Documentation by name: of everything, or of the named modules and functions.

        With a context, users' own are there too.
        """
        found = dict(self._all_docs())
        if ctx is not None and not places.is_empty(ctx.config, self.users):
            theirs = _user_modules(ctx, self.users)
            found |= {name: theirs.resolve(name).call.__doc__ or "" for name in theirs.names()}
        return {
            name: doc
            for name, doc in sorted(found.items())
            if not wanted or any(name == one or name.startswith(f"{one}.") for one in wanted)
        }

    def _of_users(self, name: str, ctx: RunnerContext) -> Callable[..., Any] | None:
        if places.is_empty(ctx.config, self.users):
            return None
        found: Callable[..., Any] | None = _user_modules(ctx, self.users).get(name)
        return found

    def _all_docs(self) -> Iterator[tuple[str, str]]:
        for module in self.table:
            for function, found in self._functions(module).items():
                yield f"{module}.{function}", documentation(found.__doc__) or ""

    def _functions(self, module: str) -> Mapping[str, FunctionType]:
        return functions_of(importlib.import_module(self.table[module]))


class RunnerFunctions:
    """What users' runners find in ``__salt__``: all runners."""

    def __init__(self, ctx: RunnerContext) -> None:
        self._ctx = ctx

    def resolve(self, name: str) -> Runner:
        """The runner ``module.function``; raises FunctionUnavailable."""
        return resolve(name, self._ctx)

    def names(self) -> list[str]:
        """The names of all runners, sorted."""
        return sorted(RUNNERS.docs(ctx=self._ctx))


RUNNERS: Final = Catalogue(
    "runners",
    {
        name: f"saltlite.runners.{name}"
        for name in (
            "cache",
            "check",
            "config",
            "doc",
            "error",
            "event",
            "fileserver",
            "jobs",
            "manage",
            "match",
            "mine",
            "network",
            "pillar",
            "salt",
            "saltutil",
            "state",
            "survey",
            "test",
        )
    },
)


def resolve(name: str, ctx: RunnerContext) -> Runner:
    """The runner ``module.function``.

    Raises:
        FunctionUnavailable: there is none.
    """
    return RUNNERS.resolve(name, ctx)


def docs(wanted: Sequence[str] = (), ctx: RunnerContext | None = None) -> dict[str, str]:
    """Documentation by name: of everything, or of the named modules and functions."""
    return RUNNERS.docs(wanted, ctx)


def call(runner: Runner, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a runner.

    Raises:
        TypeError: it does not take these arguments; the text is Python's.
    """
    return runner.call(*args, **kwargs)


def wrong_arguments(runner: Runner, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments, in Salt's words; ``None`` if nothing is."""
    try:
        inspect.signature(runner.call).bind(*args, **kwargs)
    except TypeError as error:
        function = runner.name.rpartition(".")[2]
        return f"{function}() {_python_words(str(error), runner)}"
    return None


def _user_modules(ctx: RunnerContext, kind: str) -> Any:
    from saltlite.loader.dunders import surroundings

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
