"""``salt.utils.functools``."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from saltlite.compat.salt.exceptions import SaltInvocationError


def namespaced_function(
    function: types.FunctionType,
    global_dict: dict[str, Any],
    defaults: Any = None,
    preserve_context: object = None,
) -> types.FunctionType:
    """A function that finds its globals somewhere else."""
    names = {**function.__globals__, **global_dict} if preserve_context else global_dict
    made = types.FunctionType(
        function.__code__,
        names,
        name=function.__name__,
        argdefs=defaults or function.__defaults__,
        closure=function.__closure__,
    )
    vars(made).update(vars(function))
    made.__kwdefaults__ = function.__kwdefaults__
    made.__doc__ = function.__doc__
    return made


def alias_function(fun: types.FunctionType, name: str, doc: str | None = None) -> Any:
    """The same function under another name."""
    made = types.FunctionType(
        fun.__code__, fun.__globals__, name, fun.__defaults__, fun.__closure__
    )
    vars(made).update(vars(fun))
    made.__kwdefaults__ = fun.__kwdefaults__
    made.__doc__ = doc if isinstance(doc, str) else (
        f"\n    This function is an alias of ``{fun.__name__}``.\n\n{fun.__doc__ or ''}"
    )  # fmt: skip
    return made


def call_function(
    salt_function: Callable[..., Any],
    final_args: object = (),
    final_kwargs: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Call a function with arguments from a list of values and maps.

    Raises:
        SaltInvocationError: something is missing.
    """
    positional: list[Any] = []
    named: dict[str, Any] = dict(kwargs)
    for item in (*_as_sequence(final_args), *args):
        if isinstance(item, dict):
            named.update(item)
        else:
            positional.append(item)
    try:
        return salt_function(*positional, **named, **(final_kwargs or {}))
    except TypeError as error:
        raise SaltInvocationError(str(error)) from error


def _as_sequence(value: object) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)
