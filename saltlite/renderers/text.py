"""The renderer ``text``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltlite.templates.serialized import without_first_line

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.pipe import TemplateSource


def render(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> Any:
    """The text as it is, without a ``#!`` line."""
    return without_first_line(data) if isinstance(data, str) else data
