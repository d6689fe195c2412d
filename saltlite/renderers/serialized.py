"""Renderers that make data of text: YAML, JSON, TOML; and the one that leaves text alone."""

from __future__ import annotations

import json as json_format
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from saltlite.errors import ConfigError, RenderError
from saltlite.renderers.excerpt import excerpt, yaml_hint

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.renderers.engine import Source


def yaml(data: Any, source: Source, ctx: MinionContext, argument: str) -> Any:
    """The value of a YAML text; an empty one, ``0`` and ``false`` are an empty map.

    Raises:
        RenderError: it is not YAML; a key set twice is an error.
    """
    from saltlite.config.yaml import YamlError
    from saltlite.renderers.parsed import load_yaml

    if not isinstance(data, str):
        return data
    try:
        value = load_yaml(data, source.path)
    except ConfigError as error:
        finding = error.finding if isinstance(error, YamlError) else error.problem
        hint = yaml_hint(finding, data, error.line)
        raise _failed(finding, source, data, error.line, hint) from error
    return value or {}


def _failed(
    problem: str, source: Source, text: str, line: int | None, hint: str = ""
) -> RenderError:
    lines = excerpt(text, line, hint) if line else ""
    return RenderError(problem, path=source.path, line=line, excerpt=lines, hint=hint)


def json(data: Any, source: Source, ctx: MinionContext, argument: str) -> Any:
    """The value of a JSON text, without its ``#!`` line.

    Raises:
        RenderError: it is not JSON.
    """
    if not isinstance(data, str):
        return data
    text = _without_first(data)
    try:
        value = json_format.loads(text)
    except ValueError as error:
        line = error.lineno if isinstance(error, json_format.JSONDecodeError) else None
        raise _failed(str(error), source, text, line) from error
    return value or {}


def _without_first(text: str) -> str:
    return text.partition("\n")[2] if text.startswith("#!") else text


def toml(data: Any, source: Source, ctx: MinionContext, argument: str) -> Any:
    """The value of a TOML text; needs Python 3.11 or the package ``tomli``.

    Raises:
        RenderError: it is not TOML, or nothing here reads it.
    """
    try:
        import tomllib  # type: ignore[import-not-found,unused-ignore]  # since Python 3.11
    except ImportError:
        raise RenderError("renderer 'toml' needs Python 3.11", path=source.path) from None
    try:
        return tomllib.loads(_without_first(str(data)))
    except tomllib.TOMLDecodeError as error:
        raise RenderError(str(error), path=source.path) from error


def text(data: Any, source: Source, ctx: MinionContext, argument: str) -> Any:
    """The text as it is, without a ``#!`` line."""
    return _without_first(data) if isinstance(data, str) else data


STAGES: Mapping[str, Callable[[Any, Source, MinionContext, str], Any]] = {
    "json": json,
    "text": text,
    "toml": toml,
    "yaml": yaml,
}
