"""Outputters for programs and pipes: json, yaml, txt, raw, pprint, quiet, newline_values_only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from saltlite.core.plain import Plain
from saltlite.core.terminal import is_safe
from saltlite.outputters import nested
from saltlite.outputters.options import OutputOptions


def output_json(data: Plain, options: OutputOptions) -> str:
    """JSON, indented by 4; a negative indentation gives one line. What JSON has not is ``repr``."""
    from saltlite.core.jsontext import dump_json

    indent = 4 if options.output_indent is None else options.output_indent
    return dump_json(data, indent=None if indent < 0 else indent)


def output_yaml(data: Plain, options: OutputOptions) -> str:
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


def output_txt(data: Plain, options: OutputOptions) -> str:
    """``id: line`` for every line of every return, so that ``grep`` and ``cut`` do."""
    if not isinstance(data, Mapping):
        return options.clean(str(data))
    lines = (f"{key}: {line}" for key, value in data.items() for line in str(value).splitlines())
    return "\n".join(options.clean(line) for line in lines).rstrip()


def output_raw(data: Plain, options: OutputOptions) -> str:
    """Python's own notation."""
    return options.clean(str(data))


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
        return "\n".join(options.clean(str(line)) for value in values for line in _opened(value))
    if isinstance(data, (list, tuple)):
        return nested.output(data, options)
    return options.clean(str(data))


def _opened(value: Plain) -> Iterable[Plain]:
    return value if isinstance(value, (list, tuple)) else [value]
