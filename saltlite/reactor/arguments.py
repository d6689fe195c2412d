"""The old form of a runner's arguments: keys of the reaction, laid out by the function's signature.

Parameters without a default are positional; all others, with what is not given, are keywords, as
Salt calls them. Keys that the function does not take are left out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


def lay_out(
    function: Callable[..., Any], given: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The positional arguments and keywords with which ``function`` is called."""
    left = dict(given)
    arg: list[Any] = []
    kwarg: dict[str, Any] = {}
    takes_any = False
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.VAR_KEYWORD:
            takes_any = True
        elif one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            _place(one, left, arg, kwarg)
    return arg, {**kwarg, **(left if takes_any else {})}


def _place(
    one: inspect.Parameter, left: dict[str, Any], arg: list[Any], kwarg: dict[str, Any]
) -> None:
    is_required = one.default is one.empty
    if not is_required:
        kwarg[one.name] = left.pop(one.name, one.default)
    elif one.name in left and one.kind is one.POSITIONAL_OR_KEYWORD and not kwarg:
        arg.append(left.pop(one.name))
    elif one.name in left:
        kwarg[one.name] = left.pop(one.name)
