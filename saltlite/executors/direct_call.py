"""The executor ``direct_call``: the function itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext


def execute(
    ctx: MinionContext,
    job: Mapping[str, object],
    function: Callable[..., Any],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> Any:
    """Call the function."""
    return function(*args, **kwargs)
