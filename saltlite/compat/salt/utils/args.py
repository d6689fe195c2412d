"""``salt.utils.args``."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from saltlite.compat.salt.exceptions import SaltInvocationError
from saltlite.loader.arguments import parse_argument, split_keyword


class ArgSpec(NamedTuple):
    """How a function is called."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def clean_kwargs(**kwargs: Any) -> dict[str, Any]:
    """Keyword arguments without those that Salt adds (``__pub_jid`` …)."""
    return {key: value for key, value in kwargs.items() if not key.startswith("__")}


def invalid_kwargs(invalid: Any, raise_exc: bool = True) -> str:
    """Complain about keyword arguments, even of none; raises SaltInvocationError if told to."""
    words = [f"{key}={value}" for key, value in invalid.items()] if isinstance(
        invalid, dict
    ) else list(invalid)  # fmt: skip
    text = f"The following keyword arguments are not valid: {', '.join(words)}"
    if raise_exc:
        raise SaltInvocationError(text)
    return text


def get_function_argspec(func: Callable[..., Any], is_class_method: bool | None = None) -> ArgSpec:
    """How a function is called.

    Raises:
        TypeError: it cannot be called.
    """
    if not callable(func):
        raise TypeError(f"'{func}' is not a callable")
    each = inspect.signature(func).parameters.values()
    named = [one for one in each if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    defaults = tuple(one.default for one in named if one.default is not one.empty)
    stars = next((one.name for one in each if one.kind is one.VAR_POSITIONAL), None)
    keywords = next((one.name for one in each if one.kind is one.VAR_KEYWORD), None)
    return ArgSpec([one.name for one in named], stars, keywords, defaults or None)


def arg_lookup(fun: Callable[..., Any], aspec: ArgSpec | None = None) -> dict[str, Any]:
    """The names of a function's arguments and the defaults of its keywords."""
    spec = aspec or get_function_argspec(fun)
    defaults = spec.defaults or ()
    first = len(spec.args) - len(defaults)
    return {
        "args": spec.args[:first],
        "kwargs": dict(zip(spec.args[first:], defaults, strict=True)),
    }


def yamlify_arg(arg: object) -> Any:
    """The value that a word on the command line stands for."""
    return parse_argument(arg) if isinstance(arg, str) else arg


def condition_input(args: Sequence[object], kwargs: dict[str, Any] | None) -> list[Any]:
    """Arguments and keyword arguments in one list, as jobs carry them."""
    return [*args, {**kwargs, "__kwarg__": True}] if kwargs else list(args)


def parse_input(
    args: Sequence[Any], condition: bool = True, no_parse: Sequence[str] | None = None
) -> Any:
    """Words of a command line as arguments, the keywords in one map at the end."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for arg in args:
        name, text = split_keyword(arg) if isinstance(arg, str) else (None, arg)
        if name is None:
            positional.append(yamlify_arg(arg))
        else:
            keywords[name] = text if name in (no_parse or ()) else parse_argument(text)
    if condition:
        return condition_input(positional, keywords)
    return positional, keywords


def parse_kwarg(string_: str) -> tuple[str | None, str | None]:
    """``name=value`` taken apart; both are ``None`` if it is not of that form."""
    name, text = split_keyword(string_)
    return (None, None) if name is None else (name, text)


def parse_function(s: str) -> tuple[str | None, list[Any] | None, dict[str, Any] | None]:
    """``mod.fun(a, b=1)`` taken apart; all ``None`` if it is not of that form."""
    if not s.rstrip().endswith(")") or "(" not in s:
        return None, None, None
    name, _, inside = s.rstrip()[:-1].partition("(")
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for word in split_input(inside) if inside.strip() else []:
        key, text = split_keyword(word)
        if key is None:
            args.append(word)
        else:
            kwargs[key] = text
    return name, args, kwargs


def shlex_split(s: object, **kwargs: Any) -> Any:
    """A text split as a shell does; anything else stays."""
    return shlex.split(s, **kwargs) if isinstance(s, str) else s


def split_input(val: object, mapper: Callable[[Any], Any] | None = None) -> Any:
    """A list of what commas separate; a list stays."""
    mapper = mapper or (lambda each: each)
    if isinstance(val, list):
        return [mapper(each) for each in val]
    return [mapper(each.strip()) for each in str(val).split(",")]


def test_mode(**kwargs: Any) -> bool:
    """Whether the arguments ask for a dry run."""
    return any(
        key.lower() in ("test", "dry-run", "dry_run") and bool(value) and value != "False"
        for key, value in kwargs.items()
    )


def format_call(
    fun: Callable[..., Any],
    data: dict[str, Any],
    initial_ret: dict[str, Any] | None = None,
    expected_extra_kws: Sequence[str] = (),
    is_class_method: bool | None = None,
) -> dict[str, Any]:
    """``{"args": …, "kwargs": …}`` to call a function with what is in a map.

    Raises:
        SaltInvocationError: something is missing.
    """
    spec = get_function_argspec(fun)
    known = arg_lookup(fun, spec)
    missing = [name for name in known["args"] if name not in data]
    if missing:
        raise SaltInvocationError(
            f"{getattr(fun, '__name__', fun)} takes at least {len(known['args'])} argument"
            f" ({len(known['args']) - len(missing)} given)"
        )
    kwargs = {name: data.get(name, default) for name, default in known["kwargs"].items()}
    if spec.keywords is not None:
        kwargs.update({key: value for key, value in data.items() if key not in spec.args})
    return {
        **(initial_ret or {}),
        "args": [data[name] for name in known["args"]],
        "kwargs": kwargs,
    }
