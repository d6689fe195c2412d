"""What arguments a function takes, without loading what Python needs to tell all about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saltlite.core.arguments import OptionArguments

_TAKES_MORE = 0x04
"""``CO_VARARGS`` of a code object: there is an ``*args``."""

_TAKES_ANY = 0x08
"""``CO_VARKEYWORDS`` of a code object: there is a ``**kwargs``."""


def keywords(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """The names that may be given as keywords, and whether any other may be given too.

    A plain function's code tells, with or without its first arguments bound. All else is asked
    through ``inspect``, which takes longer to load than most jobs take.
    """
    arguments = _find_option_arguments(function)
    if arguments is not None:
        return frozenset(arguments.names), arguments.takes_any
    plain, bound = _strip_partials(function)
    if plain is None:
        return _inspect_parameters(function)
    code = plain.__code__
    first = min(max(bound, code.co_posonlyargcount), code.co_argcount)
    last = code.co_argcount + code.co_kwonlyargcount
    return frozenset(code.co_varnames[first:last]), bool(code.co_flags & _TAKES_ANY)


def required(function: Callable[..., Any]) -> list[str]:
    """The arguments without a default; what is bound already is none that could be missing."""
    arguments = _find_option_arguments(function)
    if arguments is not None:
        return list(arguments.required)
    bound = 0
    while isinstance(function, partial):
        bound, function = bound + len(function.args), function.func
    plain: Any = vars(function).get("__wrapped__", function)
    code = plain.__code__
    return list(code.co_varnames[bound : code.co_argcount - len(plain.__defaults__ or ())])


def fits(
    function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]
) -> bool:
    """Whether a function takes these arguments, as far as its code tells: ``False`` may be wrong.

    ``inspect`` knows better, takes longer to load than most runners take, and says what is amiss.
    """
    plain, bound = _strip_partials(function)
    if plain is None or plain.__code__.co_posonlyargcount:
        return False
    code = plain.__code__
    filled = bound + len(args)
    if filled > code.co_argcount and not code.co_flags & _TAKES_MORE:
        return False
    last = code.co_argcount + code.co_kwonlyargcount
    free = set(
        code.co_varnames[filled : code.co_argcount] + code.co_varnames[code.co_argcount : last]
    )
    if not kwargs.keys() <= free:
        taken = set(code.co_varnames[:last]) - free
        if not code.co_flags & _TAKES_ANY or kwargs.keys() & taken:
            return False
    optional = code.co_varnames[code.co_argcount - len(plain.__defaults__ or ()) : code.co_argcount]
    return free <= {*kwargs, *optional, *(plain.__kwdefaults__ or ())}


def _find_option_arguments(function: Callable[..., Any]) -> OptionArguments | None:
    """Of a function of ``core/arguments.py``, of whose arguments only a context may be bound."""
    plain: Any = function
    if isinstance(function, partial) and not function.keywords and len(function.args) == 1:
        plain = function.func
    found: OptionArguments | None = getattr(plain, "option_arguments", None)
    return found if found is None or found.has_context == (plain is not function) else None


def _strip_partials(function: Callable[..., Any]) -> tuple[FunctionType | None, int]:
    """The plain function and how many of its first arguments are bound.

    ``None`` for what its code does not tell all about.
    """
    plain: Any = function
    bound = 0
    while isinstance(plain, partial) and not plain.keywords:
        bound += len(plain.args)
        plain = plain.func
    decorated = hasattr(plain, "__wrapped__") or hasattr(plain, "__signature__")
    return (plain, bound) if isinstance(plain, FunctionType) and not decorated else (None, 0)


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

    def count(found: re.Match[str]) -> str:
        least, most, given = (None if n is None else int(n) - bound for n in found.groups())
        takes = f"{most}" if least is None else f"from {least} to {most}"
        plural = "s" if least is not None or most != 1 else ""
        was = "was" if given == 1 else "were"
        return f"takes {takes} positional argument{plural} but {given} {was} given"

    return re.sub(_GIVEN, count, text)
