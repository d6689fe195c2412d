"""The renderer ``yaml``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltlite.errors import ConfigError

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.pipe import TemplateSource


def render(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> Any:
    """The value of a YAML text; an empty one, ``0`` and ``false`` are an empty map.

    Raises:
        RenderError: it is not YAML; a key set twice is an error.
    """
    from saltlite.templates.parsed import load_yaml

    if not isinstance(data, str):
        return data
    try:
        value = load_yaml(data, source.path)
    except ConfigError as error:
        from saltlite.config.yaml import YamlError
        from saltlite.templates.excerpt import yaml_hint
        from saltlite.templates.serialized import parse_error

        finding = error.finding if isinstance(error, YamlError) else error.problem
        hint = yaml_hint(finding, data, error.line)
        raise parse_error(finding, source, data, error.line, hint) from error
    return value or {}
