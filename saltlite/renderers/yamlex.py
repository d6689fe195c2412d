"""YAML whose values may be joined: ``!aggregate`` and ``!reset``, and keys that may come again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltlite.errors import ConfigError, RenderError
from saltlite.templates.excerpt import excerpt, yaml_hint

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.templates.pipe import TemplateSource


def render(data: object, source: TemplateSource, ctx: MinionContext, argument: str) -> Any:
    """The value of a YAML text in which tags say how values of the same key are joined.

    Raises:
        RenderError: it is not YAML.
    """
    from saltlite.config.yaml import YamlError, load_aggregated

    if not isinstance(data, str):
        return data
    try:
        value = load_aggregated(data, source.path)
    except ConfigError as error:
        finding = error.finding if isinstance(error, YamlError) else error.problem
        hint = yaml_hint(finding, data, error.line)
        text = excerpt(data, error.line, hint) if error.line else ""
        raise RenderError(
            finding, path=source.path, line=error.line, excerpt=text, hint=hint
        ) from error
    return {} if value is None else value
