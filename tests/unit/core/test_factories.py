"""A function that was made looks as if it had been written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from saltlite.core.factories import alias_function, name_function


def make_function(name: str) -> Callable[..., Any]:
    def inner(value: object) -> object:
        return value

    return name_function(inner, name, f"Return it, as {name}.")


def test_it_has_its_name_and_text() -> None:
    made = make_function("echo")
    assert (made.__name__, made.__doc__, made(3)) == ("echo", "Return it, as echo.", 3)


def test_wrong_arguments_are_told_of_it_by_its_name() -> None:
    with pytest.raises(TypeError, match=r"^echo\(\) got an unexpected keyword argument 'other'"):
        make_function("echo")(other=1)


def test_another_name_is_the_same_function() -> None:
    def counts(one: int, *, by: int = 2) -> int:
        """Count."""
        return one + by

    again = alias_function(counts, "again", "test.counts")
    assert again(1) == counts(1) == 3
    assert (again.__name__, again.__module__) == ("again", __name__)
    assert again.__doc__ == "The same as ``test.counts``."
    assert counts.__doc__ == "Count."
