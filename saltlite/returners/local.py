"""``local``: prints returns; to see what a returner gets."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from saltlite.jobs.returner_context import ReturnerContext


def returner(ctx: ReturnerContext, ret: Mapping[str, object]) -> None:
    """Print the return."""
    del ctx
    sys.stdout.write(f"{dict(ret)}\n")


def event_return(ctx: ReturnerContext, events: Iterable[Mapping[str, object]]) -> None:
    """Print events."""
    del ctx
    for event in events:
        sys.stdout.write(f"{dict(event)}\n")
