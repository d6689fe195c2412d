"""SLS files and templates written in Python: the function ``run`` gives the result.

Such a file is code that the administrator put on the file server; it runs as Salt's does, without
any sandbox.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from saltlite.errors import RenderError

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.pipe import TemplateSource
    from saltlite.templates.template import Template

MODULE = "saltlite_py_template"


class _Text(importlib.abc.SourceLoader):
    """The text of one file as the import system wants it; no byte code is kept."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path

    def get_filename(self, fullname: str) -> str:
        """The file's path, for tracebacks."""
        return self._path

    def get_data(self, path: str | bytes) -> bytes:
        """The text."""
        return self._text.encode()


def execute(text: str, path: str, names: Mapping[str, object]) -> dict[str, Any]:
    """Run a file that begins with these names; all names it has then."""
    module = ModuleType(MODULE)
    module.__file__ = path
    vars(module).update(names)
    _Text(text, path).exec_module(module)
    return vars(module)


def run(text: str, path: str, variables: Mapping[str, object]) -> Any:
    """What the function ``run`` of a Python file returns.

    Its globals are ``variables`` and, as dunders, ``__salt__``, ``__grains__``, ``__opts__``,
    ``__pillar__``, ``__env__`` and ``__sls__``.

    Raises:
        RenderError: it is not Python, has no ``run``, or raises; line of the file where known.
    """
    try:
        names = execute(text, path, {**variables, **_make_dunders(variables)})
        function = names.get("run")
        if not callable(function):
            raise RenderError("has no function run", path=path)
        return function()
    except RenderError:
        raise
    except Exception as error:
        raise build_error(error, text, path) from error


def _make_dunders(variables: Mapping[str, object]) -> dict[str, Any]:
    names = ("salt", "grains", "opts", "pillar", "sls")
    found = {f"__{name}__": variables.get(name) for name in names}
    return {**found, "__env__": variables.get("saltenv")}


def build_error(error: Exception, text: str, path: str) -> RenderError:
    """What an error of a Python file is told as: with the line of the file, where known."""
    from saltlite.templates.excerpt import excerpt

    line = error.lineno if isinstance(error, SyntaxError) else _line_of_error(error, path)
    return RenderError(
        f"{type(error).__name__}: {error}",
        path=path,
        line=line,
        excerpt=excerpt(text, line) if line else "",
    )


def _line_of_error(error: Exception, path: str) -> int | None:
    """The line of the file that the error passed through last."""
    line = None
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == path:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def render_text(template: Template, ctx: MinionContext) -> str:
    """The text that ``run`` of a template returns.

    Raises:
        RenderError: as :func:`run`.
    """
    return str(run(template.text, template.path or ":string:", template.variables))


def require_file(source: TemplateSource) -> None:
    """Refuse a text of Python that a caller gave.

    Raises:
        RenderError: it is no file.
    """
    if not os.path.isabs(source.path) and "://" not in source.path:
        raise RenderError(f"Template {source.path or ':string:'} is not a file!", path="")
