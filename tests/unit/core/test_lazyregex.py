"""Patterns that are compiled when they are used."""

from __future__ import annotations

import re

import pytest

from saltlite.core import lazyregex
from saltlite.core.lazyregex import compile_all, regex


def is_compiled(pattern: object) -> bool:
    return vars(pattern).get("_compiled") is not None


def test_compiled_at_the_first_use_and_once() -> None:
    pattern = regex(r"(\d+)x", re.IGNORECASE)
    assert not is_compiled(pattern)
    found = pattern.fullmatch("12X")
    assert found is not None
    assert found[1] == "12"
    assert is_compiled(pattern)
    assert pattern.sub("y", "a1xb2x") == "ayby"
    assert (pattern.pattern, pattern.flags) == (r"(\d+)x", re.compile("", re.IGNORECASE).flags)
    assert regex(rb"\d").findall(b"1a2") == [b"1", b"2"]


def test_all_are_compiled_before_a_fork() -> None:
    pattern = regex("a+")
    compile_all()
    assert is_compiled(pattern)
    assert pattern.search("baa")


def test_every_declared_pattern_is_one() -> None:
    import saltlite.cli.salt_call
    import saltlite.master.daemon
    import saltlite.minion.minion  # noqa: F401

    assert len(lazyregex._ALL) > 20
    compile_all()


def test_a_wrong_pattern_says_so_at_its_first_use() -> None:
    wrong = regex("(")
    try:
        with pytest.raises(re.error):
            wrong.search("")
    finally:
        lazyregex._ALL.remove(wrong)
