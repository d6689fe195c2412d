"""Mako templates, if the package ``Mako`` is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from saltlite.errors import RenderError

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.template import Template


def render_text(template: Template, ctx: MinionContext) -> str:
    """Render a template; Mako has no sandbox.

    Raises:
        RenderError: it does not render, or Mako is not installed.
    """
    try:
        from mako import exceptions  # type: ignore[import-not-found]  # optional
        from mako.template import Template as Mako  # type: ignore[import-not-found]  # optional
    except ImportError:
        raise RenderError("the package Mako is not installed", path=template.path) from None
    try:
        compiled = Mako(template.text, strict_undefined=True)  # noqa: S702 - makes no HTML
        rendered: str = compiled.render_unicode(**template.variables)
    except Exception as error:
        line = exceptions.RichTraceback(error=error).lineno
        raise RenderError(f"Mako error: {error}", path=template.path, line=line) from error
    return rendered
