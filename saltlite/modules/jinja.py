"""Look at what maps and files of formulas give inside templates."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import UsageError


def load_map(ctx: MinionContext, path: str, value: str) -> Any:
    """A variable of a template, as another template that imports it with context sees it.

    CLI Example:

        salt '*' jinja.load_map myformula/map.jinja myformula
    """
    if not str(value).isidentifier():
        raise UsageError(f"not the name of a variable: {value!r}")
    return _render_text(
        ctx,
        f"{{% from {_quote_path(path)} import {value} with context %}}\n{{{{ {value} | tojson }}}}",
    )


def import_yaml(ctx: MinionContext, path: str, saltenv: str = "base") -> Any:
    """What ``import_yaml`` gives for a file.

    CLI Example:

        salt '*' jinja.import_yaml myformula/foo.yaml
    """
    return _import_file(ctx, "yaml", path, saltenv)


def import_json(ctx: MinionContext, path: str, saltenv: str = "base") -> Any:
    """What ``import_json`` gives for a file.

    CLI Example:

        salt '*' jinja.import_json myformula/foo.json
    """
    return _import_file(ctx, "json", path, saltenv)


def _import_file(ctx: MinionContext, kind: str, path: str, saltenv: str) -> Any:
    text = f"{{% import_{kind} {_quote_path(path)} as imported %}}\n{{{{ imported | tojson }}}}"
    return _render_text(ctx, text, saltenv)


def _quote_path(path: str) -> str:
    """A path as a text in a template."""
    import json

    return json.dumps(path, ensure_ascii=False)


def _render_text(ctx: MinionContext, text: str, saltenv: str = "base") -> Any:
    from saltlite.templates.pipe import TemplateSource, place_names, render

    source = TemplateSource(
        text=text, saltenv=saltenv, variables=place_names(":string:", ":string:")
    )
    return render(source, ctx, renderer="jinja|json")
