"""The outputter ``quiet``."""

from __future__ import annotations

from saltlite.core.output_options import OutputOptions
from saltlite.core.plain import Plain


def output(data: Plain, options: OutputOptions) -> str:
    """Nothing."""
    return ""
