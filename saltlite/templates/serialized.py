"""What the renderers of data have in common: the text they parse, and the error if they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from saltlite.errors import RenderError
from saltlite.templates.excerpt import excerpt

if TYPE_CHECKING:
    from saltlite.templates.pipe import TemplateSource


def parse_error(
    problem: str, source: TemplateSource, text: str, line: int | None, hint: str = ""
) -> RenderError:
    """The error of a text that is not what it should be, with the lines around."""
    lines = excerpt(text, line, hint) if line else ""
    return RenderError(problem, path=source.path, line=line, excerpt=lines, hint=hint)


def without_first_line(text: str) -> str:
    """The text without a ``#!`` line."""
    return text.partition("\n")[2] if text.startswith("#!") else text
