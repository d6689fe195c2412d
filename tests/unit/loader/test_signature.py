"""What a code object tells is what ``inspect`` tells."""

from __future__ import annotations

import functools
import inspect
import itertools
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from saltlite.loader.signature import _inspect_parameters, fits, keywords, misfit


def plain(a: int, b: int = 1, *rest: int, c: int, d: int = 2) -> None:
    local = a + b + c + d + len(rest)
    assert local


def greedy(a: int, /, b: int, **kwargs: Any) -> None:
    local = a
    assert local + b + len(kwargs)


@functools.wraps(plain)
def wrapper(*args: Any, **kwargs: Any) -> None:
    plain(*args, **kwargs)


class Called:
    def __call__(self, x: int, *, y: int = 0) -> None:
        """Do nothing."""

    def method(self, x: int) -> None:
        """Do nothing."""


FUNCTIONS = [
    plain, partial(plain, 1), partial(plain, 1, 2, 3), partial(partial(plain, 1), 2),
    partial(plain, b=3),
    greedy, partial(greedy, 1), wrapper, Called(), Called().method, subprocess.Popen, len,
    lambda: None, lambda *a, **k: (a, k),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_the_two_ways_agree(function: Callable[..., Any]) -> None:
    assert keywords(function) == _inspect_parameters(function)


def binds(function: Callable[..., Any], args: tuple[int, ...], kwargs: dict[str, int]) -> bool:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


CALLS = [
    ((0,) * count, dict.fromkeys(names, 0))
    for count in range(5)
    for length in range(4)
    for names in itertools.combinations(("a", "b", "c", "d", "local", "x"), length)
]


@pytest.mark.parametrize("function", FUNCTIONS[:-3], ids=range(len(FUNCTIONS) - 3))
def test_arguments_that_fit_are_those_that_can_be_bound(function: Callable[..., Any]) -> None:
    fitting = [call for call in CALLS if fits(function, *call)]
    assert [call for call in fitting if not binds(function, *call)] == []
    if function in (plain, *FUNCTIONS[1:4]):  # of these the code tells all
        assert fitting == [call for call in CALLS if binds(function, *call)] != []


def test_a_function_that_has_said_how_it_is_called_is_left_to_inspect() -> None:
    def silent(a: int) -> None:
        assert a

    silent.__signature__ = inspect.signature(lambda: None)  # type: ignore[attr-defined]
    assert not fits(silent, (), {})
    assert not fits(silent, (1,), {})


def test_names_of_locals_are_none_of_a_functions_keywords() -> None:
    assert keywords(plain) == ({"a", "b", "c", "d"}, False)
    assert keywords(partial(greedy, 1)) == ({"b"}, True)


def one(first: int) -> None:
    assert first


def two(ctx: object, value: object = 0) -> None:
    assert ctx == value


def any_number(ctx: object) -> None:
    assert ctx


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (one, [], "one() missing 1 required positional argument: 'first'"),
        (one, [1, 2], "one() takes 1 positional argument but 2 were given"),
        (partial(two, 0), [1, 2], "two() takes from 0 to 1 positional arguments but 2 were given"),
        (partial(any_number, 0), [1], "any_number() takes 0 positional arguments but 1 was given"),
        (partial(one), [1, 2, 3], "one() takes 1 positional argument but 3 were given"),
        (
            partial(lambda ctx: one(), 0),
            [],
            "one() missing 1 required positional argument: 'first'",
        ),
    ],
)
def test_a_caller_is_told_of_the_arguments_that_are_his(
    function: Callable[..., Any], arguments: list[int], said: str
) -> None:
    with pytest.raises(TypeError) as wrong:
        function(*arguments)
    assert misfit(wrong.value, function) == said
