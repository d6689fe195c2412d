"""What is about to be replaced or removed is shown to whoever keeps it; mostly that is nobody.

The functions that replace files (:mod:`saltlite.disk`, ``providers/file``) call
:func:`keep_replaced` before they do; who runs a state says with :func:`keep_with` what hears of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from saltlite.openat import Spot, reach

Keeper = Callable[[Spot], None]
"""Is shown a place before what is there goes, and never raises."""

# Of the context, not the process: jobs in threads do not keep one another's files.
_KEEPER: ContextVar[Keeper | None] = ContextVar("keeper of replaced files", default=None)


@contextlib.contextmanager
def keep_with(keeper: Keeper | None) -> Iterator[None]:
    """Have a keeper hear of all that is replaced meanwhile; ``None`` for nobody."""
    token = _KEEPER.set(keeper)
    try:
        yield
    finally:
        _KEEPER.reset(token)


def keep_replaced(spot: Spot) -> None:
    """Show the keeper what is there, before it is replaced, changed in place or removed."""
    keeper = _KEEPER.get()
    if keeper is not None:
        keeper(spot)


def keep_replaced_path(path: str, *, follow: bool = True) -> None:
    """As :func:`keep_replaced`, for a program that is about to change a file."""
    if _KEEPER.get() is None:
        return
    with contextlib.suppress(OSError), reach(path, follow=follow) as spot:
        keep_replaced(spot)
