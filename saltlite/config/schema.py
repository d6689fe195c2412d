"""How an option is declared and how its value is checked.

A section is a frozen, slotted, keyword-only dataclass; a field's name is Salt's option, so there is
one word from the user's file to the code::

    worker_threads: int = option(5, "Processes that answer requests.", minimum=1)

The type that the checker sees is the type that the file's value is held to: the annotation's text
is looked up in :data:`KINDS`. Defaults are not checked at run time (a test checks them all): a
command pays only for the options that its file sets.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from saltlite.core import dataclasses
from saltlite.core.dataclasses import dataclass
from saltlite.core.numbers import read_float, read_int
from saltlite.errors import ConfigError, WrongType

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OptionSource:
    """Where a value was set; ``line`` is ``None`` for the command line and the environment."""

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


def option(
    default: T,
    sentence: str,
    *,
    unit: str | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[str] | None = None,
    rooted: bool = False,
    secret: bool = False,
    name: str | None = None,
) -> T:
    """Declare one option of a section.

    ``rooted`` paths are put below ``root_dir`` when the configuration is loaded. The value of a
    ``secret`` is never shown. ``name`` is Salt's word where Python does not allow it as a name.
    """
    metadata = {
        "sentence": sentence,
        "unit": unit,
        "minimum": minimum,
        "maximum": maximum,
        "choices": choices,
        "rooted": rooted,
        "secret": secret,
        "name": name,
    }
    if isinstance(default, dict | list):
        field: T = dataclasses.field(
            default_factory=partial(copy.deepcopy, default), metadata=metadata
        )
        return field
    plain: T = dataclasses.field(default=default, metadata=metadata)
    return plain


def find_sections(config: type[Any]) -> Mapping[str, type[Any]]:
    """The sections of a configuration by their names, in order: its fields that are classes."""
    found: dict[str, Any] = {}
    for one in dataclasses.fields(config):
        if dataclasses.is_dataclass(one.default_factory):
            found[one.name] = one.default_factory
    return found


def options(section: type[Any]) -> Iterator[dataclasses.Field[Any]]:
    """The declared options of a section class, in order."""
    return iter(dataclasses.fields(section))


def option_name(field: dataclasses.Field[Any]) -> str:
    """Salt's name of the option."""
    name: str = field.metadata["name"] or field.name
    return name


def default_of(field: dataclasses.Field[Any]) -> Any:
    """A fresh copy of the option's default."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


class _Unfit(Exception):
    """The value is not of the kind and cannot be taken for it."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """What values an annotation allows: words for people, and the check that may convert."""

    words: str
    take: Callable[[Any], Any]
    nullable: bool = False


_BOOL_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _take_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in _BOOL_WORDS:
        return _BOOL_WORDS[value.strip().lower()]
    raise _Unfit


def _take_int(value: object) -> int:
    if value is False:  # `ping_interval: False` is how people write "off"
        return 0
    if isinstance(value, bool):
        raise _Unfit
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        try:
            return read_int(value.strip())
        except ValueError:
            raise _Unfit from None
    raise _Unfit


def _take_float(value: object) -> float:
    if isinstance(value, float) and not isinstance(value, bool):
        if value != value or value in (float("inf"), float("-inf")):
            raise _Unfit
        return value
    try:
        return _take_int(value)
    except _Unfit:
        if not isinstance(value, str):
            raise
    try:
        return _take_float(read_float(value.strip()))
    except ValueError:
        raise _Unfit from None


def _take_str(value: object) -> str:
    if isinstance(value, str):
        if "\0" in value:
            raise _Unfit
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise _Unfit


def _take_list(value: object) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    raise _Unfit


def _take_str_list(value: object) -> list[str]:
    if isinstance(value, str):
        return [_take_str(value)] if value else []
    return [_take_str(item) for item in _take_list(value)]


def _take_map(value: object) -> dict[Any, Any]:
    if isinstance(value, dict):
        return value
    raise _Unfit


def _take_roots(value: object) -> dict[str, list[str]]:
    return {
        _take_str(env): [] if dirs is None else _take_str_list(dirs)
        for env, dirs in _take_map(value).items()
    }


def _take_str_or_list(value: object) -> str | list[str]:
    if isinstance(value, list | tuple):
        return _take_str_list(value)
    return _take_str(value)


def _take_bool_or_list(value: object) -> bool | list[str]:
    if isinstance(value, list | tuple):
        return _take_str_list(value)
    return _take_bool(value)


def _take_bool_or_str(value: object) -> bool | str:
    return value if isinstance(value, bool) else _take_str(value)


def _take_bool_or_map(value: object) -> bool | dict[Any, Any]:
    return value if isinstance(value, dict) else _take_bool(value)


def _take_map_or_list(value: object) -> dict[Any, Any] | list[Any]:
    return value if isinstance(value, dict) else _take_list(value)


def _take_anything(value: object) -> Any:
    return value


_PLAIN_KINDS = {
    "bool": ValueKind("True or False", _take_bool),
    "int": ValueKind("whole number", _take_int),
    "float": ValueKind("number", _take_float),
    "str": ValueKind("text", _take_str),
    "Sequence[str]": ValueKind("list of texts", _take_str_list),
    "Sequence[Any]": ValueKind("list", _take_list),
    "Mapping[str, Any]": ValueKind("map", _take_map),
    "Mapping[str, Sequence[str]]": ValueKind("map of lists of texts", _take_roots),
    "Mapping[str, Any] | Sequence[Any]": ValueKind("map or list", _take_map_or_list),
    "str | Sequence[str]": ValueKind("text or list of texts", _take_str_or_list),
    "bool | Sequence[str]": ValueKind("True, False or list of texts", _take_bool_or_list),
    "bool | Mapping[str, Any]": ValueKind("True, False or map", _take_bool_or_map),
    "bool | str": ValueKind("True, False or text", _take_bool_or_str),
}

KINDS: Mapping[str, ValueKind] = {
    **_PLAIN_KINDS,
    **{
        f"{text} | None": ValueKind(f"{kind.words}, or nothing", kind.take, nullable=True)
        for text, kind in _PLAIN_KINDS.items()
    },
    "Any": ValueKind("anything", _take_anything, nullable=True),
}
"""Every annotation an option may have. Annotations are text: no evaluation, no introspection."""


def check(field: dataclasses.Field[Any], value: object, source: OptionSource) -> Any:
    """The value as the option's type.

    Salt's users rely on some leniency: text for a number (``'5'``), a number for text (``id: 7``),
    one text for a list of one, and a key without a value for "not set".

    Raises:
        WrongType: the value is of another type.
        ConfigError: it is not what the option allows.
    """
    kind = KINDS[str(field.type)]
    if value is None:
        return None if kind.nullable else default_of(field)
    try:
        taken = kind.take(value)
    except _Unfit:
        raise _refuse_value(field, value, source, WrongType) from None
    if not _is_within_limits(field, taken):
        raise _refuse_value(field, value, source)
    return taken


def _is_within_limits(field: dataclasses.Field[Any], value: object) -> bool:
    limits = field.metadata
    if isinstance(value, int | float) and not isinstance(value, bool):
        minimum, maximum = limits["minimum"], limits["maximum"]
        return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)
    if isinstance(value, str) and limits["choices"] is not None:
        return value in limits["choices"]
    return True


def _refuse_value(
    field: dataclasses.Field[Any],
    value: object,
    source: OptionSource,
    kind: type[ConfigError] = ConfigError,
) -> ConfigError:
    found = type_words(value) if field.metadata["secret"] else describe_found(value)
    return kind(
        f"found {found}, allowed: {describe_allowed(field)}",
        path=source.path,
        line=source.line,
        option=option_name(field),
    )


def describe_allowed(field: dataclasses.Field[Any]) -> str:
    """What the option allows, for people: ``whole number, 1 or more``."""
    limits = field.metadata
    words = KINDS[str(field.type)].words
    if limits["choices"] is not None:
        words = "one of " + ", ".join(repr(choice) for choice in limits["choices"])
    minimum, maximum = limits["minimum"], limits["maximum"]
    if minimum is not None and maximum is not None:
        words += f", {minimum:g} to {maximum:g}"
    elif minimum is not None:
        words += f", {minimum:g} or more"
    elif maximum is not None:
        words += f", {maximum:g} or less"
    return words


_TYPE_WORDS = {
    bool: "True or False",
    int: "whole number",
    float: "number",
    str: "text",
    list: "list",
    dict: "map",
}

_LONGEST_SHOWN = 60


def describe_found(value: object) -> str:
    """What was found, for people, on one line: ``'many' (text)``."""
    shown = repr(value)
    if len(shown) > _LONGEST_SHOWN:
        shown = shown[:_LONGEST_SHOWN] + "…"
    return f"{shown} ({type_words(value)})"


def type_words(value: object) -> str:
    """The type of a value from a file, for people."""
    return _TYPE_WORDS.get(type(value), type(value).__name__)
