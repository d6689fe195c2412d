"""A Jinja that prints every value as JSON unless it is marked ``|safe``.

For templates that print what strangers say (``reactor_strict``): a text then is one value of YAML,
whatever is in it. What filters made for this give (``|json``, ``|yaml_encode``), macros and blocks
stand as they are, once; a text that is made of them is a text again, and is quoted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Final

import jinja2

from saltlite.core.lazyregex import regex

QUOTING_FILTERS: Final = frozenset(
    ("json", "tojson", "yaml", "yaml_dquote", "yaml_encode", "yaml_squote")
)

_UNPRINTABLE: Final = regex("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
"""What JSON lets stand, and YAML does not."""


class Verbatim(str):
    """A text that is printed as it is. What is made of it is a plain text."""

    __slots__ = ()


class Quoting(jinja2.Environment):
    """Quotes around what is printed, for an environment that has this as its first parent."""

    def quote_all(self) -> None:
        """Begin with it, once all filters are there."""
        self.finalize = quote
        for name in QUOTING_FILTERS & self.filters.keys():
            self.filters[name] = _verbatim_filter(self.filters[name])
        self.filters["safe"] = Verbatim

    def concat(self, pieces: Iterable[str]) -> str:
        """The text of a block or a macro: its values are quoted already."""
        return Verbatim(super().concat(pieces))


def quote(value: object) -> str:
    """What is printed for a value."""
    if isinstance(value, Verbatim):
        return value
    if isinstance(value, jinja2.Undefined):
        return str(value)  # raises, and says what is missing
    text = json.dumps(value, ensure_ascii=False, default=_plain_value)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _plain_value(value: Any) -> Any:
    return dict(value) if hasattr(value, "keys") else str(value)


def _verbatim_filter(function: Callable[..., Any]) -> Callable[..., Verbatim]:
    """A filter whose text stands as it is; Jinja hands it the same first argument."""

    @wraps(function)
    def print_verbatim(*args: Any, **kwargs: Any) -> Verbatim:
        return Verbatim(function(*args, **kwargs))

    return print_verbatim
