"""The outputter ``raw``."""

from __future__ import annotations

from saltlite.core.output_options import OutputOptions
from saltlite.core.plain import Plain


def output(data: Plain, options: OutputOptions) -> str:
    """Python's own notation."""
    return options.clean(str(data))
