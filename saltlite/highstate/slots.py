"""Slots: arguments of a state that are found out right before it runs.

``__slot__:salt:mod.fun(args, name=value).key ~ text``: the value of an execution function, of it
what the keys after the parentheses name, and to it the text after the tilde.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.lazyregex import regex
from saltlite.loader.arguments import parse_argument, split_keyword

PREFIX = "__slot__:salt:"

_CALL = regex(
    r"__slot__:salt:(?P<fun>\w+\.\w+)\((?P<args>.*?)\)(?P<keys>(?:\.\w+)*)(?:\s*~\s*(?P<text>.*))?",
    re.DOTALL,
)
_ARGUMENT = regex(r"""\s*((?:[\w.-]+\s*=\s*)?(?:"[^"]*"|'[^']*'|[^,]*))\s*(?:,|$)""")


def fill_slots(ctx: MinionContext, arguments: Mapping[str, object]) -> dict[str, Any]:
    """The arguments with the values of slots in their places, also in lists and maps of them."""
    return {name: _fill_slot(ctx, value) for name, value in arguments.items()}


def _fill_slot(ctx: MinionContext, value: object) -> Any:
    if isinstance(value, str):
        return _call_slot(ctx, value) if value.startswith(PREFIX) else value
    if isinstance(value, list):
        return [_fill_slot(ctx, item) for item in value]
    if isinstance(value, dict):
        return {key: _fill_slot(ctx, item) for key, item in value.items()}
    return value


def _call_slot(ctx: MinionContext, text: str) -> Any:
    """What a slot stands for; text that is not of the form stays as it is."""
    call = _CALL.fullmatch(text)
    if call is None:
        return text
    args, kwargs = _parse_arguments(call["args"])
    value = ctx.functions.call(call["fun"], *args, **kwargs)
    for key in filter(None, call["keys"].split(".")):
        value = value.get(key) if isinstance(value, Mapping) else None
    if call["text"] is not None and isinstance(value, str):
        # To what is no text nothing is added.
        return value + str(_parse_word(call["text"]))
    return value


def _parse_arguments(text: str) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for part in _ARGUMENT.findall(text):
        if not part.strip():
            continue
        name, value = split_keyword(part)
        if name is None:
            args.append(_parse_word(part))
        else:
            kwargs[name] = _parse_word(value)
    return args, kwargs


def _parse_word(text: str) -> Any:
    """A value as it is written: a quoted one is text."""
    bare = text.strip()
    # Quotes keep a number from being one.
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "'\"":
        return bare[1:-1]
    return parse_argument(bare)
