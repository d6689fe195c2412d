"""Regular expressions of others: matched here if that is quick for certain, else outside.

A short expression can take years (``(a+)+$``), and Python's ``re`` stops for nobody. So an
expression is parsed and the most steps that it can take are computed, from how often its parts
can repeat and in how many ways. What may take more than ``QUICK_STEPS`` on a text is left to a
process that can be ended: :mod:`saltlite.regex_process`, which the programs name here at their
start. Pure but for that.

Targets, rules of access, ``peer`` and the mine, ``autosign`` and the like all match through this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

from saltlite.errors import PatternTooSlow, TargetError

try:
    from re import _constants as ops  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as ops
    import sre_parse as parser

MAX_PATTERN_CHARS: Final = 10_000

QUICK_STEPS: Final = 100_000
"""Steps of matching that ``re`` takes in a millisecond or less."""

ENDLESS: Final = 1 << 60
"""Stands for any larger number of steps or ways."""

USUAL_CHARS: Final = 64
"""How long what targets look at is: ids, and most values of grains."""

_MOST_CHARS: Final = 1 << 26

LIMIT_S: Final = 1.0
"""Of the processor's time, for one expression on one text."""


class Outside(Protocol):
    """What matches where it can be ended."""

    def __call__(
        self, how: str, expression: str, flags: int, text: str, value: str, limit_s: float, /
    ) -> Any:
        """Ask ``match``, ``fullmatch`` or ``search`` for the groups, ``None`` for no match.

        ``sub`` gives the text with ``value`` for each match.

        Raises:
            PatternTooSlow: it takes too long, or cannot be asked.
            re.error: ``re`` has something against it.
        """


class Pattern:
    """One compiled expression, and the longest text that it is quick on for certain."""

    __slots__ = ("_compiled", "_quick_begun", "_quick_whole", "steps")

    def __init__(self, expression: str, flags: int = 0) -> None:
        self._compiled = re.compile(expression, flags)
        # Parsed once more: a compiled expression does not show its parts.
        whole = list(parser.parse(expression, flags))
        begun = _without_what_always_fits(whole)
        self._quick_whole = _quick_chars(whole)
        self._quick_begun = self._quick_whole if begun is whole else _quick_chars(begun)
        self.steps = _count_steps(begun, USUAL_CHARS)
        """For a match at the beginning of a text of usual length, at the most."""

    def match(self, text: str) -> bool:
        """Whether the text begins with what is meant.

        Raises:
            PatternTooSlow: nobody knows in time.
        """
        if len(text) <= self._quick_begun:
            return self._compiled.match(text) is not None
        return self._run_bounded("match", text)

    def fullmatch(self, text: str) -> bool:
        """Whether the whole text is what is meant.

        Raises:
            PatternTooSlow: nobody knows in time.
        """
        if len(text) <= self._quick_whole:
            return self._compiled.fullmatch(text) is not None
        return self._run_bounded("fullmatch", text)

    def _run_bounded(self, how: str, text: str) -> bool:
        compiled = self._compiled
        try:
            return ask_outside(how, compiled.pattern, compiled.flags, text) is not None
        except re.error as error:
            raise PatternTooSlow(f"{compiled.pattern!r:.80}: {error}") from error


# A rule or target is asked about many minions, one after the other.
@lru_cache(maxsize=1024)
def compile_pattern(expression: str, flags: int = 0) -> Pattern:
    """Compile an expression of others.

    Raises:
        TargetError: it is too long, or none.
    """
    # Before it is parsed, which takes time and memory by its length.
    if len(expression) > MAX_PATTERN_CHARS:
        raise TargetError(f"pattern longer than {MAX_PATTERN_CHARS} characters")
    try:
        return Pattern(expression, flags)
    # Brackets in brackets, and repeats beyond any number, end in the other two.
    except (re.error, RecursionError, OverflowError) as error:
        raise TargetError(f"not a regular expression: {expression!r:.80}: {error}") from error


def fits_whole(expression: str, text: str) -> bool:
    """Whether an expression of a rule is the whole of ``text``.

    Raises:
        TargetError: it is no expression, or too slow.
    """
    return compile_pattern(expression).fullmatch(text)


def ask_outside(
    how: str, expression: str, flags: int, text: str, value: str = "", limit_s: float = LIMIT_S
) -> Any:
    """Ask what can be ended; see :class:`Outside`."""
    return _outside(how, expression, flags, text, value, limit_s)


def refuse_slow(
    how: str, expression: str, flags: int, text: str, value: str, limit_s: float, /
) -> Any:
    """Stand in for the process outside where there is none.

    Raises:
        PatternTooSlow: always.
    """
    raise PatternTooSlow(f"the expression {expression!r:.80} may take too long")


_outside: Outside = refuse_slow


def match_outside_with(outside: Outside) -> None:
    """Have what may take long matched by ``outside``; for the start of a program."""
    global _outside
    _outside = outside


# --- how many steps ------------------------------------------------------------------------------


def _without_what_always_fits(parsed: list[Any]) -> list[Any]:
    """The parts but such as ``.*`` at the end: they fit anything, at the first try."""
    end = len(parsed)
    while end and parsed[end - 1][0] in (ops.MAX_REPEAT, ops.MIN_REPEAT):
        least, _most, part = parsed[end - 1][1]
        if least or any(op not in (*_SINGLE, ops.IN) for op, _value in part):
            break
        end -= 1
    return parsed if end == len(parsed) else parsed[:end]


def _quick_chars(parsed: object) -> int:
    """The longest text, in powers of two, on which all ways together are quick; -1 for none."""
    quick, chars = -1, 8
    while chars <= _MOST_CHARS and _count_steps(parsed, chars) <= QUICK_STEPS:
        quick, chars = chars, chars * 2
    return quick


def _count_steps(parsed: Any, chars: int) -> int:
    try:
        return _cost_of_sequence(parsed, chars)[1]
    except RecursionError:
        return ENDLESS


Cost = tuple[int, int]
"""In how many ways a part can match from one place, and the steps to try all of them."""


def _cost_of_sequence(parsed: Iterable[Any], chars: int) -> Cost:
    """Of a sequence: each part is tried anew for each way of what is before it."""
    ways, steps = 1, 1
    for op, value in parsed:
        more_ways, more_steps = _cost_of(op, value, chars)
        steps = min(ENDLESS, steps + ways * more_steps)
        ways = min(ENDLESS, ways * more_ways)
    return ways, steps


def _cost_of(op: object, value: object, chars: int) -> Cost:
    if op in _SINGLE:
        return 1, 1
    cost = _COSTS.get(op)
    return cost(value, chars) if cost is not None else (ENDLESS, ENDLESS)


_SINGLE: Final = (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.AT, ops.FAILURE)


def _cost_of_branches(parts: Iterable[Any], chars: int) -> Cost:
    costs = [_cost_of_sequence(part, chars) for part in parts]
    ways = min(ENDLESS, max(1, sum(cost[0] for cost in costs)))
    return ways, min(ENDLESS, 1 + sum(cost[1] for cost in costs))


def _cost_of_atomic(parsed: Any, chars: int) -> Cost:
    """Of what is not gone back into: all its ways are tried, and one is left."""
    return 1, _cost_of_sequence(parsed, chars)[1]


def _cost_of_repeat(value: Any, chars: int) -> Cost:
    """As often as there are characters; if one round has several ways, they multiply."""
    least, most, part = int(value[0]), int(value[1]), value[2]
    ways, steps = _cost_of_sequence(part, chars)
    rounds = min(most, chars + 1)
    if ways <= 1:
        return max(1, rounds - least + 1), min(ENDLESS, (rounds + 1) * steps)
    # Not computed: the sum would have more digits than there is time.
    if (rounds - 1) * ways.bit_length() > ENDLESS.bit_length():
        return ENDLESS, ENDLESS
    all_ways = min(ENDLESS, sum(ways**count for count in range(rounds + 1)))
    return all_ways, min(ENDLESS, all_ways * steps)


def _cost_of_possessive(value: Any, chars: int) -> Cost:
    rounds = min(int(value[1]), chars + 1)
    return 1, min(ENDLESS, (rounds + 1) * _cost_of_sequence(value[2], chars)[1])


_COSTS: Final[Mapping[Any, Callable[[Any, int], Cost]]] = {
    ops.IN: lambda value, _chars: (1, len(value)),
    ops.SUBPATTERN: lambda value, chars: _cost_of_sequence(value[-1], chars),
    ops.MAX_REPEAT: _cost_of_repeat,
    ops.MIN_REPEAT: _cost_of_repeat,
    ops.BRANCH: lambda value, chars: _cost_of_branches(value[1], chars),
    # What a group has matched may be as long as the text.
    ops.GROUPREF: lambda _value, chars: (1, chars + 1),
    ops.GROUPREF_EXISTS: lambda value, chars: _cost_of_branches(filter(None, value[1:]), chars),
    ops.ASSERT: lambda value, chars: _cost_of_atomic(value[1], chars),
    ops.ASSERT_NOT: lambda value, chars: _cost_of_atomic(value[1], chars),
    # From Python 3.11 on.
    getattr(ops, "ATOMIC_GROUP", None): _cost_of_atomic,
    getattr(ops, "POSSESSIVE_REPEAT", None): _cost_of_possessive,
}
"""What is not here, as what Python may bring one day, is never quick."""
