"""Docstrings are cleaned as ``inspect`` cleans them."""

from __future__ import annotations

import inspect

from hypothesis import given
from hypothesis import strategies as st

from saltlite.core.docstrings import clean_docstring

LINES = st.lists(st.text("ab \t", max_size=8), max_size=6)


@given(LINES)
def test_the_two_ways_agree(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert clean_docstring(text) == inspect.cleandoc(text)


def test_an_example() -> None:
    assert clean_docstring("\n    First.\n\n        more\n    ") == "First.\n\n    more"
