"""Outputters for programs and pipes: json, yaml, txt, raw, pprint, quiet, newline_values_only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from saltlite.core.plain import Plain
from saltlite.outputters import nested
from saltlite.outputters.options import OutputOptions


def output_json(data: Plain, options: OutputOptions) -> str:
    """JSON, indented by 4; a negative indentation gives one line. What JSON has not is ``repr``."""
    import json

    indent = 4 if options.output_indent is None else options.output_indent
    return json.dumps(
        data, indent=None if indent < 0 else indent, ensure_ascii=False, default=_json_default
    )


def _json_default(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)


def output_yaml(data: Plain, options: OutputOptions) -> str:
    """YAML in block style, keys sorted."""
    from saltlite.config.yaml import dump

    indent = options.output_indent
    return dump(data, indent=indent if indent is not None and indent > 0 else 2).rstrip("\n")


def output_txt(data: Plain, options: OutputOptions) -> str:
    """``id: line`` for every line of every return, so that ``grep`` and ``cut`` do."""
    if not isinstance(data, Mapping):
        return str(data)
    lines = (f"{key}: {line}" for key, value in data.items() for line in str(value).splitlines())
    return "\n".join(lines).rstrip()


def output_raw(data: Plain, options: OutputOptions) -> str:
    """Python's own notation."""
    return str(data)


def output_pprint(data: Plain, options: OutputOptions) -> str:
    """Python's own notation, wrapped."""
    import pprint

    return pprint.pformat(data)


def output_quiet(data: Plain, options: OutputOptions) -> str:
    """Nothing."""
    return ""


def output_newline_values_only(data: Plain, options: OutputOptions) -> str:
    """The values alone, one per line; lists one level deep are opened."""
    if isinstance(data, Mapping):
        values: Iterable[Plain] = (data[key] for key in data)
        return "\n".join(str(line) for value in values for line in _opened(value))
    if isinstance(data, (list, tuple)):
        return nested.output(data, options)
    return str(data)


def _opened(value: Plain) -> Iterable[Plain]:
    return value if isinstance(value, (list, tuple)) else [value]
