"""The renderer ``json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from saltlite.templates.serialized import parse_error, without_first_line

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.pipe import TemplateSource


def render(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> Any:
    """The value of a JSON text, without its ``#!`` line.

    Raises:
        RenderError: it is not JSON.
    """
    if not isinstance(data, str):
        return data
    text = without_first_line(data)
    try:
        value = json.loads(text)
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise parse_error(str(error), source, text, line) from error
    return value or {}
