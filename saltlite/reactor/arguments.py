"""The old form of a runner's arguments: keys of the reaction, laid out by the function's signature.

Parameters without a default are positional; all others, with what is not given, are keywords, as
Salt calls them. Keys that the function does not take are left out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

OWN_KEYS: Final = ("name", "key")
"""Keys that every reaction may have, and ``name`` always has: they go to a parameter of that name,
and never to a function that takes any keyword."""


def lay_out(
    function: Callable[..., Any], given: Mapping[str, object]
) -> tuple[list[Any], dict[str, Any]]:
    """The positional arguments and keywords with which ``function`` is called."""
    left = dict(given)
    arg: list[Any] = []
    kwarg: dict[str, Any] = {}
    takes_any = is_missing = False
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.VAR_KEYWORD:
            takes_any = True
        elif one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            continue
        elif one.default is not one.empty:
            kwarg[one.name] = left.pop(one.name, one.default)
        elif one.name not in left:
            is_missing = True  # what comes after it must not take its place
        elif is_missing or one.kind is one.KEYWORD_ONLY:
            kwarg[one.name] = left.pop(one.name)
        else:
            arg.append(left.pop(one.name))
    rest = {name: value for name, value in left.items() if name not in OWN_KEYS}
    return arg, {**kwarg, **(rest if takes_any else {})}
