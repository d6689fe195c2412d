"""``error.*``: raise exceptions, to try out what comes of them."""

from __future__ import annotations

import builtins
from typing import NoReturn

from saltlite import errors


def error(name: str | None = None, message: str = "") -> NoReturn:
    """Raise an exception of Python or of saltlite by its name; ``Exception`` without one.

    CLI Example:

        salt-run error.error
        salt-run error.error SyntaxError message='what was wrong'
    """
    wanted = name or "Exception"
    for source in (vars(builtins), vars(errors)):
        found = source.get(wanted)
        if isinstance(found, type) and issubclass(found, Exception):
            raise found(message)
    raise Exception(f"{wanted}: {message}")
