"""What a code object tells is what ``inspect`` tells."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from saltlite.loader.signature import _inspect_parameters, keywords, misfit


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
