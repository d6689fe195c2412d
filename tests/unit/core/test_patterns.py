"""Which expressions are quick for certain: a promise, so it is tried on the worst texts."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from saltlite.core import patterns
from saltlite.core.patterns import ENDLESS, compile_pattern, fits_whole
from saltlite.core.targets import MinionFacts, Target, matches, takes_long
from saltlite.errors import PatternTooSlow, TargetError


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The expressions that were asked outside; there everything fits."""
    found: list[str] = []

    def outside(how: str, expression: str, *_others: object) -> list[str]:
        found.append(expression)
        return []

    monkeypatch.setattr(patterns, "_outside", outside)
    return found


QUICK = [
    "web.*", r"^(web|db)\d+$", ".*web.*prod.*", r"web\d{1,3}\.example\.com", "(?i)WEB[0-9]+",
    "(a|b)*c", "[a-z0-9-]+", "(web|db|mail)-?(eu|us)?", r"(?P<x>\w+)-(?P=x)", "web|.*prod|db.*", "",
]  # fmt: skip

ENDLESS_ONES = [
    "(a+)+$", "(a*)*b", "(a|aa)+$", r"(\w+\s?)*$", "(.*a){20}", "(x+x+)+y", "((a{1,3}){1,3}){1,9}b",
    "(?:a?){64}b", "((?=(a+)+$).)*", "(?!(a+)+$)b", r"^(([a-z])+.)+[A-Z]([a-z])+$", "(a?a?)*c",
]  # fmt: skip


@pytest.mark.parametrize("expression", QUICK)
def test_what_is_written_every_day_is_matched_here(expression: str, asked: list[str]) -> None:
    compile_pattern(expression).match("web-eu-17.example.com")
    compile_pattern(expression).fullmatch("web17")
    assert asked == []


@pytest.mark.parametrize("expression", ENDLESS_ONES)
def test_what_may_take_years_is_not(expression: str, asked: list[str]) -> None:
    text = "a" * 64 + "!"
    assert compile_pattern(expression).match(text)
    assert compile_pattern(expression).fullmatch(text)
    assert asked == [expression] * 2


def test_without_anybody_outside_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_outside", patterns.refuse_slow)
    with pytest.raises(PatternTooSlow, match=r"'\(a\+\)\+\$' may take too long"):
        compile_pattern("(a+)+$").match("a" * 64)
    with pytest.raises(TargetError, match="not a regular expression"):
        fits_whole("(", "a")
    with pytest.raises(TargetError, match="longer than"):
        fits_whole("a" * 10_001, "a")


def _any_expression(depth: int, dice: random.Random) -> str:
    kind = dice.random()
    if depth == 0 or kind < 0.3:
        return dice.choice(["a", "b", ".", "[ab]", r"\w", "a?"])
    inner = _any_expression(depth - 1, dice)
    if kind < 0.5:
        return inner + _any_expression(depth - 1, dice)
    if kind < 0.65:
        return f"({inner}|{_any_expression(depth - 1, dice)})"
    if kind < 0.9:
        return f"(?:{inner})" + dice.choice(["*", "+", "?", "{0,3}", "{2,}", "*?"])
    return f"(?={inner})"


def test_what_is_called_quick_is_quick() -> None:
    dice = random.Random(7)
    tried = 0
    for _ in range(2000):
        expression = _any_expression(5, dice) + dice.choice(["", "$", "c"])
        pattern = compile_pattern(expression)
        chars = min(pattern._quick_begun, pattern._quick_whole, 1000)
        if chars <= 0:
            continue
        for text in ("a" * chars, "ab" * (chars // 2), "a" * (chars - 1) + "!"):
            began_s = time.thread_time()
            pattern.match(text)
            pattern.fullmatch(text)
            assert time.thread_time() - began_s < 0.1, expression
        tried += 1
    assert tried > 1000


def test_a_target_says_whether_it_takes_long() -> None:
    assert not takes_long(Target("web.*", "pcre"), 10_000)
    assert takes_long(Target("(a+)+$", "pcre"), 1)
    assert takes_long(Target("a:b:(a+)+$", "grain_pcre"), 1)
    assert takes_long(Target("web* and not P@os:(a+)+$"), 1) is False  # a glob, of that name
    assert takes_long(Target("web* and not P@os:(a+)+$", "compound"), 1)
    assert takes_long(Target("x and N@g", "compound"), 1, nodegroups={"g": "E@(a+)+$"})
    assert not takes_long(Target("a:(", "grain_pcre"), 1)
    assert not takes_long(Target("(", "pcre"), 1)
    assert takes_long(Target(".*a.*b.*c", "pcre"), 10_000)


def test_each_minion_is_asked_about_within_limits(asked: list[str]) -> None:
    assert matches(Target("(a+)+$", "pcre"), MinionFacts("a" * 40))
    assert matches(Target("role:(a+)+$", "grain_pcre"), MinionFacts("x", {"role": "a" * 40}))
    assert asked == ["(a+)+$"] * 2


def test_steps_have_an_end() -> None:
    assert compile_pattern("(" * 50 + "a" + ")*" * 50).steps == ENDLESS
