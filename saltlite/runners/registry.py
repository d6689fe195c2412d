"""Runners by name. Only the module that is asked for is imported."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MappingProxyType
from typing import Any

from saltlite.errors import FunctionUnavailable
from saltlite.runners.context import RunnerContext

RUNNERS: Mapping[str, str] = MappingProxyType(
    {name: f"saltlite.runners.{name}" for name in ("config", "jobs", "manage", "state", "test")}
)
"""Salt's name → module. A table, so that no name reaches an import."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A runner that is ready to be called."""

    name: str
    call: Callable[..., Any]
    doc: str


def resolve(name: str, ctx: RunnerContext) -> Runner:
    """The runner ``module.function``.

    Raises:
        FunctionUnavailable: there is none.
    """
    module, _, function = name.partition(".")
    found = _functions(module).get(function) if module in RUNNERS else None
    if found is None:
        raise FunctionUnavailable(name)
    takes_context = found.__code__.co_varnames[:1] == ("ctx",)
    return Runner(name, partial(found, ctx) if takes_context else found, _doc(found))


def docs(wanted: Sequence[str] = ()) -> dict[str, str]:
    """Documentation by name: of everything, or of the named modules and functions."""
    return {
        name: doc
        for name, doc in _all_docs()
        if not wanted or any(name == one or name.startswith(f"{one}.") for one in wanted)
    }


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


def _all_docs() -> Iterator[tuple[str, str]]:
    for module in sorted(RUNNERS):
        for function, found in sorted(_functions(module).items()):
            yield f"{module}.{function}", _doc(found)


def _functions(module: str) -> dict[str, FunctionType]:
    loaded = importlib.import_module(RUNNERS[module])
    return {
        name.rstrip("_"): value
        for name, value in vars(loaded).items()
        if isinstance(value, FunctionType)
        and value.__module__ == loaded.__name__
        and not name.startswith("_")
    }


def _doc(function: FunctionType) -> str:
    """The docstring as Salt's tools show it: a line feed, the text indented by four."""
    text = inspect.cleandoc(function.__doc__ or "")
    lines = (f"    {line}" if line else "" for line in text.splitlines())
    return "\n" + "\n".join(lines) + "\n    "
