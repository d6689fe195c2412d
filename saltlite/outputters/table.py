"""Lists of maps, or of lists, as tables; what is neither is left out.

Source: observed on Salt 3006.30 (tests/cases/data/output/table.json).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from saltlite.core.output_options import DARK_GRAY, LIGHT_GRAY, WHITE, OutputOptions
from saltlite.core.plain import Plain
from saltlite.outputters.nested import DASHES, sorted_keys

Row = list[list[str]]
"""The cells of one row, each as its lines."""


def output(data: Plain, options: OutputOptions) -> str:
    """A table for every list, below the names that lead to it."""
    return "\n".join(_format_lines(data, options, 0 if isinstance(data, Mapping) else 4))


def _format_lines(data: Plain, options: OutputOptions, indent: int) -> Iterator[str]:
    if isinstance(data, Mapping):
        for key in sorted_keys(data):
            yield f"{' ' * indent}{options.paint(options.clean(str(key)), DARK_GRAY)}:"
            yield " " * indent + options.paint(DASHES, DARK_GRAY)
            yield from _format_lines(data[key], options, indent + 4)
    elif isinstance(data, (list, tuple)) and data:
        yield from _format_table(data, options, " " * indent)


def _format_table(items: Sequence[Plain], options: OutputOptions, margin: str) -> Iterator[str]:
    rows = [_read_row(item, options) for item in items]
    first = items[0]
    if isinstance(first, Mapping):
        rows.insert(0, [[options.clean(_label_of(key))] for key in sorted_keys(first)])
    widths = [
        max((len(line) for cell in column for line in cell), default=0)
        for column in zip_longest(*rows, fillvalue=[""])
    ]
    rule = margin + options.paint("-" * (sum(widths) + 3 * len(widths) + 1), LIGHT_GRAY)
    yield rule
    for row in rows:
        for parts in zip_longest(*row, fillvalue=""):
            filled = [*parts, *[""] * (len(widths) - len(parts))]
            cells = (part.center(width) for part, width in zip(filled, widths, strict=True))
            yield margin + options.paint(f"| {' | '.join(cells)} |", WHITE)
        yield rule


def _read_row(item: Plain, options: OutputOptions) -> Row:
    if isinstance(item, Mapping):
        cells: Sequence[Plain] = [item[key] for key in sorted_keys(item)]
    else:
        cells = item if isinstance(item, (list, tuple)) else [item]
    return [options.clean(str(cell)).split("\n") for cell in cells]


def _label_of(key: str) -> str:
    return str(key).replace("_", " ").title()
