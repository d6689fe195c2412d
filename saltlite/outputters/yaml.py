"""The outputter ``yaml``."""

from __future__ import annotations

from collections.abc import Mapping

from saltlite.core.output_options import OutputOptions
from saltlite.core.plain import Plain
from saltlite.core.terminal import is_safe


def output(data: Plain, options: OutputOptions) -> str:
    """YAML in block style, keys sorted."""
    from saltlite.config.yaml import dump

    indent = options.output_indent
    columns = indent if indent is not None and indent > 0 else 2
    try:
        text = dump(data, indent=columns)
    except UnicodeEncodeError:  # bytes that are no UTF-8 came as halves of surrogate pairs
        data = _without_surrogates(data)
        text = dump(data, indent=columns)
    if not is_safe(text):  # YAML lets pass what turns the direction of writing
        text = dump(data, indent=columns, allow_unicode=False)
    return text.rstrip("\n")


def _without_surrogates(value: Plain) -> Plain:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {
            str(_without_surrogates(key)): _without_surrogates(item) for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_without_surrogates(item) for item in value]
    return value
