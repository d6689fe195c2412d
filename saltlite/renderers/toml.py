"""The renderer ``toml``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltlite.errors import RenderError
from saltlite.templates.serialized import without_first_line

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.pipe import TemplateSource


def render(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> Any:
    """The value of a TOML text; needs Python 3.11 or the package ``tomli``.

    Raises:
        RenderError: it is not TOML, or nothing here reads it.
    """
    try:
        import tomllib  # type: ignore[import-not-found,unused-ignore]  # since Python 3.11
    except ImportError:
        raise RenderError("renderer 'toml' needs Python 3.11", path=source.path) from None
    try:
        return tomllib.loads(without_first_line(str(data)))
    except tomllib.TOMLDecodeError as error:
        raise RenderError(str(error), path=source.path) from error
