"""What keywords a function takes, without loading what Python needs to tell everything about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

_TAKES_ANY = 0x08
"""``CO_VARKEYWORDS`` of a code object: there is a ``**kwargs``."""


def keywords(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """The names that may be given as keywords, and whether any other may be given too.

    A plain function's code tells, with or without its first arguments bound. All else is asked
    through ``inspect``, which takes longer to load than most jobs take.
    """
    plain: Any = function
    bound = 0
    while isinstance(plain, partial) and not plain.keywords:
        bound += len(plain.args)
        plain = plain.func
    if not isinstance(plain, FunctionType) or hasattr(plain, "__wrapped__"):
        return _inspect_parameters(function)
    code = plain.__code__
    first = min(max(bound, code.co_posonlyargcount), code.co_argcount)
    last = code.co_argcount + code.co_kwonlyargcount
    return frozenset(code.co_varnames[first:last]), bool(code.co_flags & _TAKES_ANY)


def _inspect_parameters(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    import inspect

    parameters = inspect.signature(function).parameters.values()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return (
        frozenset(each.name for each in parameters if each.kind in named),
        any(each.kind is each.VAR_KEYWORD for each in parameters),
    )


_GIVEN = r"takes (?:from (\d+) to )?(\d+) positional arguments? but (\d+) (?:was|were) given"


def misfit(error: TypeError, function: Callable[..., Any]) -> str:
    """What Python says of arguments that do not fit; without the one that is filled in for callers.

    ``function`` is what was called, its first arguments bound.
    """
    text = str(error)
    if not isinstance(function, partial) or not text.startswith(f"{function.func.__name__}()"):
        return text
    import re

    bound = len(function.args)

    def counted(found: re.Match[str]) -> str:
        least, most, given = (None if n is None else int(n) - bound for n in found.groups())
        takes = f"{most}" if least is None else f"from {least} to {most}"
        plural = "s" if least is not None or most != 1 else ""
        was = "was" if given == 1 else "were"
        return f"takes {takes} positional argument{plural} but {given} {was} given"

    return re.sub(_GIVEN, counted, text)
