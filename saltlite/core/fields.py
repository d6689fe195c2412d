"""Options as values: a class of fields made of the map that a user, a state or a file gave.

The map ends where it comes in; past it a name that is misspelt is found by the type checker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from saltlite.core.dataclasses import fields

Options = TypeVar("Options")
Value = TypeVar("Value")

Readers = Mapping[str, "Callable[[Any], object]"]
"""What makes a given value one of the type that a field is declared with, by that type's text."""

NONE: Readers = {}


def read_fields(
    kind: type[Options], given: Mapping[str, object], readers: Readers = NONE
) -> Options:
    """A value of a class with what was given for its fields; what it has no field for is left."""
    declared: Any = kind
    # Annotations are texts here, so that a reader is found without evaluating any.
    found = {one.name: str(one.type) for one in fields(declared) if one.name in given}
    return kind(
        **{
            name: readers[type_](given[name]) if type_ in readers else given[name]
            for name, type_ in found.items()
        }
    )


def require(value: Value | None, name: str) -> Value:
    """A field that this request cannot do without; raises KeyError with its name."""
    if value is None:
        raise KeyError(name)
    return value


def write_fields(value: object) -> dict[str, Any]:
    """The fields of a value as a map, to be sent or shown; what is within stays as it is."""
    declared: Any = value
    return {one.name: getattr(declared, one.name) for one in fields(declared)}
