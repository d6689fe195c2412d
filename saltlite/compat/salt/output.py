"""``salt.output``: values as text."""

from __future__ import annotations

import sys
from typing import Any

from saltlite.compat.salt.client import _current_surroundings


def out_format(data: Any, out: str | None = None, opts: object = None, **kwargs: Any) -> str:
    """A value as an outputter shows it."""
    from saltlite.core.output_options import OutputOptions
    from saltlite.loader.outputters import render

    return render(data, out, OutputOptions())


def string_format(data: object, out: str | None = None, opts: object = None, **kwargs: Any) -> str:
    """A value as an outputter shows it, without colours."""
    return out_format(data, out, opts)


def display_output(
    data: object, out: str | None = None, opts: object = None, **kwargs: Any
) -> None:
    """Print a value as an outputter shows it."""
    sys.stdout.write(f"{out_format(data, out, opts)}\n")


def get_printout(out: str | None = None, opts: object = None, **kwargs: Any) -> Any:
    """An outputter as a function of a value."""
    del opts
    _current_surroundings()
    return lambda data, **options: out_format(data, out)
