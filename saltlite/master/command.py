"""What a remote command is: one row of the table in ``commands/__init__.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from saltlite.core.dataclasses import dataclass, field


class Sender(Enum):
    """Who may send a command, and what its handler gives back.

    A stranger's or user's handler takes the clear load, a minion's the opened request. The value it
    gives back is packed, or sealed for the minion; a ``RAW`` one makes its reply frame itself.
    A user is authenticated by the handler, first thing.
    """

    STRANGER = "stranger"
    STRANGER_RAW = "stranger, raw"
    USER = "user"
    MINION = "minion"
    MINION_RAW = "minion, raw"
    # A minion that the handler has to know as a syndic.
    SYNDIC = "syndic"


class Repeats(Enum):
    """What happens when the same request comes again.

    Source: docs/security.md#replay-and-clocks.
    """

    ACT = "has an effect: a repeat is refused"
    READ = "only reads: a few repeats are answered"
    RECORD = "goes on record, where a repeat is known again: a repeat is refused"


Handler = Callable[[Any, Any], Any]
"""``handler(ctx, load)`` or ``handler(ctx, request)``; raises WireError for what is malformed."""


IsSlow = Callable[[Any, Mapping[str, Any]], bool]
"""``is_slow(ctx, load)``; a user's load is not authenticated yet. Raises nothing for any load."""


def always(ctx: object, load: Mapping[str, object]) -> bool:
    """Slow, whatever is asked."""
    return True


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``refused`` answers a malformed load; ``limit_s`` 0 is the usual time."""

    name: str
    caller: Sender
    handler: Handler
    repeats: Repeats = Repeats.ACT
    refused: Any = field(default_factory=dict)
    limit_s: float = 0.0
    shares: bool = False
    """Quick enough to share a worker's turn with others; anything else is done alone."""
    slow: IsSlow | None = None
    """Whether a request may take long: one worker is always kept from such. Asked before anything
    else is done. Gives no ``Later``."""
