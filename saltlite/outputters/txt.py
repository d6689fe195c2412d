"""The outputter ``txt``: lines for ``grep`` and ``cut``."""

from __future__ import annotations

from collections.abc import Mapping

from saltlite.core.output_options import OutputOptions
from saltlite.core.plain import Plain


def output(data: Plain, options: OutputOptions) -> str:
    """``id: line`` for every line of every return, so that ``grep`` and ``cut`` do."""
    if not isinstance(data, Mapping):
        return options.clean(str(data))
    lines = (f"{key}: {line}" for key, value in data.items() for line in str(value).splitlines())
    return "\n".join(options.clean(line) for line in lines).rstrip()
