"""Says where regular expressions go that may take long; loads nothing before there is one."""

from __future__ import annotations

from typing import Any

from saltlite.core import patterns


def match_outside() -> None:
    """Have such expressions matched in a process of their own, from now on and in all forks."""
    patterns.match_outside_with(_ask_child)


def _ask_child(
    how: str, expression: str, flags: int, text: str, value: str, limit_s: float, /
) -> Any:
    from saltlite import regex_process

    return regex_process.ask(how, expression, flags, text, value, limit_s)
