"""The default outputter: names, indented values, lists with dashes.

Source: tests/cases/data/cli_samples.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping

from saltlite.core.output_options import CYAN, GREEN, RED, YELLOW, OutputOptions
from saltlite.core.plain import Plain

DASHES = "----------"


def output(data: Plain, options: OutputOptions) -> str:
    """Everything below the names of the minions, four blanks deeper per level."""
    return "\n".join(lines(data, options))


def lines(data: Plain, options: OutputOptions, indent: int = 0) -> list[str]:
    """The same as lines, starting at ``indent`` columns."""
    found: list[str] = []
    _add_value(found, data, options, indent)
    return found


def sorted_keys(data: Mapping[str, Plain]) -> list[str]:
    """The keys in order; by their text where they cannot be compared."""
    try:
        return sorted(data)
    except TypeError:
        return sorted(data, key=str)


# A list is handed down and filled: a generator in each level would pass each line up through all.


def _add_value(
    found: list[str], data: Plain, options: OutputOptions, indent: int, prefix: str = ""
) -> None:
    if isinstance(data, (str, bytes)):
        _add_text(found, data, options, indent, prefix)
    elif isinstance(data, (list, tuple, set)):
        _add_items(found, data, options, indent)
    elif isinstance(data, Mapping):
        _add_mapping(found, data, options, indent)
    else:
        found.append(" " * indent + options.paint(f"{prefix}{data}", YELLOW))


def _add_text(
    found: list[str], data: str | bytes, options: OutputOptions, indent: int, prefix: str
) -> None:
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    for line in text.splitlines():
        found.append(" " * indent + options.paint(f"{prefix}{options.clean(line)}", GREEN))
        prefix = " " * len(prefix)


def _add_items(
    found: list[str],
    data: list[Plain] | tuple[Plain, ...] | set[Plain],
    options: OutputOptions,
    indent: int,
) -> None:
    for item in data:
        if isinstance(item, (dict, list, tuple, Mapping)):
            found.append(" " * indent + options.paint("|_", RED if options.retcode else GREEN))
            _add_value(found, item, options, indent + 2, "- ")
        else:
            _add_value(found, item, options, indent, "- ")


def _add_mapping(
    found: list[str], data: Mapping[str, Plain], options: OutputOptions, indent: int
) -> None:
    color = RED if options.retcode else CYAN
    if indent:
        found.append(" " * indent + options.paint(DASHES, color))
    for key in sorted_keys(data):
        found.append(f"{' ' * indent}{options.paint(options.clean(str(key)), color)}:")
        _add_value(found, data[key], options, indent + 4)
