"""``error.*``: raise exceptions, to try out what comes of them."""

from __future__ import annotations

from typing import NoReturn

from saltlite.runners.error import error as raise_error


def error(name: str | None = None, message: str = "") -> NoReturn:
    """Raise an exception of Python or of saltlite by its name; ``Exception`` without one.

    CLI Example:

        wheel.cmd("error.error")
    """
    raise_error(name, message)
