"""Lines for the log that come in floods: one of them now and then, and how many there were.

A full disk or a clock that is off is met by each request or job, and is one fault all the same.
"""

from __future__ import annotations

from typing import Final

EVERY_S: Final = 10.0


class RareLine:
    """Counts what one line stands for. Times are seconds of a clock that only goes forward."""

    def __init__(self, every_s: float = EVERY_S) -> None:
        self._every_s = every_s
        self._said_s = float("-inf")
        self._left_out = 0

    def count(self, now_s: float) -> str | None:
        """What to put behind the line if it is to be written now; ``None`` if it is left out."""
        if now_s - self._said_s < self._every_s:
            self._left_out += 1
            return None
        more = f" ({self._left_out} more not shown)" if self._left_out else ""
        self._left_out, self._said_s = 0, now_s
        return more
