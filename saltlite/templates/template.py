"""One text template, by any of the engines.

The registry of engines is this table; each engine is a module that is imported when the first
template asks for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import RenderError
from saltlite.templates.names import SaltFunctions, file_names
from saltlite.templates.own import own_data

ENGINES: Mapping[str, str] = {
    "jinja": "saltlite.templates.jinja",
    "mako": "saltlite.templates.mako",
    "py": "saltlite.templates.python",
}
"""Engines that make text of text, and the module whose ``render_text`` does it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template and where it stands.

    ``name`` is its path below the root of its environment, ``path`` what errors call it.
    ``variables`` are all names it sees.
    """

    text: str
    path: str
    name: str
    saltenv: str
    sls: str
    variables: Mapping[str, Any] = field(default_factory=dict)


def render_template(
    text: str,
    engine: str,
    ctx: MinionContext,
    *,
    saltenv: str = "base",
    sls: str | None = None,
    context: Mapping[str, object] | None = None,
    defaults: Mapping[str, object] | None = None,
    path: str = "",
    name: str = "",
) -> str:
    """The text that ``engine`` (``jinja``, ``mako``, ``py``) makes of ``text``.

    The template sees ``salt``, ``grains``, ``pillar``, ``opts``, ``saltenv``, and on top
    ``defaults``, then ``context``. That of an SLS, or of a renderer's pipe, sees ``sls`` (may be
    empty), ``proxy`` and the names of its file too; those of files do not, as in Salt. ``path`` is
    for errors and ``tplpath``; ``name`` is the path below the root of its environment, for
    ``tpldir`` and relative imports.

    Raises:
        RenderError: it does not render; has path, line and the lines around.
    """
    module = ENGINES.get(engine)
    if module is None:
        known = ", ".join(sorted(ENGINES))
        raise RenderError(f"no such template engine: {engine} (there are {known})", path=path)
    variables = {
        **base_variables(ctx, saltenv, sls),
        **(file_names(sls, path, name) if sls is not None and (sls or name) else {}),
        **(defaults or {}),
        **(context or {}),
    }
    template = Template(
        text=text,
        path=path,
        name=str(variables.get("tplfile") or name),
        saltenv=saltenv,
        sls=sls or "",
        variables=variables,
    )
    rendered: str = importlib.import_module(module).render_text(template, ctx)
    return rendered


def base_variables(ctx: MinionContext, saltenv: str, sls: str | None) -> dict[str, Any]:
    """What every template sees; ``sls`` is ``None`` for those that are no part of an SLS."""
    return {
        "salt": SaltFunctions(ctx),
        **own_data(ctx),
        "saltenv": saltenv,
        **({} if sls is None else {"sls": sls, "proxy": {}}),
    }
