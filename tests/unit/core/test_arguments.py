"""A function with a family of options is called as if it listed them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from saltlite.core.arguments import select_options, takes_options
from saltlite.core.dataclasses import dataclass, field
from saltlite.loader.registry import argspec
from saltlite.loader.signature import _inspect_parameters, keywords, misfit, required


@dataclass(frozen=True, slots=True, kw_only=True)
class Some:
    user: str | None = None
    quiet: bool = False
    level: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Any_:
    user: str | None = None
    kwargs: Mapping[str, object] = field(default_factory=dict)


def shown(options: Any, *own: object) -> str:
    return f"{options.user} {options.quiet} {options.level} {own}"


@takes_options(Some)
def everything(ctx: object, options: Some, /, cwd: str, name: str = "n") -> str:
    """Do it."""
    return shown(options, ctx, cwd, name)


def everything_listed(
    ctx: object,
    cwd: str,
    name: str = "n",
    user: str | None = None,
    quiet: bool = False,
    level: int = 1,
) -> str:
    return shown(Some(user=user, quiet=quiet, level=level), ctx, cwd, name)


@takes_options(Some, "quiet name user", quiet=True)
def mixed(options: Some, /, cwd: str, name: str = "n", **kwargs: Any) -> str:
    return shown(options, cwd, name, kwargs)


def mixed_listed(
    cwd: str, quiet: bool = True, name: str = "n", user: str | None = None, **kwargs: Any
) -> str:
    return shown(Some(user=user, quiet=quiet), cwd, name, kwargs)


@takes_options(Some, without="user level")
def only(options: Some, /) -> str:
    return shown(options)


def only_listed(quiet: bool = False) -> str:
    return shown(Some(quiet=quiet))


@takes_options(Any_)
def greedy(ctx: object, options: Any_, /, name: str) -> str:
    return f"{options.user} {options.kwargs} {ctx} {name}"


def greedy_listed(ctx: object, name: str, user: str | None = None, **kwargs: Any) -> str:
    return f"{user} {kwargs} {ctx} {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    options: str = "o"


@takes_options(Named)
def same_name(options: Named, /, cwd: str) -> str:
    return f"{options.options} {cwd}"


def same_name_listed(cwd: str, options: str = "o") -> str:
    return f"{options} {cwd}"


PAIRS = [
    (same_name, same_name_listed),
    (partial(everything, 0), partial(everything_listed, 0)),
    (mixed, mixed_listed),
    (only, only_listed),
    (partial(greedy, 0), partial(greedy_listed, 0)),
]
CALLS: list[tuple[tuple[object, ...], dict[str, object]]] = [
    ((), {}),
    (("a",), {}),
    (("a", "b"), {}),
    (("a", False, "c", "d"), {}),
    (("a", "b", "c", True, 5), {}),
    (tuple("abcdef"), {}),
    (("a",), {"quiet": True}),
    (("a",), {"name": "x", "user": "u"}),
    ((), {"cwd": "a", "user": "u"}),
    (("a",), {"other": 1}),
    (("a",), {"options": 1}),
    (("a",), {"cwd": "b"}),
    (("a", "b"), {"quiet": True}),
]


def outcome(call: Callable[..., str], args: Any, kwargs: Any) -> str:
    try:
        return call(*args, **kwargs)
    except TypeError as error:
        return misfit(error, call).replace("_listed", "")


@pytest.mark.parametrize("pair", PAIRS, ids=range(len(PAIRS)))
@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_it_is_called_as_one_that_lists_all(pair: Any, call: Any) -> None:
    ours, listed = pair
    assert outcome(ours, *call) == outcome(listed, *call)


@pytest.mark.parametrize("pair", PAIRS, ids=range(len(PAIRS)))
def test_it_looks_like_one_that_lists_all(pair: Any) -> None:
    ours, listed = pair
    assert inspect.signature(ours) == inspect.signature(listed)
    assert argspec(ours) == argspec(listed)
    assert keywords(ours) == _inspect_parameters(ours) == keywords(listed)
    assert required(ours) == required(listed)


def test_it_is_still_itself() -> None:
    assert (everything.__name__, everything.__module__) == ("everything", __name__)
    assert everything.__doc__ == "Do it."


def test_options_are_found_among_keywords() -> None:
    assert select_options(Some, {"user": "u", "other": 1}) == {"user": "u"}
