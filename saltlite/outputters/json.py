"""The outputter ``json``."""

from __future__ import annotations

from saltlite.core.output_options import OutputOptions
from saltlite.core.plain import Plain


def output(data: Plain, options: OutputOptions) -> str:
    """JSON, indented by 4; a negative indentation gives one line. What JSON has not is ``repr``."""
    from saltlite.core.jsontext import dump_json

    indent = 4 if options.output_indent is None else options.output_indent
    return dump_json(data, indent=None if indent < 0 else indent)
