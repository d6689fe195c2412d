"""What ReqServer and its workers tell each other besides requests and replies.

In front of the requests that it hands over, ReqServer says when each came, and whether one that
takes long may be among them: of all workers together all but one may be at such requests at once,
so that the others never wait for them. A worker hands back what it may not do now, and has done
nothing of it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

QUICK: Final = b"q"
"""In front of requests: nothing slow now. Behind it stands when each came."""

ANY: Final = b"a"
"""In front of a request: whatever it is. Behind it stands when it came."""

ASK_ALONE: Final = b""
"""Instead of a reply: hand me this request again, by itself. No reply is empty."""

ASK_SLOW: Final = b"\xc1slow"
"""Instead of a reply: again when something slow may be done. No reply begins with 0xC1."""


def slow_at_once(workers: int) -> int:
    """How many workers may be at something slow at once.

    Source: docs/reliability.md#somebody-is-slow.
    """
    return max(1, workers - 1)


def pack_turn(lane: bytes, came_s: Sequence[float]) -> bytes:
    """What goes in front of requests; ``came_s`` by the monotonic clock of this machine."""
    return lane + struct.pack(f"={len(came_s)}d", *came_s)


def unpack_turn(turn: bytes, requests: int) -> tuple[bytes, Sequence[float]]:
    """The lane, and when each of so many requests came (0: not known)."""
    lane, times = turn[:1], turn[1:]
    if len(times) != 8 * requests:
        return lane, (0.0,) * requests
    return lane, struct.unpack(f"={requests}d", times)
