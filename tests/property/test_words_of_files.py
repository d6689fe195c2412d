"""What is read without a lexer is read as by one."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from saltlite.grains.kernel import parse_cmdline
from saltlite.grains.os_release import parse_os_release

LETTERS = st.text("ab1=#$ \t\n\x0b\u00a0\u2028\"'\\", max_size=12)


def split_or(text: str, otherwise: list[str]) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return otherwise


@given(LETTERS)
def test_kernel_parameters(text: str) -> None:
    pairs = (word.partition("=") for word in split_or(text, text.split()))
    assert parse_cmdline(text) == [
        [name, value if equals else None] for name, equals, value in pairs
    ]


@given(LETTERS.filter(lambda text: len(text.splitlines()) < 2))
def test_values_of_os_release(text: str) -> None:
    value = f"NAME={text}".strip().partition("=")[2]
    wanted = " ".join(split_or(value, [value.strip("\"'")]))
    assert parse_os_release(f"NAME={text}").name == wanted
