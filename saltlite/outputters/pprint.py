"""The outputter ``pprint``."""

from __future__ import annotations

from saltlite.core.output_options import OutputOptions
from saltlite.core.plain import Plain


def output(data: Plain, options: OutputOptions) -> str:
    """Python's own notation, wrapped."""
    import pprint

    return pprint.pformat(data)
