"""What strangers and rogues are told nothing about: refusals, counted, with few lines in the log.

A line is printable ASCII and at most 512 characters. All workers together write at most ten lines a
second; how many were left out is said with the next one. Source: docs/security.md#refusals.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

LINE_LIMIT: Final = 512
LINES_PER_S: Final = 10


class Refusals:
    """Counts by kind, and the budget of log lines of one process."""

    def __init__(self, clock: Callable[[], float], *, lines_per_s: float = LINES_PER_S) -> None:
        self._clock = clock
        self._lines_per_s = lines_per_s
        # A worker's part may be less than one line a second; one is always saved up.
        self._allowance = max(1.0, lines_per_s)
        self._counted_s = clock()
        self._suppressed = 0
        self.counts: Counter[str] = Counter()

    def refuse(self, kind: str, detail: str = "") -> None:
        """Count one refusal; ``kind`` is one of ours, ``detail`` may be a peer's words."""
        self.counts[kind] += 1
        self._say("Refused: ", f"{kind}: {detail}" if detail else kind)

    def warn(self, text: str) -> None:
        """Say what is wrong with something that is let in all the same."""
        self._say("", text)

    def _say(self, beginning: str, text: str) -> None:
        if not self._may_speak():
            self._suppressed += 1
            return
        left_out = f" ({self._suppressed} more not shown)" if self._suppressed else ""
        self._suppressed = 0
        log.warning("%s%s%s", beginning, printable(text), left_out)

    def _may_speak(self) -> bool:
        now_s = self._clock()
        gained = (now_s - self._counted_s) * self._lines_per_s
        self._allowance = min(max(1.0, self._lines_per_s), self._allowance + gained)
        self._counted_s = now_s
        if self._allowance < 1.0:
            return False
        self._allowance -= 1.0
        return True


def printable(text: str, limit: int = LINE_LIMIT - 80) -> str:
    """``text`` with everything but printable ASCII escaped, cut to ``limit`` characters."""
    # Cut before it is escaped too: it may have megabytes, and grows by it.
    escaped = text[:limit].encode("unicode_escape").decode("ascii")
    return escaped if len(escaped) <= limit else escaped[: limit - 3] + "..."
