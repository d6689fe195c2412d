"""Renderers that make text of text: the template engines as stages of a pipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from saltlite.renderers.template import render_template

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.renderers.engine import Source


def _stage(engine: str) -> Callable[[Any, Source, MinionContext, str], Any]:
    def render(data: Any, source: Source, ctx: MinionContext, argument: str) -> str:
        return render_template(
            str(data),
            engine,
            ctx,
            saltenv=source.saltenv,
            sls=source.sls,
            context=source.variables,
            path=source.path,
            name=source.name,
        )

    return render


STAGES: Mapping[str, Callable[[Any, Source, MinionContext, str], Any]] = {
    "jinja": _stage("jinja"),
    "mako": _stage("mako"),
}
