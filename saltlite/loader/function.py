"""A function that was found by its name, of ours or of a user's file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.core.docstrings import clean_docstring


@dataclass(frozen=True, slots=True)
class Function:
    """A function that is ready to be called.

    ``text`` is its docstring as it was written, ``outputter`` ``None`` for the default one.
    """

    name: str
    call: Callable[..., Any]
    text: str | None
    outputter: str | None

    @property
    def doc(self) -> str | None:
        """The docstring as Salt's tools show it."""
        return self.text if is_user_function(self.call) else documentation(self.text)


def is_user_function(function: Callable[..., Any]) -> bool:
    """Whether a function comes from a user's file."""
    return (getattr(function, "__module__", None) or "").startswith("salt.loaded.")


def documentation(text: str | None) -> str | None:
    """A docstring as Salt's tools show it: a line feed, the text indented by four, a line feed."""
    if not text:
        return None
    lines = clean_docstring(text).splitlines()
    body = "\n".join(f"    {line}" if line else "" for line in lines)
    return f"\n{body}\n    "
