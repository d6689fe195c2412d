"""Regular expressions that a template brings: they end when its time does.

A short expression can take years (``(a+)+$``), and no count of ours sees inside of Python's ``re``.
But ``re`` looks for signals while it matches. So a timer of this process's time on the processor
runs around one call of a filter or test, and its handler raises when the template's time is over:
nothing of Salt's is under way then that holds a lock or a half written file. It runs only for what
could take long at all, and only in the main thread, where Python handles signals: that is where
templates are rendered, but with ``multiprocessing: False``. In another thread what could take long
is asked of a process that can be ended (:mod:`saltlite.core.patterns`).
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

from jinja2.runtime import Context
from jinja2.utils import pass_context

from saltlite.core.lazyregex import regex
from saltlite.core.patterns import LIMIT_S, ask_outside
from saltlite.errors import PatternTooSlow
from saltlite.templates.jinja_options import MAX_CHARS
from saltlite.templates.limits import LimitExceeded, Meter, meter_of, refuse_large

FILTERS: Final = ("check_whitelist_blacklist", "regex_match", "regex_replace", "regex_search")
TESTS: Final = ("match",)

LITTLE: Final = 20_000_000
"""Steps of matching that take a fraction of a second: not worth a timer."""

LONGEST: Final = 256
"""Expressions of more characters are not looked at."""


class _Thread(threading.local):
    """How long expressions may take that this thread has matched elsewhere; ``None``: here."""

    limit_s: float | None = None


_thread: Final = _Thread()

_QUANTIFIED: Final = regex(r"\)[*+?{]")


def _regex_flags(ignorecase: bool, multiline: bool) -> int:
    return (re.IGNORECASE if ignorecase else 0) | (re.MULTILINE if multiline else 0)


def regex_search(
    text: str, rgx: str, ignorecase: bool = False, multiline: bool = False
) -> tuple[Any, ...] | None:
    """The groups of the first match anywhere, ``None`` without one."""
    return _match_groups("search", rgx, _regex_flags(ignorecase, multiline), text)


def regex_match(
    text: str, rgx: str, ignorecase: bool = False, multiline: bool = False
) -> tuple[Any, ...] | None:
    """The groups of a match at the beginning, ``None`` without one."""
    return _match_groups("match", rgx, _regex_flags(ignorecase, multiline), text)


def _match_groups(how: str, rgx: str, flags: int, text: str) -> tuple[Any, ...] | None:
    if _thread.limit_s is None:
        found = re.search(rgx, text, flags) if how == "search" else re.match(rgx, text, flags)
        return found.groups() if found else None
    groups = _ask_outside(how, rgx, flags, text)
    return None if groups is None else tuple(groups)


def _ask_outside(how: str, rgx: str, flags: int, text: str, value: str = "") -> Any:
    try:
        return ask_outside(how, rgx, flags, text, value, _thread.limit_s or LIMIT_S)
    except PatternTooSlow as error:
        raise LimitExceeded(str(error)) from error


def regex_replace(
    text: str, rgx: str, value: str, ignorecase: bool = False, multiline: bool = False
) -> str:
    """The text with ``value`` for every match."""
    flags = _regex_flags(ignorecase, multiline)
    if not isinstance(text, str):
        return re.sub(rgx, value, text, flags=flags)  # says what it is
    if _thread.limit_s is not None:
        replaced = str(_ask_outside("sub", rgx, flags, text, value))
        refuse_large(len(replaced))
        return replaced
    most = (len(text) + 1) * len(value) * (len(text) if "\\" in value else 1)
    if most < MAX_CHARS:
        return re.sub(rgx, value, text, flags=flags)
    size, references = 0, value.count("\\")

    def count(found: re.Match[str]) -> str:
        nonlocal size
        refuse_large(size + references * len(found.group()))
        new = found.expand(value) if references else value
        size += len(new)
        refuse_large(size)
        return new

    return re.sub(rgx, count, text, flags=flags)


def is_match(text: str, rgx: str, ignorecase: bool = False, multiline: bool = False) -> bool:
    """The test ``match``: the text begins with a match."""
    return _match_groups("match", rgx, _regex_flags(ignorecase, multiline), text) is not None


def check_whitelist_blacklist(
    value: object, whitelist: object = None, blacklist: object = None
) -> bool:
    """Whether a value is on the first list and not on the second; globs and expressions count."""
    if blacklist is not None and any(_does_fit(value, each) for each in _as_list(blacklist)):
        return False
    return not whitelist or any(_does_fit(value, each) for each in _as_list(whitelist))


def _as_list(values: Any) -> list[Any]:
    return [values] if isinstance(values, str) else list(values)


def _does_fit(value: object, expression: object) -> bool:
    if not isinstance(value, str) or not isinstance(expression, str):
        return False
    if value == expression or fnmatchcase(value, expression):
        return True
    try:
        return _match_groups("match", rf"\A{expression}\Z", 0, value) is not None
    except re.error:
        return False


# --- their time ----------------------------------------------------------------------------------


def in_time(
    functions: Mapping[str, Callable[..., Any]], names: tuple[str, ...]
) -> dict[str, Callable[..., Any]]:
    """The named filters or tests, each within the time of the template that uses it."""
    return {name: _in_time(functions[name]) for name in names if name in functions}


def _in_time(function: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    def run_in_time(context: Context, text: object, *args: Any, **kwargs: Any) -> Any:
        meter = meter_of(context)
        meter.step()
        if not _may_take_long(text, (*args, *kwargs.values())):
            return function(text, *args, **kwargs)
        with until_over(meter):
            return function(text, *args, **kwargs)

    return run_in_time


def _may_take_long(text: object, others: tuple[object, ...]) -> bool:
    if not isinstance(text, str):
        return False
    if any(isinstance(one, (list, tuple)) for one in others):
        return True
    return any(_is_slow(one, len(text)) for one in others if isinstance(one, str))


def _is_slow(expression: str, chars: int) -> bool:
    """Whether matching may take many steps, as what repeats a group always may."""
    if len(expression) > LONGEST:
        return True
    loops, choices = _count_repeats(expression)
    return loops < 0 or (chars + 2) ** (loops + 1) << choices > LITTLE


@lru_cache(maxsize=256)
def _count_repeats(expression: str) -> tuple[int, int]:
    """How many parts repeat (-1 if groups do), and how many may be or not."""
    loops = sum(map(expression.count, "*+{"))
    choices = expression.count("?") + expression.count("|")
    return (-1 if _QUANTIFIED.search(expression) else loops), choices


@contextmanager
def until_over(meter: Meter) -> Iterator[None]:
    """Within, LimitExceeded is raised when the template's time is over, if that can be told."""
    left_s = meter.left_s()
    if left_s is None:
        yield
        return
    if threading.current_thread() is not threading.main_thread():
        _thread.limit_s = left_s
        try:
            yield
        finally:
            _thread.limit_s = None
        return
    within = True

    def fire(_number: int, _frame: object) -> None:
        if within:
            meter.look()  # raises if it was this thread's time that went by
            signal.setitimer(signal.ITIMER_VIRTUAL, meter.left_s() or 0)

    before = signal.signal(signal.SIGVTALRM, fire)
    try:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, left_s)
            yield
        finally:
            within = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, before)
