"""Functions that differ by a name or a constant, made by one function and listed as a table.

    debug = _make_function("debug")
    info = _make_function("info")

Such a function looks to ``sys.doc``, to a traceback and to Python's words about arguments as if it
had been written out.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

TYPE_CHECKING = False  # typing would cost more than all else here
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Made = TypeVar("Made", bound=Callable[..., Any])


def name_function(function: Made, name: str, doc: str) -> Made:
    """Give a function that was made its name and what ``sys.doc`` shows of it."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def alias_function(function: Made, name: str, says: str) -> Made:
    """Return the same function under another name; ``says`` is that of Salt's for the first."""
    plain: Any = function
    made: Any = FunctionType(
        plain.__code__, plain.__globals__, name, plain.__defaults__, plain.__closure__
    )
    vars(made).update(vars(plain))
    made.__kwdefaults__ = plain.__kwdefaults__
    made.__module__ = plain.__module__
    made.__annotations__ = plain.__annotations__
    named: Made = name_function(made, name, f"The same as ``{says}``.")
    return named
