"""The outputter ``newline_values_only``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from saltlite.core.output_options import OutputOptions
from saltlite.core.plain import Plain
from saltlite.outputters import nested


def output(data: Plain, options: OutputOptions) -> str:
    """The values alone, one per line; lists one level deep are opened."""
    if isinstance(data, Mapping):
        values: Iterable[Plain] = (data[key] for key in data)
        return "\n".join(options.clean(str(line)) for value in values for line in _as_items(value))
    if isinstance(data, (list, tuple)):
        return nested.output(data, options)
    return options.clean(str(data))


def _as_items(value: Plain) -> Iterable[Plain]:
    return value if isinstance(value, (list, tuple)) else [value]
