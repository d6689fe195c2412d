"""What a code object tells is what ``inspect`` tells."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from saltlite.loader.signature import _inspected, keywords


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


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
def test_the_two_ways_agree(function: Callable[..., Any]) -> None:
    assert keywords(function) == _inspected(function)


def test_names_of_locals_are_none_of_a_functions_keywords() -> None:
    assert keywords(plain) == ({"a", "b", "c", "d"}, False)
    assert keywords(partial(greedy, 1)) == ({"b"}, True)
