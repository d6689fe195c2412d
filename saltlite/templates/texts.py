"""Renderers that make text of text: the template engines as stages of a pipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from saltlite.errors import RenderError
from saltlite.templates.jinja_options import is_plain, read_options
from saltlite.templates.names import opts_of
from saltlite.templates.template import render_template

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.pipe import TemplateSource

FROM_INPUT: Final = "-s"
"""An option that says what is so anyway: the text is what came before."""


def renderer_of(engine: str) -> Callable[[Any, TemplateSource, MinionContext, str], Any]:
    """The renderer that has this template engine make text of text."""

    def render(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> str:
        if argument not in ("", FROM_INPUT):
            raise RenderError(f"Unknown renderer option: {argument}", path=source.path, line=1)
        text = str(data)
        if engine == "jinja" and is_plain(text, read_options(source.sls, opts_of(ctx))):
            return text  # what it would see need not be made
        return render_template(
            text,
            engine,
            ctx,
            saltenv=source.saltenv,
            sls=source.sls,
            context=source.variables,
            path=source.path,
            name=source.name,
        )

    return render
