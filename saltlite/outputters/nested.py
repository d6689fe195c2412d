"""The default outputter: names, indented values, lists with dashes.

Source: tests/cases/cli_samples.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saltlite.core.output_options import CYAN, GREEN, RED, YELLOW, OutputOptions
from saltlite.core.plain import Plain

DASHES = "----------"


def output(data: Plain, options: OutputOptions) -> str:
    """Everything below the names of the minions, four blanks deeper per level."""
    return "\n".join(lines(data, options))


def lines(data: Plain, options: OutputOptions, indent: int = 0) -> Iterator[str]:
    """The same as lines, starting at ``indent`` columns."""
    prefix = "- " if isinstance(data, (list, tuple)) else ""
    yield from _format_value(data, options, indent, prefix)


def sorted_keys(data: Mapping[str, Plain]) -> list[str]:
    """The keys in order; by their text where they cannot be compared."""
    try:
        return sorted(data)
    except TypeError:
        return sorted(data, key=str)


def _format_value(data: Plain, options: OutputOptions, indent: int, prefix: str) -> Iterator[str]:
    if isinstance(data, Mapping):
        yield from _format_mapping(data, options, indent)
    elif isinstance(data, (list, tuple, set)):
        yield from _format_items(data, options, indent)
    elif isinstance(data, (str, bytes)):
        yield from _format_text(data, options, indent, prefix)
    else:
        yield " " * indent + options.paint(f"{prefix}{data}", YELLOW)


def _format_text(
    data: str | bytes, options: OutputOptions, indent: int, prefix: str
) -> Iterator[str]:
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    for line in text.splitlines():
        yield " " * indent + options.paint(f"{prefix}{options.clean(line)}", GREEN)
        prefix = " " * len(prefix)


def _format_items(
    data: list[Plain] | tuple[Plain, ...] | set[Plain], options: OutputOptions, indent: int
) -> Iterator[str]:
    for item in data:
        if isinstance(item, (Mapping, list, tuple)):
            yield " " * indent + options.paint("|_", RED if options.retcode else GREEN)
            yield from _format_value(item, options, indent + 2, "- ")
        else:
            yield from _format_value(item, options, indent, "- ")


def _format_mapping(
    data: Mapping[str, Plain], options: OutputOptions, indent: int
) -> Iterator[str]:
    color = RED if options.retcode else CYAN
    if indent:
        yield " " * indent + options.paint(DASHES, color)
    for key in sorted_keys(data):
        value = data[key]
        yield f"{' ' * indent}{options.paint(options.clean(str(key)), color)}:"
        yield from lines(value, options, indent + 4)
