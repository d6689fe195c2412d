"""How minions that did not return are shown: the name, and the sentence about it in red."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saltlite.core.output_options import CYAN, RED, OutputOptions
from saltlite.core.plain import Plain
from saltlite.outputters.nested import sorted_keys


def output(data: Plain, options: OutputOptions) -> str:
    """Names and texts only; other values are left out."""
    return "\n".join(_format_lines(data, options, 0))


def _format_lines(data: Plain, options: OutputOptions, indent: int) -> Iterator[str]:
    if isinstance(data, str):
        for line in data.split("\n"):
            yield options.paint(" " * indent + options.clean(line), RED)
    elif isinstance(data, Mapping):
        for key in sorted_keys(data):
            yield options.paint(" " * indent + options.clean(str(key)), CYAN) + ":"
            yield from _format_lines(data[key], options, indent + 4)
