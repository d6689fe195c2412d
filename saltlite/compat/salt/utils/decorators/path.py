"""``salt.utils.decorators.path``: functions that need a program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from saltlite.compat.salt.exceptions import CommandNotFoundError
from saltlite.compat.salt.utils import path


def which(exe: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function run only where a program is; raises CommandNotFoundError otherwise."""
    return which_bin([exe])


def which_bin(exes: Sequence[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function run only where one of the programs is; raises CommandNotFoundError."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if path.which_bin(exes) is None:
                words = exes[0] if len(exes) == 1 else str(list(exes))
                raise CommandNotFoundError(f"The '{words}' binary was not found in $PATH.")
            return function(*args, **kwargs)

        return checked

    return mark
